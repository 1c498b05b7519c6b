import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends a request once. The loop sees nothing else of the network, so a test can script it.
nonisolated protocol NetworkTransport: Sendable {
  /// Starts one attempt. `completion` is called on any queue; only the first call counts.
  func send(_ request: URLRequest, completion: @escaping @Sendable (NetworkOutcome) -> Void) -> any NetworkFlight
  /// Why the request cannot be sent this way at all; nil if it can.
  func refusal(of request: URLRequest) -> String?
  /// The session was invalidated meanwhile: a task asked of it would stop the process.
  var isOver: Bool { get }
}

/// An attempt under way.
nonisolated protocol NetworkFlight: AnyObject, Sendable {
  func cancel()
  /// Bytes of the body that have come or are announced; nil where nobody will ever know.
  var incomingBytes: Int64? { get }
}
nonisolated extension NetworkFlight {
  var incomingBytes: Int64? { nil }
}

/// What came of one attempt, as URLSession says it.
nonisolated struct NetworkOutcome: Sendable {
  var data: Data?
  var response: URLResponse?
  var error: (any Error)?
  var hasFollowedRedirect = false
  var mayHaveSent = false
  /// A middleware takes it for a success, whatever its status is.
  var isAccepted = false
  /// It comes on the session's delegate queue.
  var isOnDelegateQueue = false
  /// The attempt failed, and brought a part that need not be sent again: the count of retries starts anew.
  var hasProgressed = false

  var http: HTTPURLResponse? { response as? HTTPURLResponse }

  /// Why it is no success; nil if it is one. `isHead`: an answer to HEAD never has a body.
  func failure(isHead: Bool, allowEmptyData: Bool) -> NetworkError? {
    if let error {
      return error as? NetworkError ?? Self.urlError(error).map(NetworkError.urlError) ?? .generalError(error)
    }
    if isAccepted, http != nil { return nil }
    guard let http else { return response.map(NetworkError.invalidResponseType) ?? .noResponse }
    if http.statusCode >= 400 { return .endpointError(http, data) }
    if data?.isEmpty == false || allowEmptyData || isHead { return nil }
    return 200..<300 ~= http.statusCode && ![204, 205].contains(http.statusCode) ? .noResponseData(http) : nil
  }

  /// On Apple's platforms errors of other domains arrive too; what they mean is a URLError, and the retry rule knows those.
  static func urlError(_ error: any Error) -> URLError? {
    if let error = error as? URLError { return error }
    let original = error as NSError
    let code: URLError.Code?
    switch (original.domain, original.code) {
    case ("kCFErrorDomainCFNetwork", 303): code = .cannotParseResponse
    case ("kCFErrorDomainCFNetwork", -3000 ... -900): code = URLError.Code(rawValue: original.code)
    case (NSPOSIXErrorDomain, let posix):
      switch POSIXErrorCode(rawValue: Int32(clamping: posix)) {
      case .ECONNABORTED, .ECONNRESET, .ENOTCONN, .EPIPE: code = .networkConnectionLost
      case .ETIMEDOUT: code = .timedOut
      default: return nil
      }
    default: return nil
    }
    return code.map { URLError($0, userInfo: original.userInfo.merging([NSUnderlyingErrorKey: original]) { $1 }) }
  }
}

/// Takes an answer as it comes, instead of URLSession's memory. Called one after the other, until the attempt's completion;
/// an error ends the attempt.
nonisolated protocol NetworkSink: AnyObject, Sendable {
  func receive(_ head: HTTPURLResponse) throws(NetworkError)
  func receive(_ data: Data) throws(NetworkError)
  /// Bytes of the request's body that have been sent.
  func sent(_ bytes: Int64)
}

/// What a transfer has beside its request: a body that is not in memory, and who takes the answer.
nonisolated struct NetworkCargo: Sendable {
  var file: URL?
  /// A new one for each send.
  var stream: (@Sendable () throws -> InputStream)?
  var sink: any NetworkSink
}

/// The transport of every call on a session.
nonisolated struct SessionTransport: NetworkTransport {
  let session: URLSession
  /// The body, if it is sent from disk.
  var file: URL?

  func refusal(of request: URLRequest) -> String? { Self.flaw(in: request) ?? session.reasonToRefuseRequests }

  var isOver: Bool { session.isKnownToBeInvalidated }

  func send(_ request: URLRequest, completion: @escaping @Sendable (NetworkOutcome) -> Void) -> any NetworkFlight {
    session.startNetworkAttempt(withUsableTimeout(request), file: file, completion: completion)
  }

  func withUsableTimeout(_ request: URLRequest) -> URLRequest {
    var request = request
    // Zero, negative and NaN mean what no value means, infinite and huge mean none: a task would fail at once, or trap.
    if !(request.timeoutInterval > 0) { request.timeoutInterval = session.configuration.timeoutIntervalForRequest }
    if request.timeoutInterval > 1e8 { request.timeoutInterval = 1e8 }
    return request
  }

  /// What makes a request unfit to be sent. URLSession sends whatever stands there, so a space or a line break in a
  /// method or a header field would forge the request.
  static func flaw(in request: URLRequest) -> String? {
    guard request.url != nil else { return "it has no URL" }
    guard isToken(request.httpMethod ?? "GET") else { return "the method is not a token (RFC 9110 §5.6.2)" }
    return request.allHTTPHeaderFields?.lazy.compactMap { flaw(inField: $0, $1) }.first
  }

  static func flaw(inField name: String, _ value: String) -> String? {
    guard isToken(name) else { return "the name of a header field is not a token (RFC 9110 §5.6.2)" }
    let isBroken = value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 }
    return isBroken ? "the header field \(name) holds a line break or NUL" : nil
  }

  /// RFC 9110 §5.6.2: letters, digits and a few signs.
  static func isToken(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy {
        switch $0 {
        case 48...57, 65...90, 97...122, 33, 35...39, 42, 43, 45, 46, 94...96, 124, 126: true
        default: false
        }
      }
  }
}

nonisolated extension URLSessionTask: NetworkFlight {
  var incomingBytes: Int64? { max(countOfBytesReceived, countOfBytesExpectedToReceive) }
}

/// How an attempt is made where URLSession keeps its word. `Linux/` shadows `startNetworkAttempt` on `URLSession` itself,
/// so that the folder can be deleted and nothing here names it.
nonisolated protocol NetworkAttemptStarter: URLSession {}
nonisolated extension URLSession: NetworkAttemptStarter {}
nonisolated extension NetworkAttemptStarter {
  /// Why this session cannot carry any request; nil if it can.
  var reasonToRefuseRequests: String? {
    #if canImport(FoundationNetworking)
      return nil
    #else
      // A completion handler there is an Objective-C exception, which kills the process.
      return configuration.identifier == nil ? nil : "a background session takes no completion handlers"
    #endif
  }

  /// Only where there is a way to know.
  var isKnownToBeInvalidated: Bool { false }

  func startNetworkAttempt(
    _ request: URLRequest, file: URL?, completion: @escaping @Sendable (NetworkOutcome) -> Void
  ) -> any NetworkFlight {
    let guardian = RedirectGuard(request)
    let completion: @Sendable (Data?, URLResponse?, (any Error)?) -> Void = { [guardian] data, response, error in
      completion(
        NetworkOutcome(
          data: data, response: response, error: error, hasFollowedRedirect: guardian.hasFollowed,
          mayHaveSent: guardian.hasSentBody, isOnDelegateQueue: true))
    }
    let task = networkTask(with: request, file: file, completionHandler: completion)
    guardian.task = task
    task.delegate = guardian
    task.resume()
    return task
  }
}

nonisolated extension URLSession {
  /// A task with the body of the request, or that of a file.
  func networkTask(
    with request: URLRequest, file: URL?,
    completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  ) -> URLSessionTask {
    if let file { return uploadTask(with: request, fromFile: file, completionHandler: completionHandler) }
    return dataTask(with: request, completionHandler: completionHandler)
  }
}
