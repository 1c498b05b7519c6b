/// The middleware of a client, for the values that endpoints parse.
nonisolated protocol NetworkValueMiddleware: Sendable {
  func process(_ response: inout NetworkResponse<some Sendable>, of plan: NetworkCallPlan) async throws(NetworkError)
}
