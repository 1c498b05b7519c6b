public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A parsed response with its status code, its header fields (for paging or rate limits) and its attempts.
nonisolated public struct EndpointResponse<Value: Sendable>: Sendable {
  /// The value that the response was parsed into.
  public internal(set) var value: Value
  let network: NetworkResponse
  /// The status code and header fields.
  public var response: HTTPURLResponse { network.response }
  /// The body as it was received.
  public var data: Data { network.data }
  /// Every attempt, in order. The last one succeeded.
  public var attempts: [RetryFailure.Attempt] { network.attempts }
  /// Where the response came from. It is the server unless a client has a cache.
  public var source: NetworkResponse.Source { network.source }
  /// Why a ``ResponseCache`` served a response that may be stale; see ``NetworkResponse/revalidationError``.
  public var revalidationError: NetworkError? { network.revalidationError }
}

nonisolated extension EndpointResponse {
  /// Makes a response, for tests.
  public init(
    value: Value, response: HTTPURLResponse, data: Data = Data(), attempts: [RetryFailure.Attempt] = [],
    source: NetworkResponse.Source = .network, revalidationError: NetworkError? = nil
  ) {
    self.value = value
    network = NetworkResponse(
      data: data, response: response, source: source, revalidationError: revalidationError, failures: attempts)
  }
}

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
  ///   - maxRetries: Overrides ``RetryPolicy/maxRetries`` of the policy.
  ///   - policy: Takes precedence over the endpoint's policy, which takes precedence over the client's.
  ///   - completionHandler: Receives the response or the error, on the session's `delegateQueue`.
  /// - Returns: A handle that cancels the call. You do not have to keep it.
  @discardableResult
  public func load<E: Endpoint>(
    _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<E.Response, NetworkError>) -> Void
  ) -> NetworkTask {
    loadResponse(endpoint, maxRetries: maxRetries, policy: policy) { completionHandler($0.map(\.value)) }
  }

  /// Sends the request of an endpoint, retries it according to ``RetryPolicy``, and returns the parsed response.
  ///
  /// ```swift
  /// let estimate = try await session.load(.expenses)
  /// ```
  ///
  /// - Parameters:
  ///   - endpoint: Describes the request, and parses the response.
  ///   - maxRetries: Overrides ``RetryPolicy/maxRetries`` of the policy.
  ///   - policy: Takes precedence over the endpoint's policy, which takes precedence over the client's.
  /// - Returns: The parsed response.
  /// - Throws: A ``NetworkError``.
  public func load<E: Endpoint>(
    _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> E.Response {
    try await loadResponse(endpoint, maxRetries: maxRetries, policy: policy).value
  }

  /// Like ``load(_:maxRetries:policy:completionHandler:)``, but the result also has the status code, header fields,
  /// body and attempts.
  ///
  /// - Parameters:
  ///   - endpoint: Describes the request, and parses the response.
  ///   - maxRetries: Overrides ``RetryPolicy/maxRetries`` of the policy.
  ///   - policy: Takes precedence over the endpoint's policy, which takes precedence over the client's.
  ///   - completionHandler: Receives the response or the error, on the session's `delegateQueue`.
  /// - Returns: A handle that cancels the call. You do not have to keep it.
  @discardableResult
  public func loadResponse<E: Endpoint>(
    _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<EndpointResponse<E.Response>, NetworkError>) -> Void
  ) -> NetworkTask {
    let context = endpointContext
    if context == nil, let call = try? endpoint.call(maxRetries, policy, nil) {
      return perform(call.plan) { completionHandler(endpoint.parsed(call.end($0))) }
    }
    // The async method runs a client's calls, and throws the error of a request that cannot be made.
    return start(completionHandler) { [self] in
      do throws(NetworkError) {
        return .success(try await loadResponse(endpoint, maxRetries: maxRetries, policy: policy))
      } catch { return .failure(error) }
    }
  }

  /// Like ``load(_:maxRetries:policy:)``, but the result also has the status code, header fields, body and attempts.
  ///
  /// - Parameters:
  ///   - endpoint: Describes the request, and parses the response.
  ///   - maxRetries: Overrides ``RetryPolicy/maxRetries`` of the policy.
  ///   - policy: Takes precedence over the endpoint's policy, which takes precedence over the client's.
  /// - Returns: The parsed response, with its status code, header fields, body and attempts.
  /// - Throws: A ``NetworkError``.
  #if compiler(>=6.2)
    @concurrent
  #endif
  public func loadResponse<E: Endpoint>(
    _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> EndpointResponse<E.Response> {
    let context = endpointContext
    let call = try endpoint.call(maxRetries, policy, context)
    let result = call.end(await perform(call.plan))
    var parsed = try NetworkClientDecoder.current.withValue(context?.decoder) { endpoint.parsed(result) }.get()
    try await context?.pass(&parsed, of: endpoint)
    return parsed
  }

  private var endpointContext: (any NetworkEndpointContext)? { self as? any NetworkEndpointContext }
}

/// What a client supplies to the calls of endpoints.
nonisolated protocol NetworkEndpointContext: NetworkBodyContext {
  var baseURL: URL? { get }
  var decoder: JSONDecoder? { get }
  /// Passes the parsed value through the middleware.
  func pass(_ response: inout EndpointResponse<some Sendable>, of endpoint: any Endpoint) async throws(NetworkError)
}
