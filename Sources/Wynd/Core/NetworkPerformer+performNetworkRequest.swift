public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

nonisolated extension NetworkPerformer {
  /// Sends the request, retries it when that is useful and safe, and calls back exactly once.
  ///
  /// ```swift
  /// session.performNetworkRequest(request) { result in
  ///   DispatchQueue.main.async {
  ///     switch result {
  ///     case .success(let data): show(data)
  ///     case .failure(.cancelled): break
  ///     case .failure(let error): show(error.localizedDescription)
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// The call starts at once; there is no `resume()`.
  ///
  /// - Parameters:
  ///   - request: What to send. Its `timeoutInterval` (seconds) is the time without any data after which one attempt
  ///     ends; the whole call is limited by the policy.
  ///   - maxRetries: Replaces ``RetryPolicy/maxRetries`` of the policy.
  ///   - allowEmptyData: Whether a 2xx response with an empty body is a success. If not, the call fails with
  ///     ``NetworkError/noResponseData(_:)``, although the server has carried out the request. The body of a response to
  ///     HEAD, and of one with status 204, 205 or 3xx, may always be empty.
  ///   - policy: The retry rule. What it does not set is that of the client's policy, or the default.
  ///   - completionHandler: Receives the body or the error, on the session's `delegateQueue`.
  /// - Returns: A handle that cancels the call. It does not have to be kept.
  @discardableResult
  public func performNetworkRequest(
    _ request: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (NetworkResult) -> Void
  ) -> NetworkTask {
    networkResponse(for: request, maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy) {
      completionHandler($0.map(\.data))
    }
  }

  /// Sends a GET request to a URL. The other parameters are those of the form with a request.
  ///
  /// - Returns: A handle that cancels the call. It does not have to be kept.
  @discardableResult
  public func performNetworkRequest(
    _ url: URL, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (NetworkResult) -> Void
  ) -> NetworkTask {
    performNetworkRequest(
      URLRequest(url: url), maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy,
      completionHandler: completionHandler)
  }

  /// Sends the request, retries it when that is useful and safe, and returns the body.
  ///
  /// ```swift
  /// let data = try await session.performNetworkRequest(request)
  /// ```
  ///
  /// Canceling the task ends the call, without waiting for its request. The parameters are those of the form with a
  /// completion handler.
  ///
  /// - Returns: The body of the response.
  /// - Throws: ``NetworkError``; nothing else, `.cancelled` in place of `CancellationError`.
  public func performNetworkRequest(
    _ request: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> Data {
    try await networkResponse(for: request, maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy).data
  }

  /// Sends a GET request to a URL, and returns the body. The other parameters are those of the form with a request.
  ///
  /// - Returns: The body of the response.
  /// - Throws: ``NetworkError``; nothing else.
  public func performNetworkRequest(
    _ url: URL, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> Data {
    try await performNetworkRequest(
      URLRequest(url: url), maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy)
  }

  /// Like `performNetworkRequest`, with the header fields of the response and the attempts of the call.
  ///
  /// - Returns: A handle that cancels the call. It does not have to be kept.
  @discardableResult
  public func networkResponse(
    for request: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask {
    let plan = NetworkCallPlan(request, policy: policy, maxRetries: maxRetries, allowEmptyData: allowEmptyData)
    return begin(plan, completionHandler: completionHandler)
  }

  /// Like `performNetworkRequest`, with the header fields of the response and the attempts of the call.
  ///
  /// - Returns: The response with its body, and every attempt.
  /// - Throws: ``NetworkError``; nothing else.
  public func networkResponse(
    for request: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> NetworkResponse<Data> {
    let plan = NetworkCallPlan(request, policy: policy, maxRetries: maxRetries, allowEmptyData: allowEmptyData)
    return try await begin(plan).get()
  }
}
