/// What has become of a request that failed, from the session, which sees what was sent, to the rule
/// (``RepeatSafety``).
nonisolated enum NetworkDelivery: Sendable {
  /// No server received it.
  case notSent
  /// A server may have received it, and refused it before processing it.
  case refused
  /// A server may have applied it.
  case mayHaveBeenApplied
}
