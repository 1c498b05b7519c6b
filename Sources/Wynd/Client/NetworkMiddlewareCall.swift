/// The call that a request belongs to, as a middleware sees it.
nonisolated public struct NetworkMiddlewareCall: Sendable {
  /// The client that performs the call.
  public let client: NetworkClient
  /// The endpoint that is loaded, or nil for a `URLRequest`.
  public var endpoint: (any Endpoint)? { plan.endpoint }
  /// The number of the attempt, counted from 1; of a parsed value, that of the attempt with the response.
  public let attempt: Int
  /// Whether this is a download, an upload or a stream, including a call of an endpoint whose body is not in memory.
  /// The ``NetworkResponse`` of an upload has the body of the response. The one of a download or a stream has none.
  public var isTransfer: Bool { plan.transfer != nil }
  /// The plan of the call, as it has reached the session.
  let plan: NetworkCallPlan
  /// The requests of the attempt; nil for a parsed value.
  let requests: NetworkMiddlewareAttempt?

  init(client: NetworkClient, _ plan: NetworkCallPlan, attempt: Int, _ requests: NetworkMiddlewareAttempt? = nil) {
    self.client = client
    self.plan = plan
    self.attempt = attempt
    self.requests = requests
  }

  /// The `Authentication` objects whose credential the current task renews. Its requests must not wait for these
  /// renewals.
  static let renewals = TaskLocal<Set<ObjectIdentifier>>(wrappedValue: [])
}

nonisolated extension NetworkMiddlewareCall: CustomStringConvertible {
  /// The number of the call, and the type of its endpoint.
  public var description: String { "[\(plan.id)] \(endpoint.map { "\(type(of: $0))" } ?? "URLRequest")" }
}
