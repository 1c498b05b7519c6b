/// A policy as a call follows it: every limit has a value. The comments of `RetryPolicy` repeat these defaults,
/// `RetryPolicy.patient` has its own, and `RetryBudget.longestGap` is the cap of the backoff.
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
