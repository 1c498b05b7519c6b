public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

nonisolated extension NetworkPerformer {
  /// Uploads a body, and retries when that is useful and safe: a POST that the server may have applied is not repeated
  /// without an Idempotency-Key. Files and streams are not read into memory.
  ///
  /// ```swift
  /// var request = URLRequest(url: url)
  /// request.httpMethod = "PUT"
  /// let response = try await session.performNetworkUpload(request, from: .file(film))
  /// ```
  ///
  /// - Parameters:
  ///   - request: The request to send. Its own body is ignored, and GET becomes PUT. Without a `Content-Type`, neither
  ///     its own nor one of the body, the client or the session, the body is declared as `application/octet-stream`.
  ///   - body: The body to send.
  ///   - onProgress: Receives the progress, on an internal queue. It starts at 0 for each attempt.
  ///   - policy: The retry policy.
  /// - Returns: The response with its body, and every attempt.
  /// - Throws: ``NetworkError``; a file that cannot be read is a ``TransferError`` inside `.transferFailed`.
  @discardableResult
  public func performNetworkUpload(
    _ request: URLRequest, from body: RequestBody, onProgress: (@Sendable (TransferProgress) -> Void)? = nil,
    policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> NetworkResponse<Data> {
    let (plan, upload) = upload(request, body, onProgress, policy)
    return try upload.end(await begin(plan)).get()
  }

  /// Like ``performNetworkUpload(_:from:onProgress:policy:)``, with a completion handler that is called on the
  /// session's `delegateQueue`.
  @discardableResult
  public func performNetworkUpload(
    _ request: URLRequest, from body: RequestBody, onProgress: (@Sendable (TransferProgress) -> Void)? = nil,
    policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask {
    let (plan, upload) = upload(request, body, onProgress, policy)
    return begin(plan) { completionHandler(upload.end($0)) }
  }

  private func upload(
    _ request: URLRequest, _ body: RequestBody, _ onProgress: (@Sendable (TransferProgress) -> Void)?,
    _ policy: RetryPolicy?
  ) -> (NetworkCallPlan, NetworkUploadCall) {
    var request = request
    if request.networkMethod == "GET" { request.httpMethod = "PUT" }
    let data: Result<Data?, NetworkError>
    do {
      try body.addContentType(to: &request)
      data = .success(try body.encoded(with: defaults.encoder))
    } catch {
      data = .failure(error)
    }
    var upload = NetworkUploadCall(body, data: data)
    upload.report(to: onProgress)
    var plan = NetworkCallPlan(request, policy: policy)
    upload.add(to: &plan)
    return (plan, upload)
  }
}

nonisolated extension NetworkUploadCall {
  /// Reports the progress to a closure.
  mutating func report(to onProgress: (@Sendable (TransferProgress) -> Void)?) {
    let progress = NetworkProgressReporter(onProgress)
    report = { completed, total in progress.report(completed, of: total) }
    reportsAreDelivered = { await progress.reportsAreDelivered() }
  }
}
