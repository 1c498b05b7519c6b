// Calls: what an app calls and receives, which is the performers with their methods, the request, the response, the
// error and the events.

public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
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
  ///   - request: What to send: a `URLRequest`, a `URL` (a GET), or an endpoint. The `timeoutInterval` of a request
  ///     (seconds) is the time without any data after which one attempt ends; the whole call is limited by the policy.
  ///   - maxRetries: Replaces ``RetryPolicy/maxRetries`` of the policy.
  ///   - allowEmptyData: Whether a 2xx response with an empty body is a success. If not, the call fails with
  ///     ``NetworkError/noResponseData(_:)``, although the server has carried out the request. The body of a response
  ///     to HEAD, and of one with status 204, 205 or 3xx, may always be empty.
  ///   - policy: The retry rule. Fields that it does not set are taken from the endpoint's policy, then from the
  ///     client's.
  ///   - completionHandler: Receives the body or the error, on the session's `delegateQueue`, also if the request is
  ///     invalid: never inside this function, but maybe before it returns, on another thread.
  /// - Returns: A handle that cancels the call. It does not have to be kept.
  @discardableResult
  public func performNetworkRequest(
    _ request: some NetworkRequestConvertible, maxRetries: Int? = nil, allowEmptyData: Bool = false,
    policy: RetryPolicy = .default, completionHandler: @escaping @Sendable (NetworkResult) -> Void
  ) -> NetworkTask {
    networkResponse(for: request, maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy) {
      completionHandler($0.map(\.data))
    }
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
  /// - Throws: Only ``NetworkError``, with `.cancelled` in place of `CancellationError`.
  public func performNetworkRequest(
    _ request: some NetworkRequestConvertible, maxRetries: Int? = nil, allowEmptyData: Bool = false,
    policy: RetryPolicy = .default
  ) async throws(NetworkError) -> Data {
    try await networkResponse(for: request, maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy).data
  }

  /// Like `performNetworkRequest`, with the header fields of the response and the attempts of the call.
  ///
  /// - Returns: A handle that cancels the call. It does not have to be kept.
  @discardableResult
  public func networkResponse(
    for request: some NetworkRequestConvertible, maxRetries: Int? = nil, allowEmptyData: Bool = true,
    acceptsAnyStatus: Bool = false, policy: RetryPolicy = .default,
    completionHandler: @escaping @Sendable (Swift.Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask {
    start(completionHandler, convert: { acceptsAnyStatus ? $0.acceptingAnyStatus : $0 }) {
      defaults throws(NetworkError) in
      try plan(for: request, maxRetries, allowEmptyData, policy, defaults)
    }
  }

  /// Like `performNetworkRequest`, with the header fields of the response and the attempts of the call.
  ///
  /// - Parameters:
  ///   - request: What to send, as for `performNetworkRequest`.
  ///   - maxRetries: Replaces ``RetryPolicy/maxRetries`` of the policy.
  ///   - allowEmptyData: Whether a 2xx response with an empty body is a success. Here it is, unless you pass false.
  ///   - acceptsAnyStatus: Whether a status of 400 and up is a response too, after the retries that the policy allows.
  ///     Its ``NetworkResponse/attempts`` are those of the error then: none, unless the call gave up a
  ///     retry.
  ///   - policy: The retry rule.
  /// - Returns: The response with its body, and every attempt.
  /// - Throws: Only ``NetworkError``.
  public func networkResponse(
    for request: some NetworkRequestConvertible, maxRetries: Int? = nil, allowEmptyData: Bool = true,
    acceptsAnyStatus: Bool = false, policy: RetryPolicy = .default
  ) async throws(NetworkError) -> NetworkResponse<Data> {
    let defaults = defaults
    let plan = try plan(for: request, maxRetries, allowEmptyData, policy, defaults)
    let result = await perform(plan.started(on: self, defaults))
    return try (acceptsAnyStatus ? result.acceptingAnyStatus : result).get()
  }

  private func plan(
    for request: some NetworkRequestConvertible, _ maxRetries: Int?, _ allowEmptyData: Bool, _ policy: RetryPolicy,
    _ defaults: NetworkDefaults
  ) throws(NetworkError) -> NetworkCallPlan {
    var plan = try plan(for: request, policy.replacing(maxRetries: maxRetries), defaults)
    plan.allowEmptyData = allowEmptyData
    return plan
  }
}
