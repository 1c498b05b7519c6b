public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Where the body of an upload comes from.
nonisolated public enum UploadBody: Sendable {
  /// Bytes in memory.
  case data(Data)
  /// A file, read while it is sent. It must not change meanwhile.
  case file(URL)
  /// Makes a new stream for each send, because a stream can be read only once. With `length`, in bytes, it is sent with
  /// Content-Length, without it in chunks, which not every server takes.
  ///
  /// ```swift
  /// let body = UploadBody.bodyStream { InputStream(url: file) ?? InputStream(data: Data()) }
  /// ```
  case bodyStream(length: Int64? = nil, @Sendable () throws -> InputStream)
}

nonisolated extension NetworkPerformer {
  /// Uploads a body, in bounded memory unless it is `Data`, and tries again where that can help and can do no harm: a
  /// POST that the server may have applied is not repeated without an Idempotency-Key.
  ///
  /// ```swift
  /// var request = URLRequest(url: url)
  /// request.httpMethod = "PUT"
  /// let answer = try await session.performNetworkUpload(request, from: .file(film))
  /// ```
  ///
  /// - Parameters:
  ///   - urlRequest: Where to; its own body is not sent. A GET becomes a PUT.
  ///   - body: What to send.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - options: How far it is.
  ///   - policy: Which failures are tried again, how often, how soon, for how long.
  /// - Returns: Body, head and history of the answer.
  /// - Throws: ``NetworkError``; a file that cannot be read is a ``TransferError`` inside `.transferFailed`.
  @discardableResult
  public func performNetworkUpload(
    _ urlRequest: URLRequest, from body: UploadBody, maxRetries: Int? = nil, options: UploadOptions = UploadOptions(),
    policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> NetworkResponse {
    let call = Upload.call(urlRequest, body, policy, maxRetries, ProgressTeller(nil, options.onProgress))
    return try await networkCaller.run(call).get()
  }

  /// The same with a completion handler, and a `Progress`.
  ///
  /// - Parameters:
  ///   - urlRequest: Where to; its own body is not sent. A GET becomes a PUT.
  ///   - body: What to send.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - options: How far it is.
  ///   - policy: Which failures are tried again, how often, how soon, for how long.
  ///   - completionHandler: Gets the answer, or the error, on the session's `delegateQueue`.
  /// - Returns: A handle with the progress; it need not be kept.
  @discardableResult
  public func performNetworkUpload(
    _ urlRequest: URLRequest, from body: UploadBody, maxRetries: Int? = nil, options: UploadOptions = UploadOptions(),
    policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<NetworkResponse, NetworkError>) -> Void
  ) -> NetworkTransfer {
    let progress = Progress(totalUnitCount: -1)
    let call = Upload.call(urlRequest, body, policy, maxRetries, ProgressTeller(progress, options.onProgress))
    return networkCaller.transfer(call, progress, completion: completionHandler)
  }
}

/// What goes with an upload.
nonisolated public struct UploadOptions: Sendable {
  /// Is told how far it is, on an internal thread: it must return quickly. A repetition begins at 0.
  public var onProgress: (@Sendable (TransferProgress) -> Void)?

  /// Makes options.
  public init(onProgress: (@Sendable (TransferProgress) -> Void)? = nil) { self.onProgress = onProgress }
}

/// One upload over all its attempts.
nonisolated struct Upload: NetworkTransport {
  let base: any NetworkTransport
  let body: UploadBody
  let teller: ProgressTeller

  /// The request without a body of its own: a stream in it could not be sent twice.
  static func request(_ request: URLRequest) -> URLRequest {
    var request = request
    request.httpBody = nil
    request.httpBodyStream = nil
    // Another length than the body's would make the server take the rest for the next request.
    for name in ["Content-Length", "Transfer-Encoding"] { request.setValue(nil, forHTTPHeaderField: name) }
    if (request.httpMethod ?? "GET") == "GET" { request.httpMethod = "PUT" }
    return request
  }

  static func call(
    _ request: URLRequest, _ body: UploadBody, _ policy: RetryPolicy?, _ maxRetries: Int?, _ teller: ProgressTeller
  ) -> NetworkCallPlan {
    NetworkCallPlan(
      request: Self.request(request), policy: policy, maxRetries: maxRetries,
      transfer: { Upload(base: $0, body: body, teller: teller) })
  }

  var isInvalidated: Bool { base.isInvalidated }
  func validationError(for request: URLRequest) -> String? { base.validationError(for: request) }

  func prepare(
    _ request: URLRequest, _: NetworkTransferBody?, completion: @escaping Completion
  ) -> any NetworkRequestHandle {
    TransferFlight { send(request, completion: completion) }
  }

  private func send(_ request: URLRequest, completion: @escaping Completion) -> any NetworkRequestHandle {
    var request = request
    var length: Int64?
    var failure: TransferError?
    switch body {
    case .data(let data):
      request.httpBody = data
      length = Int64(data.count)
    case .file(let url):
      // URLSession on Linux stops the process over a file that is gone.
      let values = try? url.resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey, .fileSizeKey])
      length = values?.fileSize.map { Int64($0) }
      if values?.isRegularFile != true || (try? FileHandle(forReadingFrom: url).close()) == nil {
        failure = .unusableFile(url, reason: "not a file that can be read")
      }
    case .bodyStream(let bytes, _):
      length = bytes
      if let bytes { request.setValue(String(bytes), forHTTPHeaderField: "Content-Length") }
    }
    if let length, length < 0 {
      completion(NetworkOutcome(error: NetworkError.invalidRequest(reason: "a body of a negative length")))
      return AnswerSink(teller, nil)
    }
    let sink = AnswerSink(teller, length)
    if let failure {
      completion(NetworkOutcome(error: NetworkError.transferFailed(failure)))
      return sink
    }
    var cargo = NetworkTransferBody(to: sink)
    if case .file(let url) = body { cargo.file = url }
    if case .bodyStream(_, let stream) = body { cargo.stream = stream }
    teller.tell(0, of: length)
    return base.prepare(request, cargo) { [teller] outcome in
      var outcome = outcome
      outcome.data = sink.data
      if case .success = outcome.result(isHead: false, allowEmptyData: true) { sink.tellAll() }
      // What is told of the end is told before the answer.
      teller.queue.async { [outcome] in completion(outcome) }
    }
  }
}

/// Keeps an answer in memory.
nonisolated final class AnswerSink: NetworkBodyReceiver, NetworkRequestHandle, @unchecked Sendable {
  private let teller: ProgressTeller
  private let length: Int64?
  // Written by the sink's calls, one after the other, and read after the last.
  private(set) var data = Data()
  private(set) var count = Int64(0)

  init(_ teller: ProgressTeller, _ length: Int64?) {
    self.teller = teller
    self.length = length
  }

  func receive(_ head: HTTPURLResponse) throws(NetworkError) {}

  func receive(_ data: Data) throws(NetworkError) {
    self.data += data
  }

  func sent(_ bytes: Int64) {
    count = bytes
    teller.tell(min(bytes, length ?? bytes), of: length)
  }

  func tellAll() { teller.finish(length ?? count) }

  /// Nothing is under way.
  func resume() {}
  func cancel() {}
}
