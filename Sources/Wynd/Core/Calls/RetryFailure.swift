/// The last error of a call that gave up, with every attempt and the reason.
nonisolated public struct RetryFailure: Sendable {
  /// Why no further attempt was made.
  public enum StopReason: Sendable, Equatable {
    /// A retry cannot help. Only events have this reason, because the error is not wrapped then.
    case notRetryable
    /// The server may have applied the request, and a repetition could apply it twice.
    case notSafeToRepeat(method: String)
    /// The body is an `httpBodyStream`, which can be read only once.
    case bodyNotReplayable
    /// ``RetryPolicy/maxRetries`` is reached, including the retries that the ``RetryBudget`` skipped.
    case maxRetries
    /// Three failures that are unlikely to go away: status 500, a TLS handshake that fails, a response that cannot be
    /// decompressed or is not HTTP.
    case persistentFailure
    /// ``RetryPolicy/maxRetryTime`` is over, or would be before the next attempt.
    case maxRetryTime
    /// No server could be reached for ``RetryPolicy/maxUnreachableTime``.
    case maxUnreachableTime
    /// ``RetryPolicy/deadline`` is over, or would be before the next attempt.
    case deadline
    /// The server asked for this wait, which is longer than ``RetryPolicy/maxRetryAfter`` or the deadline allows.
    case retryAfterTooLong(Swift.Duration)
    /// The caller canceled the call. Only events have this reason.
    case cancelled

    /// Whether the error of the last attempt is not wrapped, because it explains itself: no retry can help, or a limit
    /// of the policy allows none after a single attempt. The error alone does not show the other reasons.
    func leavesErrorUnwrapped(attempts: Int) -> Bool {
      switch self {
      case .notRetryable: true
      case .maxRetries, .maxRetryTime, .maxUnreachableTime: attempts < 2
      default: false
      }
    }
  }

  /// The failure of the last attempt.
  public internal(set) var lastError: NetworkError
  /// Every attempt that was made, in order.
  public internal(set) var attempts: [NetworkAttempt]
  /// Why no further attempt was made.
  public internal(set) var stopReason: StopReason
  /// The method of the request, for the log.
  var method = "GET"
}

nonisolated extension RetryFailure: CustomStringConvertible {
  /// One line for a log: the last error, the number of attempts, and why no further one was made.
  public var description: String {
    let skipped = NetworkAttempt.text(skipped: attempts.reduce(0) { $0 + $1.skippedRetries })
    return "\(lastError); gave up on \(method) after attempt \(attempts.count)\(skipped): \(stopReason)"
  }
}
