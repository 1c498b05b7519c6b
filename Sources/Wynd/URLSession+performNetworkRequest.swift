public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

nonisolated extension URLSession {
  /// Sends the request, tries again where that can help and can do no harm, and calls back exactly once.
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
  ///   - allowEmptyData: Accept a 2xx answer without a body where there could have been one. HEAD, 204, 205 and 3xx may
  ///     always be empty.
  ///   - policy: Which failures are tried again, how often, how soon, for how long.
  ///   - completionHandler: Gets the body, or the error, on the session's `delegateQueue`.
  /// - Returns: A handle to cancel the call; it need not be kept.
  @discardableResult
  public func performNetworkRequest(
    _ urlRequest: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy = .default,
    completionHandler: @escaping @Sendable (NetworkResult) -> Void
  ) -> NetworkTask {
    networkResponse(for: urlRequest, maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy) {
      completionHandler($0.map(\.data))
    }
  }

  /// The same as a GET of a URL.
  ///
  /// - Parameters:
  ///   - url: What to get.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - allowEmptyData: Accept a 2xx answer without a body where there could have been one.
  ///   - policy: Which failures are tried again, how often, how soon, for how long.
  ///   - completionHandler: Gets the body, or the error, on the session's `delegateQueue`.
  /// - Returns: A handle to cancel the call; it need not be kept.
  @discardableResult
  public func performNetworkRequest(
    _ url: URL, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy = .default,
    completionHandler: @escaping @Sendable (NetworkResult) -> Void
  ) -> NetworkTask {
    performNetworkRequest(
      URLRequest(url: url), maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy,
      completionHandler: completionHandler)
  }

  /// Sends the request, tries again where that can help and can do no harm, and returns the body.
  ///
  /// ```swift
  /// let data = try await session.performNetworkRequest(request)
  /// ```
  ///
  /// Cancelling the task ends the call at once; one that is cancelled before it starts sends nothing.
  ///
  /// - Parameters:
  ///   - urlRequest: What to send.
  ///   - maxRetries: Retries after the first attempt: `n` sends at most n + 1 times. `nil` is the policy's number.
  ///   - allowEmptyData: Accept a 2xx answer without a body where there could have been one.
  ///   - policy: Which failures are tried again, how often, how soon, for how long.
  /// - Returns: The body of the answer.
  /// - Throws: ``NetworkError``; nothing else, `.cancelled` in place of `CancellationError`.
  public func performNetworkRequest(
    _ urlRequest: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy = .default
  ) async throws(NetworkError) -> Data {
    try await networkResponse(
      for: urlRequest, maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy
    ).data
  }

  /// The same as a GET of a URL.
  ///
  /// - Parameters:
  ///   - url: What to get.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - allowEmptyData: Accept a 2xx answer without a body where there could have been one.
  ///   - policy: Which failures are tried again, how often, how soon, for how long.
  /// - Returns: The body of the answer.
  /// - Throws: ``NetworkError``; nothing else.
  public func performNetworkRequest(
    _ url: URL, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy = .default
  ) async throws(NetworkError) -> Data {
    try await performNetworkRequest(
      URLRequest(url: url), maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy)
  }

  /// As ``performNetworkRequest(_:maxRetries:allowEmptyData:policy:completionHandler:)-(URLRequest,_,_,_,_)``, and gives
  /// the head of the answer and the history of the call as well.
  ///
  /// - Parameters:
  ///   - urlRequest: What to send.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - allowEmptyData: Accept a 2xx answer without a body where there could have been one.
  ///   - policy: Which failures are tried again, how often, how soon, for how long.
  ///   - completionHandler: Gets the answer, or the error, on the session's `delegateQueue`.
  /// - Returns: A handle to cancel the call; it need not be kept.
  @discardableResult
  public func networkResponse(
    for urlRequest: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy = .default,
    completionHandler: @escaping @Sendable (Result<NetworkResponse, NetworkError>) -> Void
  ) -> NetworkTask {
    loop(urlRequest, maxRetries, allowEmptyData, policy).start(on: delegateQueue, completion: completionHandler)
  }

  /// The same as a GET of a URL.
  ///
  /// - Parameters:
  ///   - url: What to get.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - allowEmptyData: Accept a 2xx answer without a body where there could have been one.
  ///   - policy: Which failures are tried again, how often, how soon, for how long.
  ///   - completionHandler: Gets the answer, or the error, on the session's `delegateQueue`.
  /// - Returns: A handle to cancel the call; it need not be kept.
  @discardableResult
  public func networkResponse(
    for url: URL, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy = .default,
    completionHandler: @escaping @Sendable (Result<NetworkResponse, NetworkError>) -> Void
  ) -> NetworkTask {
    networkResponse(
      for: URLRequest(url: url), maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy,
      completionHandler: completionHandler)
  }

  /// As ``performNetworkRequest(_:maxRetries:allowEmptyData:policy:)-(URLRequest,_,_,_)``, and gives the head of the
  /// answer and the history of the call as well.
  ///
  /// - Parameters:
  ///   - urlRequest: What to send.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - allowEmptyData: Accept a 2xx answer without a body where there could have been one.
  ///   - policy: Which failures are tried again, how often, how soon, for how long.
  /// - Returns: Body, head and history.
  /// - Throws: ``NetworkError``; nothing else.
  public func networkResponse(
    for urlRequest: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy = .default
  ) async throws(NetworkError) -> NetworkResponse {
    try await loop(urlRequest, maxRetries, allowEmptyData, policy).run().get()
  }

  /// The same as a GET of a URL.
  ///
  /// - Parameters:
  ///   - url: What to get.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - allowEmptyData: Accept a 2xx answer without a body where there could have been one.
  ///   - policy: Which failures are tried again, how often, how soon, for how long.
  /// - Returns: Body, head and history.
  /// - Throws: ``NetworkError``; nothing else.
  public func networkResponse(
    for url: URL, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy = .default
  ) async throws(NetworkError) -> NetworkResponse {
    try await networkResponse(
      for: URLRequest(url: url), maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy)
  }
}

nonisolated extension URLSession {
  private func loop(
    _ request: URLRequest, _ maxRetries: Int?, _ allowEmptyData: Bool, _ policy: RetryPolicy
  ) -> RetryLoop {
    RetryLoop(
      request, policy: policy.with(maxRetries), allowEmptyData: allowEmptyData,
      transport: SessionTransport(session: self))
  }
}

nonisolated extension RetryPolicy {
  /// The argument of a call wins.
  func with(_ maxRetries: Int?) -> RetryPolicy {
    var policy = self
    if let maxRetries { policy.maxRetries = maxRetries }
    return policy
  }
}
