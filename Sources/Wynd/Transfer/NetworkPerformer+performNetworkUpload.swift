public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated extension NetworkPerformer {
  /// Uploads a body, and retries when that is useful and safe: a POST that the server may have applied is not repeated
  /// without an Idempotency-Key. Files and streams are not read into memory.
  ///
  /// ```swift
  /// var request = URLRequest(url: url)
  /// request.httpMethod = "PUT"
  /// let response = try await session.performNetworkUpload(request, from: film) { print($0.fraction ?? 0) }
  /// ```
  ///
  /// - Parameters:
  ///   - request: What to send: a `URL`, a `URLRequest`, or an endpoint, whose response is not parsed. Its own body is
  ///     ignored, and GET becomes PUT. If neither the request, the body, the client nor the session specifies a
  ///     `Content-Type`, the body is sent as `application/octet-stream`.
  ///   - body: The body to send.
  ///   - policy: The retry policy.
  ///   - onProgress: Receives the progress, on an internal queue. It starts at 0 for each attempt.
  /// - Returns: The response with its body, and every attempt.
  /// - Throws: ``NetworkError``; a file that cannot be read is a ``TransferError`` inside `.generalError`.
  @discardableResult
  public func performNetworkUpload(
    _ request: some NetworkRequestConvertible, from body: RequestBody, policy: RetryPolicy = .default,
    onProgress: (@Sendable (TransferProgress) -> Void)? = nil
  ) async throws(NetworkError) -> NetworkResponse<Data> {
    let defaults = defaults
    return try await perform(uploadPlan(request, body, policy, onProgress, defaults).started(on: self, defaults)).get()
  }

  /// The same with a completion handler, which is called on the session's `delegateQueue`.
  @discardableResult
  public func performNetworkUpload(
    _ request: some NetworkRequestConvertible, from body: RequestBody, policy: RetryPolicy = .default,
    onProgress: (@Sendable (TransferProgress) -> Void)? = nil,
    completionHandler: @escaping @Sendable (Swift.Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask {
    start(completionHandler, convert: { $0 }) { defaults throws(NetworkError) in
      try uploadPlan(request, body, policy, onProgress, defaults)
    }
  }

  /// Uploads a file, like ``performNetworkUpload(_:from:policy:onProgress:)-(_,RequestBody,_,_)`` with `.file(file)`.
  @discardableResult
  public func performNetworkUpload(
    _ request: some NetworkRequestConvertible, from file: URL, policy: RetryPolicy = .default,
    onProgress: (@Sendable (TransferProgress) -> Void)? = nil
  ) async throws(NetworkError) -> NetworkResponse<Data> {
    try await performNetworkUpload(request, from: .file(file), policy: policy, onProgress: onProgress)
  }

  /// Uploads bytes in memory, like ``performNetworkUpload(_:from:policy:onProgress:)-(_,RequestBody,_,_)`` with
  /// `.data(data)`.
  @discardableResult
  public func performNetworkUpload(
    _ request: some NetworkRequestConvertible, from data: Data, policy: RetryPolicy = .default,
    onProgress: (@Sendable (TransferProgress) -> Void)? = nil
  ) async throws(NetworkError) -> NetworkResponse<Data> {
    try await performNetworkUpload(request, from: .data(data), policy: policy, onProgress: onProgress)
  }

  /// Uploads a file, with a completion handler that is called on the session's `delegateQueue`.
  @discardableResult
  public func performNetworkUpload(
    _ request: some NetworkRequestConvertible, from file: URL, policy: RetryPolicy = .default,
    onProgress: (@Sendable (TransferProgress) -> Void)? = nil,
    completionHandler: @escaping @Sendable (Swift.Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask {
    performNetworkUpload(
      request, from: .file(file), policy: policy, onProgress: onProgress, completionHandler: completionHandler)
  }

  /// Uploads bytes in memory, with a completion handler that is called on the session's `delegateQueue`.
  @discardableResult
  public func performNetworkUpload(
    _ request: some NetworkRequestConvertible, from data: Data, policy: RetryPolicy = .default,
    onProgress: (@Sendable (TransferProgress) -> Void)? = nil,
    completionHandler: @escaping @Sendable (Swift.Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask {
    performNetworkUpload(
      request, from: .data(data), policy: policy, onProgress: onProgress, completionHandler: completionHandler)
  }

  private func uploadPlan(
    _ request: some NetworkRequestConvertible, _ body: RequestBody, _ policy: RetryPolicy,
    _ onProgress: (@Sendable (TransferProgress) -> Void)?, _ defaults: NetworkDefaults
  ) throws(NetworkError) -> NetworkCallPlan {
    var plan = try plan(for: request, policy, defaults)
    // On Linux, changing a request without a URL stops the process.
    if plan.request.url == nil { throw .invalidRequest(reason: "it has no URL") }
    if plan.request.networkMethod == "GET" { plan.request.httpMethod = "PUT" }
    try body.addContentType(to: &plan.request)
    let data = try body.encoded(with: defaults.encoder)
    NetworkUploadCall(body, data: data, onProgress).add(to: &plan)
    return plan
  }
}
