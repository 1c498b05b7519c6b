nonisolated extension NetworkCallPlan {
  /// The middleware of all clients that the call passes.
  var clientMiddleware: [any NetworkMiddleware] {
    get { values[[any NetworkMiddleware].self] ?? [] }
    set { values[[any NetworkMiddleware].self] = newValue }
  }
}

nonisolated extension [any NetworkMiddleware] {
  /// The names of the header fields in which they send a secret. A sign-in or a renewal may add one during a call.
  var secretFields: Set<String> { reduce(into: []) { $0.formUnion($1.secretFields) } }
}
