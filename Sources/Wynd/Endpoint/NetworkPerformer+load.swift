import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated extension NetworkPerformer {
  /// Sends the request of an endpoint, retries it according to ``RetryPolicy``, and calls the handler once with the
  /// parsed response or an error.
  ///
  /// ```swift
  /// session.load(.expenses) { result in print(result) }
  /// ```
  ///
  /// A response that cannot be parsed is not requested again. The call fails with ``NetworkError/undecodable(_:_:_:)``.
  ///
  /// - Parameters:
  ///   - endpoint: Describes the request, and parses the response.
  ///   - policy: What it does not set is that of the endpoint's policy, then that of the client's.
  ///   - completionHandler: Receives the response or the error, on the session's `delegateQueue`.
  /// - Returns: A handle that cancels the call. You do not have to keep it.
  @discardableResult
  public func load<E: Endpoint>(
    _ endpoint: E, policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<E.Response, NetworkError>) -> Void
  ) -> NetworkTask {
    loadResponse(endpoint, policy: policy) { completionHandler($0.map(\.value)) }
  }

  /// Sends the request of an endpoint, retries it according to ``RetryPolicy``, and returns the parsed response.
  ///
  /// ```swift
  /// let expenses = try await session.load(.expenses)
  /// ```
  ///
  /// - Parameters:
  ///   - endpoint: Describes the request, and parses the response.
  ///   - policy: What it does not set is that of the endpoint's policy, then that of the client's.
  /// - Returns: The parsed response.
  /// - Throws: A ``NetworkError``.
  public func load<E: Endpoint>(
    _ endpoint: E, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> E.Response {
    try await loadResponse(endpoint, policy: policy).value
  }

  /// Like ``load(_:policy:completionHandler:)``, but the result also has the status code, header fields,
  /// body and attempts.
  ///
  /// - Parameters:
  ///   - endpoint: Describes the request, and parses the response.
  ///   - policy: What it does not set is that of the endpoint's policy, then that of the client's.
  ///   - completionHandler: Receives the response or the error, on the session's `delegateQueue`.
  /// - Returns: A handle that cancels the call. You do not have to keep it.
  @discardableResult
  public func loadResponse<E: Endpoint>(
    _ endpoint: E, policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<NetworkResponse<E.Response>, NetworkError>) -> Void
  ) -> NetworkTask {
    let defaults = defaults
    do throws(NetworkError) {
      return start(try endpoint.call(policy, defaults), endpoint, defaults, completionHandler)
    } catch {
      return start(completionHandler) { .failure(error) }
    }
  }

  /// Like ``load(_:policy:)``, but the result also has the status code, header fields, body and attempts.
  ///
  /// - Parameters:
  ///   - endpoint: Describes the request, and parses the response.
  ///   - policy: What it does not set is that of the endpoint's policy, then that of the client's.
  /// - Returns: The parsed response, with its status code, header fields, body and attempts.
  /// - Throws: A ``NetworkError``.
  #if compiler(>=6.2)
    @concurrent
  #endif
  public func loadResponse<E: Endpoint>(
    _ endpoint: E, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> NetworkResponse<E.Response> {
    let defaults = defaults
    return try await response(of: endpoint.call(policy, defaults), endpoint, defaults)
  }

  /// Starts the call of an endpoint, and calls the handler with the parsed response.
  func start<E: Endpoint>(
    _ call: NetworkEndpointCall, _ endpoint: E, _ defaults: NetworkDefaults,
    _ completionHandler: @escaping @Sendable (Result<NetworkResponse<E.Response>, NetworkError>) -> Void
  ) -> NetworkTask {
    if defaults.valueMiddleware == nil {
      return begin(call.plan) { completionHandler(endpoint.parsed(call.end($0), defaults)) }
    }
    var call = call
    call.plan = call.plan.begun(on: self)
    return start(completionHandler) { [call] in
      do throws(NetworkError) {
        return .success(try await response(of: call, endpoint, defaults))
      } catch { return .failure(error) }
    }
  }

  /// Carries out the call of an endpoint, and parses its response.
  func response<E: Endpoint>(
    of call: NetworkEndpointCall, _ endpoint: E, _ defaults: NetworkDefaults
  ) async throws(NetworkError) -> NetworkResponse<E.Response> {
    let result = call.end(await begin(call.plan))
    var parsed = try endpoint.parsed(result, defaults).get()
    try await defaults.valueMiddleware?.pass(&parsed, of: call.plan)
    return parsed
  }
}
