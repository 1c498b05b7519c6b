/// Options for an upload.
nonisolated public struct UploadOptions: Sendable {
  /// Receives the progress, on an internal queue. It starts at 0 for each attempt.
  public var onProgress: (@Sendable (TransferProgress) -> Void)?

  /// Creates options.
  public init(onProgress: (@Sendable (TransferProgress) -> Void)? = nil) { self.onProgress = onProgress }
}

nonisolated extension NetworkPerformer {
  /// Uploads a body, in bounded memory unless it is `Data`, and retries when that is useful and safe: a POST that the
  /// server may have applied is not repeated without an Idempotency-Key.
  ///
  /// ```swift
  /// var request = URLRequest(url: url)
  /// request.httpMethod = "PUT"
  /// let response = try await session.performNetworkUpload(request, from: .file(film))
  /// ```
  ///
  /// - Parameters:
  ///   - request: The request to send. Its own body is ignored, and GET becomes PUT. Without a `Content-Type`, neither
  ///     its own nor one of the session, the body is declared as `application/octet-stream`.
  ///   - body: The body to send.
  ///   - maxRetries: Replaces ``RetryPolicy/maxRetries`` of the policy.
  ///   - options: A closure that receives the progress.
  ///   - policy: The retry policy.
  /// - Returns: The response with its body, and every attempt.
  /// - Throws: ``NetworkError``; a file that cannot be read is a ``TransferError`` inside `.transferFailed`.
  @discardableResult
  public func performNetworkUpload(
    _ request: URLRequest, from body: UploadBody, maxRetries: Int? = nil, options: UploadOptions = UploadOptions(),
    policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> NetworkResponse {
    let upload = Upload(body: body, progress: ProgressReporter(options.onProgress))
    return try upload.end(await networkCaller.run(upload.call(request, policy, maxRetries))).get()
  }

  /// Like ``performNetworkUpload(_:from:maxRetries:options:policy:)``, with a completion handler that is called on the
  /// session's `delegateQueue`.
  @discardableResult
  public func performNetworkUpload(
    _ request: URLRequest, from body: UploadBody, maxRetries: Int? = nil, options: UploadOptions = UploadOptions(),
    policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<NetworkResponse, NetworkError>) -> Void
  ) -> NetworkTask {
    let upload = Upload(body: body, progress: ProgressReporter(options.onProgress))
    return networkCaller.start(upload.call(request, policy, maxRetries)) { completionHandler(upload.end($0)) }
  }
}

/// One upload with all its attempts.
nonisolated private struct Upload: Sendable {
  let body: UploadBody
  let progress: ProgressReporter
  /// The file of a body that is passed in chunks. It is made on the first attempt, and kept for the retries.
  let assembled = NetworkLock<TemporaryFile?>(nil)

  /// The result of the call, after removing the assembled body.
  func end(_ result: RetryLoop.CallResult) -> RetryLoop.CallResult {
    assembled.withLock { $0 = nil }
    return result
  }

  func call(_ request: URLRequest, _ policy: RetryPolicy?, _ maxRetries: Int?) -> NetworkCallPlan {
    var request = request
    // The request's own stream could not be sent twice. With a wrong Content-Length, the server would read the rest of
    // the body as the next request.
    (request.httpBody, request.httpBodyStream) = (nil, nil)
    for name in ["Content-Length", "Transfer-Encoding"] { request.setValue(nil, forHTTPHeaderField: name) }
    if request.httpMethod ?? "GET" == "GET" { request.httpMethod = "PUT" }
    if let type = body.contentType { request.setValue(type, forHTTPHeaderField: "Content-Type") }
    let isFile = body.file != nil || body.chunks != nil
    return NetworkCallPlan(request: request, policy: policy, maxRetries: maxRetries) { base, request, completion in
      DeferredRequestHandle(isInBackground: isFile, completion) { try send(request, on: base, for: $0, completion) }
    }
  }

  private func send(
    _ request: URLRequest, on base: any NetworkTransport, for task: NetworkTask,
    _ completion: @escaping NetworkTransport.Completion
  ) throws -> any NetworkRequestHandle {
    if request.httpMethod == "HEAD" { throw NetworkError.invalidRequest(reason: "HEAD cannot have a body") }
    var request = request
    let received = NetworkLock((data: Data(), sent: Int64(0)))
    // On Linux, a 401 whose challenge is answered has a head and a body too.
    var transfer = StreamedBodies(
      isUpload: true, onHead: { _ in received.withLock { $0.data = Data() } },
      onData: { new in received.withLock { $0.data += new } },
      makeTask: TransferDelegate.makeTask)
    (request.httpBody, transfer.file, transfer.stream) = (body.data, body.file, body.stream)
    if let write = body.chunks {
      let make = { (add: (Data) throws -> Void) in
        try write { if task.isCancelled { throw CancellationError() } else { try add($0) } }
      }
      let file = try assembled.withLock { $0 } ?? TemporaryFile(make)
      assembled.withLock { $0 = file }
      transfer.file = file.url
    }
    let length = try transfer.file.map(Self.size(of:)) ?? body.length ?? body.data.map { Int64($0.count) }
    if length ?? 0 < 0 { throw NetworkError.invalidRequest(reason: "a body of a negative length") }
    if body.stream != nil { request.setValue(length.map { String($0) }, forHTTPHeaderField: "Content-Length") }
    transfer.onSent = { [progress] sent in
      received.withLock { $0.sent = sent }
      progress.report(min(sent, length ?? sent), of: length)
    }
    progress.report(0, of: length)
    return base.prepare(request, transfer) { [progress] outcome in
      var outcome = outcome
      outcome.data = received.withLock { $0.data }
      let all = length ?? received.withLock { $0.sent }
      if case .success = outcome.result(isHead: false, allowEmptyData: true) { progress.report(all, of: all) }
      progress.afterReports { [outcome] in completion(outcome) }
    }
  }

  /// The size in bytes. Throws if the file cannot be read, because URLSession on Linux would crash.
  private static func size(of file: URL) throws -> Int64 {
    guard (try? file.resolvingSymlinksInPath().resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true,
      let size = try? FileHandle(forReadingFrom: file).seekToEnd()
    else { throw TransferError.unusableFile(file, reason: "not a file that can be read") }
    return Int64(size)
  }
}
