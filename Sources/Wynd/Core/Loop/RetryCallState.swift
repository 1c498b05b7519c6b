#if !canImport(FoundationNetworking)
  import Foundation
#endif

/// The progress of a call. A cancellation is not here: it ends the attempt (NetworkAttemptCompletion) or the task that
/// waits (`RetryLoop.run`).
nonisolated struct RetryCallState: Sendable {
  /// When the call started, on its clock.
  var callStart = Swift.Duration.zero
  /// Whether the request is declared to only read; nil means what its method says.
  var isReadOnly: Bool?
  /// The number of attempts so far, including the current one.
  var attempts = 0
  /// When the current attempt started, measured from `callStart`, like all times below.
  var attemptStart = Swift.Duration.zero
  #if !canImport(FoundationNetworking)
    /// The metrics of the current attempt. They are not part of its outcome, because a middleware or a transfer may
    /// replace that.
    var metrics = NetworkLock<URLSessionTaskMetrics?>(nil)
  #endif
  /// The attempts that failed. What the rule asks about all of them is noted below, or a call with thousands of retries
  /// would look at all of them after each one.
  private(set) var history: [NetworkAttempt] = []
  /// A server may still be processing the request of an attempt before the latest one.
  private(set) var mayBeInProgress = false
  /// The time from the start of the call to the latest decision about it.
  var elapsed = Swift.Duration.zero
  /// Since when no server is reached: the start of the first attempt of the outage. If that attempt had reached a
  /// server before it lost the network, its end.
  var unreachableSince: Swift.Duration?

  // MARK: Since the last progress
  // Retries, failures, backoff and time are counted from then on, so a download fails when it stalls, not because it is
  // long.

  /// When the last attempt that made progress ended.
  var progressedAt = Swift.Duration.zero
  /// The number of retries, including those that the budget skipped.
  var retries = 0
  /// The number of failures that are unlikely to go away.
  private(set) var persistentFailures = 0

  var unreachableTime: Swift.Duration { elapsed - (unreachableSince ?? elapsed) }

  /// What has become of the request of the latest failure.
  var delivery: NetworkDelivery { history.last?.delivery ?? .mayHaveBeenApplied }

  /// Adds an attempt that failed.
  mutating func add(_ attempt: NetworkAttempt) {
    if history.last?.delivery == .mayHaveBeenApplied { mayBeInProgress = true }
    history.append(attempt)
    if attempt.error?.isPersistent == true { persistentFailures += 1 }
  }

  /// Notes that the latest attempt is followed by a wait.
  mutating func addDelay(_ delay: Swift.Duration) {
    guard let last = history.indices.last else { return }
    history[last].delay = (history[last].delay ?? .zero) + delay
  }

  /// Notes that the budget has skipped the retry after the latest attempt.
  mutating func skipRetry() {
    if let last = history.indices.last { history[last].skippedRetries += 1 }
  }

  /// Updates `unreachableSince` after a failure at `elapsed`.
  mutating func noteReachability(after error: NetworkError, hasReachedServer: Bool) {
    if !error.isUnreachable {
      unreachableSince = nil
    } else if hasReachedServer {
      // A long transfer that loses the network has not been unreachable for all that time.
      unreachableSince = elapsed
    } else if unreachableSince == nil {
      unreachableSince = attemptStart
    }
  }

  /// Starts to count again. The attempt that made progress is the first one that counts.
  mutating func startOver() {
    persistentFailures = history.last?.error?.isPersistent == true ? 1 : 0
    progressedAt = elapsed
    retries = 0
  }
}
