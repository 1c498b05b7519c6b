// Imported once: all files of this module, and those that import it, get Foundation from here.
@_documentation(visibility: internal) @_exported public import Foundation

#if canImport(FoundationNetworking)
  // On Linux, URLSession is in a module of its own.
  @_documentation(visibility: internal) @_exported public import FoundationNetworking
#endif

/// Sends a request once. The retry loop uses the network only through this protocol, so a test can replace it.
nonisolated protocol NetworkTransport: Sendable {
  typealias Completion = @Sendable (NetworkOutcome) -> Void
  /// Makes an attempt that does more than send its request: a transfer, or one with middleware.
  typealias MakeAttempt = @Sendable (any NetworkTransport, URLRequest, @escaping Completion) -> any NetworkRequestHandle
  /// Why the request cannot be sent; nil if it can.
  func validationError(for request: URLRequest) -> String?
  /// The transport for attempts that are not made at once: the caller's session may be invalidated meanwhile. Nil if
  /// that is known to have happened: creating a task on it would crash.
  var forLaterAttempts: (any NetworkTransport)? { get }
  /// Creates one attempt, which sends nothing before `resume()`. `completion` can be called on any queue; only the
  /// first call counts. `transfer` is nil if both bodies are in memory.
  func prepare(
    _ request: URLRequest, _ transfer: StreamedBodies?, completion: @escaping Completion
  ) -> any NetworkRequestHandle
}

/// An attempt that is ready to be sent.
nonisolated protocol NetworkRequestHandle: AnyObject, Sendable {
  func resume()
  /// Can be called before `resume()`, which then sends nothing.
  func cancel()
}

/// An attempt that begins with work of its own. The work can see from its argument whether the attempt is canceled in
/// the meantime.
nonisolated final class DeferredRequestHandle: NetworkRequestHandle {
  private let task = NetworkTask()
  private let start: @Sendable (NetworkTask) -> Void

  init(_ start: @escaping @Sendable (NetworkTask) -> Void) { self.start = start }

  func resume() { start(task) }
  func cancel() { task.cancel() }
}

/// The result of one attempt, as URLSession reports it.
nonisolated struct NetworkOutcome: Sendable {
  var data: Data?
  var response: URLResponse?
  var error: (any Error)?
  var hasFollowedRedirect = false
  var mayHaveSent = false
  /// Whether the response counts as a success, whatever its status code.
  var isAccepted = false
  /// Whether `completion` was called on the session's delegate queue.
  var isOnDelegateQueue = false
  /// Whether the failed attempt transferred data that does not have to be transferred again.
  var hasProgressed = false
  /// Why the attempt ended without an outcome of its own.
  var interruption: RetryFailure.StopReason?

  static var deadline: Self { Self(error: URLError(.timedOut), interruption: .deadline) }
  static var cancelled: Self { Self(error: NetworkError.cancelled, interruption: .cancelled) }

  /// `isHead`: a response to HEAD never has a body.
  func result(isHead: Bool, allowEmptyData: Bool) -> Result<HTTPURLResponse, NetworkError> {
    if let error {
      return .failure(error as? NetworkError ?? Self.urlError(error).map(NetworkError.urlError) ?? .generalError(error))
    }
    guard let http = response as? HTTPURLResponse else {
      return .failure(response.map(NetworkError.invalidResponseType) ?? .noResponse)
    }
    if isAccepted { return .success(http) }
    if http.statusCode >= 400 { return .failure(.endpointError(http, data)) }
    if data?.isEmpty == false || allowEmptyData || isHead { return .success(http) }
    let isBodyExpected = 200..<300 ~= http.statusCode && ![204, 205].contains(http.statusCode)
    return isBodyExpected ? .failure(.noResponseData(http)) : .success(http)
  }

  /// The `URLError` with the same meaning, which is the one that the retry policy knows. On Apple's platforms,
  /// URLSession reports errors of other domains too.
  static func urlError(_ error: any Error) -> URLError? {
    if let error = error as? URLError { return error }
    let original = error as NSError
    let code: URLError.Code? =
      switch (original.domain, original.code) {
      case ("kCFErrorDomainCFNetwork", 303): .cannotParseResponse
      case ("kCFErrorDomainCFNetwork", -3000 ... -900): URLError.Code(rawValue: original.code)
      case (NSPOSIXErrorDomain, let code): POSIXErrorCode(rawValue: Int32(clamping: code)).flatMap { posixCodes[$0] }
      default: nil
      }
    return code.map { URLError($0, userInfo: original.userInfo.merging([NSUnderlyingErrorKey: original]) { $1 }) }
  }
  private static let posixCodes: [POSIXErrorCode: URLError.Code] = [
    .ECONNABORTED: .networkConnectionLost, .ECONNRESET: .networkConnectionLost, .ENOTCONN: .networkConnectionLost,
    .EPIPE: .networkConnectionLost, .ETIMEDOUT: .timedOut, .EPROTO: .cannotParseResponse,
  ]
}

/// The bodies of a transfer that are not in memory: the source of the request's body, and closures that receive the
/// response as it arrives. The closures are called serially, and not after the attempt's completion. An error that one
/// of them throws ends the attempt.
nonisolated struct StreamedBodies: Sendable {
  /// The request is an upload: its body is not that of a form.
  var isUpload = false
  var file: URL?
  /// Makes a new stream each time the body is sent.
  var stream: (@Sendable () throws -> InputStream)?
  var onHead: @Sendable (HTTPURLResponse) throws -> Void = { _ in }
  var onData: @Sendable (Data) throws -> Void
  /// Receives the number of bytes of the request's body that have been sent so far.
  var onSent: @Sendable (Int64) -> Void = { _ in }
  /// Makes the task on Apple's platforms, with a delegate that calls the closures.
  var makeTask: @Sendable (URLSession, URLRequest, Self, @escaping NetworkTransport.Completion) -> URLSessionTask
}

/// Sends requests on a session.
nonisolated struct SessionTransport: NetworkTransport {
  let session: URLSession
  var sessionMayHaveEnded = false

  var forLaterAttempts: (any NetworkTransport)? {
    #if canImport(FoundationNetworking)
      if session.isInvalidated { return nil }
    #endif
    return SessionTransport(session: session, sessionMayHaveEnded: true)
  }

  func validationError(for request: URLRequest) -> String? {
    if request.value(forHTTPHeaderField: "Transfer-Encoding") != nil { return "Transfer-Encoding is set by URLSession" }
    // With a wrong length, the server would read the rest of the body as the next request.
    let (size, length) = (request.httpBody?.count ?? 0, request.value(forHTTPHeaderField: "Content-Length"))
    if let length, request.httpBodyStream == nil, Int(length) != size { return "Content-Length differs from httpBody" }
    return Self.validationError(for: request) ?? sessionError
  }

  func prepare(
    _ request: URLRequest, _ transfer: StreamedBodies?, completion: @escaping Completion
  ) -> any NetworkRequestHandle {
    var request = request
    // Zero, negative and NaN mean the session's timeout, infinite and huge values mean none. On Linux, URLSession would
    // fail at once with such a value, or crash; on Apple's platforms, what it does is not documented.
    if !(request.timeoutInterval > 0) { request.timeoutInterval = session.configuration.timeoutIntervalForRequest }
    if request.timeoutInterval > 1e8 { request.timeoutInterval = 1e8 }
    if transfer?.isUpload == true { setDefaultContentType(of: &request) }
    #if canImport(FoundationNetworking)
      return LinuxAttempt(
        session: session, request: request, transfer: transfer, sessionMayHaveEnded: sessionMayHaveEnded,
        completion: completion)
    #else
      if let transfer { return transfer.makeTask(session, request, transfer, completion) }
      let redirects = RedirectHandler(request)
      let task = session.dataTask(with: request) { data, response, error in
        var outcome = NetworkOutcome(data: data, response: response, error: error, isOnDelegateQueue: true)
        outcome.hasFollowedRedirect = redirects.hasFollowed
        completion(outcome)
      }
      task.delegate = redirects
      return task
    #endif
  }

  /// Names the type of an upload, if neither the request nor the session does: URLSession declares the body of a POST
  /// without a type to be form fields.
  private func setDefaultContentType(of request: inout URLRequest) {
    let sessionFields = session.configuration.httpAdditionalHeaders ?? [:]
    let sessionHasType = sessionFields.keys.contains { ($0 as? String)?.lowercased() == "content-type" }
    if sessionHasType || request.value(forHTTPHeaderField: "Content-Type") != nil { return }
    request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
  }

  // MARK: Validation

  /// Why the session cannot send any request; nil if it can.
  private var sessionError: String? {
    let configuration = session.configuration
    for case (let name as String, let value as String) in configuration.httpAdditionalHeaders ?? [:] {
      if let error = Self.validationError(forField: name, value) { return "of the session: \(error)" }
      let framesBody = ["content-length", "transfer-encoding"].contains(name.lowercased())
      if framesBody { return "of the session: \(name) is set by URLSession" }
    }
    #if canImport(FoundationNetworking)
      // URLSession converts the value to whole milliseconds for every task, even if the request has its own timeout,
      // and crashes if the result is out of range.
      return 0...1e15 ~= configuration.timeoutIntervalForRequest ? nil : "timeoutIntervalForRequest is out of range"
    #else
      // A task with a completion handler raises an Objective-C exception on a background session.
      return configuration.identifier == nil ? nil : "a background session takes no completion handlers"
    #endif
  }

  /// URLSession does not check the method and the header fields: a space or a line break in one of them could forge
  /// another request.
  static func validationError(for request: URLRequest) -> String? {
    guard request.url != nil else { return "it has no URL" }
    let method = request.httpMethod ?? "GET"
    guard isToken(method) else { return "the method is not a token (RFC 9110 §5.6.2)" }
    let hasBody = request.httpBody?.isEmpty == false || request.httpBodyStream != nil
    // URLSession fails such a request without sending it, and does not say why.
    if hasBody, ["GET", "HEAD"].contains(method) { return "\(method) cannot have a body: URLSession does not send it" }
    return request.allHTTPHeaderFields?.lazy.compactMap { validationError(forField: $0, $1) }.first
  }

  static func validationError(forField name: String, _ value: String) -> String? {
    guard isToken(name) else { return "the name of a header field is not a token (RFC 9110 §5.6.2)" }
    return value.utf8.contains { [0, 10, 13].contains($0) } ? "the header field \(name) holds a line break or NUL" : nil
  }

  /// Whether the text is a token: letters, digits and some punctuation (RFC 9110 §5.6.2).
  static func isToken(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy { tokenCharacters.contains($0) } }
  private static let tokenCharacters = Array(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789!#$%&'*+.^_`|~".utf8)
}

nonisolated extension URLSessionTask: NetworkRequestHandle {}
