/// A policy as a call follows it: every field has a value.
nonisolated struct RetryRule: Sendable {
  let maxRetries: Int
  let backoff: Backoff
  let maxRetryAfter: Swift.Duration
  let maxRetryTime: Swift.Duration
  let maxUnreachableTime: Swift.Duration
  let deadline: Swift.Duration
  let budget: RetryBudget
  let retriesNonIdempotent: Bool
  let shouldRetry: (@Sendable (NetworkError) -> Bool)?
  let onEvent: (@Sendable (NetworkEvent) -> Void)?

  init(_ policy: RetryPolicy) {
    maxRetries = max(0, policy.maxRetries ?? 10)
    backoff = policy.backoff ?? .exponential(base: .milliseconds(500), cap: .seconds(20))
    maxRetryAfter = max(.zero, policy.maxRetryAfter ?? .seconds(60))
    maxRetryTime = policy.maxRetryTime ?? .seconds(120)
    maxUnreachableTime = policy.maxUnreachableTime ?? .seconds(10)
    deadline = policy.deadline ?? .noLimit
    budget = policy.budget ?? .shared
    retriesNonIdempotent = policy.retriesNonIdempotent ?? false
    shouldRetry = policy.shouldRetry
    onEvent = policy.onEvent
  }
}
