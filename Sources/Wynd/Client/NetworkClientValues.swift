import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What the clients that a call passes add to it.
nonisolated struct NetworkClientValues: Sendable {
  /// The names of the header fields in which the clients send a secret.
  var secretFields: Set<String> = []
  /// The middleware of all clients.
  var middleware: [any NetworkMiddleware] = []
}

nonisolated extension NetworkCallPlan {
  var ofClients: NetworkClientValues {
    get { values[NetworkClientValues.self] ?? NetworkClientValues() }
    set { values[NetworkClientValues.self] = newValue }
  }
}
