nonisolated extension NetworkCallPlan {
  /// The plan of another call with the same settings, such as the next connection of an event stream. It has events of
  /// its own, and the retry budget counts it as another call.
  func withNewID() -> NetworkCallPlan {
    var plan = self
    plan.id = Self.nextID()
    return plan
  }
}
