import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What the clients that a call passes add to it.
nonisolated struct NetworkClientValues: Sendable {
  /// The middleware of all clients.
  var middleware: [any NetworkMiddleware] = []
  /// The names of the header fields in which the clients send a secret. A sign-in or a renewal may add one during a
  /// call.
  var secretFields: Set<String> { middleware.reduce(into: []) { $0.formUnion($1.secretFields) } }
}

nonisolated extension NetworkCallPlan {
  var ofClients: NetworkClientValues {
    get { values[NetworkClientValues.self] ?? NetworkClientValues() }
    set { values[NetworkClientValues.self] = newValue }
  }
}
