#if canImport(os)
  public import os

  nonisolated extension NetworkEvent {
    /// For ``RetryPolicy/onEvent``: every event as a line of the unified log. No credential and no value of a query is in
    /// it, so it is readable there.
    ///
    /// ```swift
    /// policy.onEvent = NetworkEvent.logging(to: Logger(subsystem: "com.example.app", category: "network"))
    /// ```
    ///
    /// - Parameter logger: Where to.
    /// - Returns: A listener: what ends a call without success is an error, a failed attempt a notice, the rest is debug.
    public static func logging(to logger: Logger) -> @Sendable (NetworkEvent) -> Void {
      { event in
        switch event.kind {
        case .gaveUp: logger.error("\(event.description, privacy: .public)")
        case .attemptFailed: logger.notice("\(event.description, privacy: .public)")
        default: logger.debug("\(event.description, privacy: .public)")
        }
      }
    }
  }
#endif
