public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

nonisolated extension NetworkPerformer {
  /// Sends the request, retries it where that can help and can do no harm, and calls back exactly once.
  ///
  /// ```swift
  /// session.performNetworkRequest(request) { result in
  ///   switch result {
  ///   case .success(let data): show(data)
  ///   case .failure(.cancelled): break
  ///   case .failure(let error): show(error.localizedDescription)
  ///   }
  /// }
  /// ```
  ///
  /// It starts at once, there is no `resume()`.
  ///
  /// - Parameters:
  ///   - urlRequest: What to send. Its `timeoutInterval` (seconds) is the time without any data after which one attempt
  ///     ends; the whole call is limited by the policy.
  ///   - maxRetries: Retries after the first attempt: `n` sends at most n + 1 times. `nil` is the policy's number.
  ///   - allowEmptyData: Accept a 2xx response without a body where there could have been one. HEAD, 204, 205 and 3xx may
  ///     always be empty.
  ///   - policy: Which failures are retried, how often, how soon, for how long. `nil` is the client's policy, or
  ///     ``RetryPolicy/default``.
  ///   - completionHandler: Gets the body, or the error, on the session's `delegateQueue`.
  /// - Returns: A handle to cancel the call; it need not be kept.
  @discardableResult
  public func performNetworkRequest(
    _ urlRequest: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (NetworkResult) -> Void
  ) -> NetworkTask {
    networkResponse(for: urlRequest, maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy) {
      completionHandler($0.map(\.data))
    }
  }

  /// The same as a GET of a URL.
  @discardableResult
  public func performNetworkRequest(
    _ url: URL, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (NetworkResult) -> Void
  ) -> NetworkTask {
    performNetworkRequest(
      URLRequest(url: url), maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy,
      completionHandler: completionHandler)
  }

  /// Sends the request, retries it where that can help and can do no harm, and returns the body.
  ///
  /// ```swift
  /// let data = try await session.performNetworkRequest(request)
  /// ```
  ///
  /// Cancelling the task ends the call at once; one that is cancelled before it starts sends nothing. The parameters are
  /// those of the form with a completion handler.
  ///
  /// - Returns: The body of the response.
  /// - Throws: ``NetworkError``; nothing else, `.cancelled` in place of `CancellationError`.
  public func performNetworkRequest(
    _ urlRequest: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> Data {
    try await networkResponse(
      for: urlRequest, maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy
    ).data
  }

  /// The same as a GET of a URL.
  public func performNetworkRequest(
    _ url: URL, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> Data {
    try await performNetworkRequest(
      URLRequest(url: url), maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy)
  }

  /// As `performNetworkRequest`, and gives the head of the response and the history of the call as well.
  @discardableResult
  public func networkResponse(
    for urlRequest: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<NetworkResponse, NetworkError>) -> Void
  ) -> NetworkTask {
    networkCaller.start(
      NetworkCallPlan(request: urlRequest, policy: policy, maxRetries: maxRetries, allowEmptyData: allowEmptyData),
      completion: completionHandler)
  }

  /// As `performNetworkRequest`, and gives the head of the response and the history of the call as well.
  public func networkResponse(
    for urlRequest: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> NetworkResponse {
    try await networkCaller.run(
      NetworkCallPlan(request: urlRequest, policy: policy, maxRetries: maxRetries, allowEmptyData: allowEmptyData)
    ).get()
  }
}
