public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Where a response can come from.
nonisolated public enum NetworkResponseSource: Sendable {
  /// The server sent it.
  case network
  /// It was stored, and the server confirmed that it is still valid (304).
  case revalidated
  /// It was stored, and is served without the server.
  case cache
}

nonisolated extension NetworkResponse {
  /// Where the response came from. It is the server unless a client has a cache.
  public internal(set) var source: NetworkResponseSource {
    get { values[NetworkResponseSource.self] ?? .network }
    set { values[NetworkResponseSource.self] = newValue }
  }

  /// Why a ``ResponseCache`` served a response that may be out of date: the server could not be reached, or failed. Nil
  /// for every other response.
  public internal(set) var revalidationError: NetworkError? {
    get { values[NetworkError.self] }
    set { values[NetworkError.self] = newValue }
  }

  /// Makes a response that a cache has served, for tests.
  public init(
    value: Value, response: HTTPURLResponse, data: Data = Data(), attempts: [NetworkAttempt] = [],
    source: NetworkResponseSource, revalidationError: NetworkError? = nil
  ) {
    self.init(value: value, response: response, data: data, attempts: attempts)
    self.source = source
    self.revalidationError = revalidationError
  }
}
