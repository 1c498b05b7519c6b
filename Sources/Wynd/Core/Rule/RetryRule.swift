// Rule: whether a failure may go away, whether the request is safe to repeat, how long to wait, and when to stop.
// Everything here but the budget, which calls share, is a pure decision. Clock and randomness are passed in.

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A policy as a call follows it: every limit has a value. The comments of `RetryPolicy` repeat these defaults,
/// `RetryPolicy.patient` has its own, and `RetryBudget.longestGap` is the cap of the backoff. The loop asks the budget
/// last, after the wait.
nonisolated struct RetryRule: Sendable {
  private let policy: RetryPolicy
  init(_ policy: RetryPolicy) { self.policy = policy }

  var maxRetries: Int { max(0, policy.maxRetries ?? 10) }
  var backoff: Backoff { policy.backoff ?? .exponential(base: .milliseconds(500), cap: .seconds(20)) }
  /// The wait before retry number `retry`, counted from 0, after a failure. The first one is short if there was no
  /// response: the connection had probably been idle for too long, which says nothing about the load of the server. The
  /// later ones are not, or a call would have used up its retries long before the end of an outage.
  func delay(retry: Int, after error: NetworkError, random: Double) -> Swift.Duration {
    let isShort = retry == 0 && policy.backoff == nil && error.unmapped.urlError != nil
    // What AWS's SDKs wait after a failure that is not a throttling.
    let backoff = isShort ? .exponential(base: .milliseconds(50), cap: .milliseconds(50)) : self.backoff
    return backoff.delay(retry: retry, random: random)
  }
  var maxRetryAfter: Swift.Duration { max(.zero, policy.maxRetryAfter ?? .seconds(60)) }
  var maxRetryTime: Swift.Duration { policy.maxRetryTime ?? .seconds(120) }
  var maxUnreachableTime: Swift.Duration { policy.maxUnreachableTime ?? .seconds(10) }
  /// Nil without a limit.
  var attemptTimeout: Swift.Duration? { policy.attemptTimeout.flatMap { $0 < .noLimit ? $0 : nil } }
  var deadline: Swift.Duration { policy.deadline ?? .noLimit }
  var budget: RetryBudget { policy.budget ?? .shared }
  var retriesNonIdempotent: Bool { policy.retriesNonIdempotent ?? false }
}

/// What follows a failed attempt.
nonisolated enum RetryDecision: Sendable, Equatable {
  case retry(after: Swift.Duration, NetworkEvent.DelaySource)
  case stop(RetryFailure.StopReason)
}

// Pure functions: the time and the random number are passed in.
nonisolated extension RetryRule {
  /// What follows this failure.
  ///
  /// `request` is the request of the call: a retry starts from it again, not from the target of a redirect. After a
  /// redirect, the last request may be a GET, although a POST before it was applied. `verdict` is the result of the
  /// app's `shouldRetry`, nil without it. `random` is uniform in 0 ..< 1.
  func decision(
    _ error: NetworkError, _ request: URLRequest, _ state: RetryCallState, verdict: Bool?, now: Foundation.Date,
    random: Double
  ) -> RetryDecision {
    if let reason = reasonNotToRetry(error, request, state, verdict) { return .stop(reason) }
    return wait(after: error, state, now, random)
  }

  /// Why the request is not sent again, however long the call has taken; nil if it may be. The first rule that applies
  /// decides.
  private func reasonNotToRetry(
    _ error: NetworkError, _ request: URLRequest, _ state: RetryCallState, _ verdict: Bool?
  ) -> RetryFailure.StopReason? {
    if error.isFinal { return .notRetryable }
    let mayHelp = verdict ?? (error.shouldRetry || isInProgress(error, request, state))
    // Neither the app nor the error itself asks for a retry. If only the app is against it, the next rule comes first.
    if !mayHelp, !error.shouldRetry { return .notRetryable }
    // Reported even if the caller decides against a retry, because people must not be told to try again.
    if !safety(of: request, state).isSafe { return .notSafeToRepeat(method: request.networkMethod) }
    if !mayHelp { return .notRetryable }
    if request.httpBodyStream != nil { return .bodyNotReplayable }
    if state.retries >= maxRetries { return .maxRetries }
    if state.persistentFailures > 2 { return .persistentFailure }
    return nil
  }

  /// Whether the server, which supports the Idempotency-Key, reports that an earlier attempt is still in progress.
  private func isInProgress(_ error: NetworkError, _ request: URLRequest, _ state: RetryCallState) -> Bool {
    error.statusCode == 409 && RepeatSafety.hasIdempotencyKey(request) && state.mayBeInProgress
  }

  /// The wait before the next attempt, or the limit that it would pass. The first rule that applies decides.
  private func wait(
    after error: NetworkError, _ state: RetryCallState, _ now: Foundation.Date, _ random: Double
  ) -> RetryDecision {
    let ownDelay = delay(retry: state.retries, after: error, random: random)
    var delay = ownDelay
    let server = error.serverWait(now: now)
    // `Retry-After: 0` asks for no wait, so the backoff alone applies.
    if let asked = server?.wait, asked > .zero {
      if isTooLong(asked, state) { return .stop(.retryAfterTooLong(asked)) }
      // The wait is at least as long as the server asks for. The backoff is added, so that clients with the same wait
      // do not return together, but no more of it than the call has time for.
      let timeForBackoff = (timeUntilFirstLimit(state) - asked) / 2
      delay = asked + max(.zero, min(ownDelay, timeForBackoff))
    }

    if error.isUnreachable {
      let left = maxUnreachableTime - state.unreachableTime
      if left <= .zero { return .stop(.maxUnreachableTime) }
      // The last retry is made at the limit, so a call survives every shorter outage.
      delay = min(delay, left)
    }
    if exceedsMaxRetryTime(delay, error, state) { return .stop(.maxRetryTime) }
    if state.elapsed + delay >= deadline { return .stop(.deadline) }

    guard let server, server.wait > .zero else { return .retry(after: delay, .backoff) }
    return .retry(after: delay, .server(field: server.field))
  }

  /// Whether the server asks for a longer wait than the policy allows.
  private func isTooLong(_ asked: Swift.Duration, _ state: RetryCallState) -> Bool {
    asked > maxRetryAfter || asked >= deadline - state.elapsed
  }

  /// Whether it is safe to repeat the request after the latest failure.
  func safety(of request: URLRequest, _ state: RetryCallState) -> RepeatSafety {
    RepeatSafety(
      of: request, isReadOnly: state.isReadOnly, after: state.delivery, retriesNonIdempotent: retriesNonIdempotent)
  }

  /// The next wait if the budget skips this retry; nil if the retry is to be sent.
  ///
  /// The last retry is never skipped, nor one after which there is no time for another: a budget ends no call. The wait
  /// is at least half of its step, or many calls would have used up their retries before the end of an outage.
  func waitInPlaceOfRetry(_ state: RetryCallState, random: Double) -> Swift.Duration? {
    if state.retries >= maxRetries { return nil }
    let wait = backoff.delay(retry: state.retries, random: 0.5 + random / 2)
    // Without waits, retries cannot be spread.
    if wait <= .zero { return nil }
    return wait < timeUntilFirstLimit(state) ? wait : nil
  }

  private func exceedsMaxRetryTime(_ delay: Swift.Duration, _ error: NetworkError, _ state: RetryCallState) -> Bool {
    let timeWithoutProgress = state.elapsed - state.progressedAt
    // An app that was suspended during its only attempt finds `maxRetryTime` passed and the connection lost.
    let hasPassed = timeWithoutProgress > maxRetryTime && maxRetryTime > .zero
    let isFirstLoss = state.retries == 0 && error.unmapped.urlError?.code == .networkConnectionLost
    if hasPassed && isFirstLoss { return false }
    return timeWithoutProgress + delay > maxRetryTime
  }

  private func timeUntilFirstLimit(_ state: RetryCallState) -> Swift.Duration {
    min(deadline, maxRetryTime + state.progressedAt) - state.elapsed
  }
}
