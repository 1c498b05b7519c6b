public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

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
  ///     its own nor one of the body or the session, the body is declared as `application/octet-stream`.
  ///   - body: The body to send.
  ///   - maxRetries: Replaces ``RetryPolicy/maxRetries`` of the policy.
  ///   - options: A closure that receives the progress.
  ///   - policy: The retry policy.
  /// - Returns: The response with its body, and every attempt.
  /// - Throws: ``NetworkError``; a file that cannot be read is a ``TransferError`` inside `.transferFailed`.
  @discardableResult
  public func performNetworkUpload(
    _ request: URLRequest, from body: RequestBody, maxRetries: Int? = nil, options: UploadOptions = UploadOptions(),
    policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> NetworkResponse<Data> {
    let (plan, upload) = upload(request, body, options, maxRetries, policy)
    return try upload.end(await perform(plan)).get()
  }

  /// Like ``performNetworkUpload(_:from:maxRetries:options:policy:)``, with a completion handler that is called on the
  /// session's `delegateQueue`.
  @discardableResult
  public func performNetworkUpload(
    _ request: URLRequest, from body: RequestBody, maxRetries: Int? = nil, options: UploadOptions = UploadOptions(),
    policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask {
    let (plan, upload) = upload(request, body, options, maxRetries, policy)
    return perform(plan) { completionHandler(upload.end($0)) }
  }

  private func upload(
    _ request: URLRequest, _ body: RequestBody, _ options: UploadOptions, _ maxRetries: Int?, _ policy: RetryPolicy?
  ) -> (NetworkCallPlan, NetworkUploadCall) {
    var request = request
    if request.networkMethod == "GET" { request.httpMethod = "PUT" }
    let data: Result<Data?, NetworkError>
    do {
      try body.addContentType(to: &request)
      data = .success(try body.encoded(with: (self as? any NetworkBodyContext)?.settings.encoder))
    } catch {
      data = .failure(error)
    }
    let progress = NetworkProgressReporter(options.onProgress)
    var upload = NetworkUploadCall(body, data: data)
    upload.report = { completed, total in progress.report(completed, of: total) }
    upload.reportsAreDelivered = { await progress.reportsAreDelivered() }
    var plan = NetworkCallPlan(request, policy: policy, maxRetries: maxRetries)
    upload.add(to: &plan)
    return (plan, upload)
  }
}
