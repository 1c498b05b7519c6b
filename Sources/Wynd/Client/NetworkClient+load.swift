public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

// The calls, each with a callback and async.
nonisolated extension NetworkClient {
  // MARK: Requests

  /// Sends the request and returns the body.
  ///
  /// - Parameters:
  ///   - urlRequest: What to send; its URL is resolved against ``baseURL`` if it names no host.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - allowEmptyData: Accept a 2xx answer without a body where there could have been one.
  ///   - policy: Wins over the client's.
  /// - Returns: The body of the answer.
  /// - Throws: ``NetworkError``; nothing else.
  public func performNetworkRequest(
    _ urlRequest: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> Data {
    try await networkResponse(
      for: urlRequest, maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy
    ).data
  }

  /// Sends the request and returns body, head and history of the answer.
  ///
  /// - Parameters:
  ///   - urlRequest: What to send; its URL is resolved against ``baseURL`` if it names no host.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - allowEmptyData: Accept a 2xx answer without a body where there could have been one.
  ///   - policy: Wins over the client's.
  /// - Returns: Body, head and history.
  /// - Throws: ``NetworkError``; nothing else.
  public func networkResponse(
    for urlRequest: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> NetworkResponse {
    try await send(
      try resolved(urlRequest), nil, nil, Self.policy(policy ?? self.policy, maxRetries), allowEmptyData: allowEmptyData
    )
  }

  /// Sends the request and calls back once.
  ///
  /// - Parameters:
  ///   - urlRequest: What to send; its URL is resolved against ``baseURL`` if it names no host.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - allowEmptyData: Accept a 2xx answer without a body where there could have been one.
  ///   - policy: Wins over the client's.
  ///   - completionHandler: Gets the body, or the error, on the session's `delegateQueue`.
  /// - Returns: A handle to cancel the call; it need not be kept.
  @discardableResult
  public func performNetworkRequest(
    _ urlRequest: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (NetworkResult) -> Void
  ) -> NetworkTask {
    start(completionHandler) { () async throws(NetworkError) -> Data in
      try await performNetworkRequest(
        urlRequest, maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy)
    }
  }

  // MARK: Endpoints

  /// Sends what the endpoint describes and returns the parsed answer.
  ///
  /// - Parameters:
  ///   - endpoint: What to send, and how to parse the answer.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - policy: Wins over the endpoint's own, which wins over the client's.
  /// - Returns: The response.
  /// - Throws: ``NetworkError``; nothing else.
  public func load<E: Endpoint>(
    _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> E.Response {
    try await loadResponse(endpoint, maxRetries: maxRetries, policy: policy).value
  }

  /// As ``load(_:maxRetries:policy:)``, and gives head and history of the answer as well.
  ///
  /// - Parameters:
  ///   - endpoint: What to send, and how to parse the answer.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - policy: Wins over the endpoint's own, which wins over the client's.
  /// - Returns: The response, its head, its body and its history.
  /// - Throws: ``NetworkError``; nothing else.
  #if compiler(>=6.2)
    @concurrent
  #endif
  public func loadResponse<E: Endpoint>(
    _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> EndpointResponse<E.Response> {
    let (request, spool) = try EndpointCoding.with(encoder, decoder) { () throws(NetworkError) in
      try endpoint.makeRequest(baseURL: baseURL)
    }
    let policy = Self.policy(policy ?? endpoint.policy ?? self.policy, maxRetries)
    let answer = await Self.result { () async throws(NetworkError) in
      try await send(request, spool, endpoint, policy, allowEmptyData: true)
    }
    let parsed = try EndpointCoding.with(encoder, decoder) { () throws(NetworkError) in
      try endpoint.parsed(answer).get()
    }
    var value = parsed.value
    do {
      let response = try answer.get()
      let call = NetworkCall(client: self, endpoint: endpoint)
      for middleware in (middleware + attemptMiddleware).reversed() {
        value = try await middleware.parsed(value, from: response, in: call)
      }
    } catch {
      throw NetworkError(thrown: error)
    }
    return EndpointResponse(
      value: value, response: parsed.response, data: parsed.data, attempts: parsed.attempts, source: parsed.source,
      revalidationError: parsed.revalidationError)
  }

  /// Sends what the endpoint describes and calls back once with the parsed answer.
  ///
  /// - Parameters:
  ///   - endpoint: What to send, and how to parse the answer.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - policy: Wins over the endpoint's own, which wins over the client's.
  ///   - completionHandler: Gets the response, or the error, on the session's `delegateQueue`.
  /// - Returns: A handle to cancel the call; it need not be kept.
  @discardableResult
  public func load<E: Endpoint>(
    _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<E.Response, NetworkError>) -> Void
  ) -> NetworkTask {
    start(completionHandler) { () async throws(NetworkError) -> E.Response in
      try await load(endpoint, maxRetries: maxRetries, policy: policy)
    }
  }
}
