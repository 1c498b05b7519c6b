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
  /// Where the response came from. It is the server unless a client has a cache. A test may set it.
  public var source: NetworkResponseSource {
    get { values[NetworkResponseSource.self] ?? .network }
    set { values[NetworkResponseSource.self] = newValue }
  }

  /// Why a ``ResponseCache`` served a response that may be out of date: the server could not be reached, or failed. Nil
  /// for every other response. A test may set it.
  public var revalidationError: NetworkError? {
    get { values[NetworkError.self] }
    set { values[NetworkError.self] = newValue }
  }
}
