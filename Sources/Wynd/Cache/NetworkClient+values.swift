import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated extension NetworkClient {
  /// Returns the response that a ``ResponseCache`` has stored, even if it is stale, and then the server's response. A
  /// list can show stored content at once and then update it.
  ///
  /// A stored response has the ``NetworkResponse/source`` `.cache`. If it is still fresh, it is the only value. If
  /// nothing is stored, the only value is the server's response. If the server cannot be reached or is failing, the
  /// sequence throws that error after the stored response, even with `servesStaleIfError`. A stored response with
  /// `no-cache` or `must-revalidate` is returned too, because its source marks it as cached and the server's response
  /// follows.
  ///
  /// - Parameters:
  ///   - endpoint: The endpoint to load.
  ///   - policy: Fields that it does not set are taken from the endpoint's policy, then from the client's.
  /// - Returns: A sequence of one or two responses. It throws a ``NetworkError``. The server is asked when the loop comes
  ///   to its response.
  public func values<E: Endpoint>(of endpoint: E, policy: RetryPolicy = .default) -> NetworkResponses<E.Response> {
    NetworkResponses(
      stored: { try? await storedResponse(endpoint) },
      current: { stored throws(NetworkError) in try await currentResponse(endpoint, policy, after: stored) })
  }

  /// The server's response, or the stored one if it is fresh. A stale one is not served again, because it has been
  /// returned already.
  private func currentResponse<E: Endpoint>(
    _ endpoint: E, _ policy: RetryPolicy, after stored: NetworkResponse<Data>?
  ) async throws(NetworkError) -> NetworkResponse<E.Response> {
    let defaults = defaults
    var plan = try endpoint.plan(policy, nil, defaults)
    let isFresh = stored?.values[StoredResponse.self]?.freshness.isFresh(at: Foundation.Date()) == true
    if stored != nil, !isFresh, plan.request.cachePolicy == .useProtocolCachePolicy {
      plan.request.cachePolicy = .reloadRevalidatingCacheData
    }
    return try await response(of: plan, endpoint, defaults)
  }

  /// The response that a cache has stored. Throws an error if there is none, without sending the request.
  private func storedResponse<E: Endpoint>(_ endpoint: E) async throws(NetworkError) -> NetworkResponse<E.Response>? {
    let defaults = defaults
    guard defaults.values[ResponseCache.self] != nil else { return nil }
    var plan = try endpoint.networkCallPlan(defaults)
    // A request that must not be served from a cache has no stored response.
    switch plan.request.cachePolicy {
    case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: return nil
    default: plan.request.cachePolicy = .returnCacheDataDontLoad
    }
    return try await response(of: plan, endpoint, defaults)
  }
}

/// A stored response, and then the server's: see ``NetworkClient/values(of:policy:)``.
nonisolated public struct NetworkResponses<Value: Sendable>: AsyncSequence, Sendable {
  /// A response with its parsed value.
  public typealias Element = NetworkResponse<Value>
  let stored: @Sendable () async -> Element?
  /// The server's response, or the stored one if it is fresh.
  let current: @Sendable (_ stored: NetworkResponse<Data>?) async throws(NetworkError) -> Element

  /// Iterates over the responses.
  nonisolated public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
    private let responses: NetworkResponses
    private var step = NetworkResponsesStep.stored

    init(_ responses: NetworkResponses) { self.responses = responses }

    /// The next response, or nil at the end.
    ///
    /// - Returns: The stored response, if there is one, and then the server's.
    /// - Throws: ``NetworkError``; `.cancelled` if the task is canceled.
    public mutating func next() async throws -> Element? {
      if _Concurrency.Task.isCancelled { throw NetworkError.cancelled }
      if case .stored = step {
        let stored = await responses.stored()
        step = .current(after: stored.map { $0.withValue($0.data) })
        if let stored { return stored }
      }
      if case .current(let stored) = step {
        step = .end(nil)
        let current = try await responses.current(stored)
        step = .end(current.revalidationError)
        let isRepeated = current.source == .cache && current.data == stored?.data
        if !isRepeated { return current }
      }
      guard case .end(let error?) = step else { return nil }
      step = .end(nil)
      throw error
    }
  }

  /// Makes an iterator, with requests of its own.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

/// What an iteration of ``NetworkResponses`` does next. It is not generic, so that the compiler makes its code once.
nonisolated private enum NetworkResponsesStep: Sendable {
  case stored
  case current(after: NetworkResponse<Data>?)
  case end(NetworkError?)
}
