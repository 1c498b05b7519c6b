/// A policy as a call follows it: every limit has a value. The comments of `RetryPolicy` repeat these defaults,
/// `RetryPolicy.patient` has its own, and `RetryBudget.longestGap` is the cap of the backoff.
nonisolated struct RetryRule: Sendable {
  private let policy: RetryPolicy
  init(_ policy: RetryPolicy) { self.policy = policy }

  var maxRetries: Int { max(0, policy.maxRetries ?? 10) }
  var backoff: Backoff { policy.backoff ?? .exponential(base: .milliseconds(500), cap: .seconds(20)) }
  var maxRetryAfter: Swift.Duration { max(.zero, policy.maxRetryAfter ?? .seconds(60)) }
  var maxRetryTime: Swift.Duration { policy.maxRetryTime ?? .seconds(120) }
  var maxUnreachableTime: Swift.Duration { policy.maxUnreachableTime ?? .seconds(10) }
  var deadline: Swift.Duration { policy.deadline ?? .noLimit }
  var budget: RetryBudget { policy.budget ?? .shared }
  var retriesNonIdempotent: Bool { policy.retriesNonIdempotent ?? false }
}
