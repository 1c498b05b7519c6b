/// Which failures are retried, how often, how soon and for how long.
///
/// ```swift
/// var policy = RetryPolicy(maxRetries: 3, deadline: .seconds(10))
/// policy.onEvent = { print($0) }
/// let data = try await URLSession.shared.performNetworkRequest(request, policy: policy)
/// ```
///
/// A request is retried only if that may help (``NetworkError/shouldRetry``, or ``shouldRetry`` here), **and** it is
/// safe to repeat (``RepeatSafety``), **and** its body can be sent again (an `httpBodyStream` cannot), **and** the
/// limits allow it.
nonisolated public struct RetryPolicy: Sendable {
  /// The number of retries after the first attempt: with `n`, at most n + 1 requests are sent. 0 or less sends one.
  public var maxRetries: Int
  /// How long to wait before a retry. It is added to a wait that the server asks for.
  public var backoff: Backoff
  /// The longest wait that a server may ask for (Retry-After, RateLimit-Reset). A longer one is not shortened: the call
  /// ends at once, and reports it. `nil` is no limit; zero accepts only 0.
  public var maxRetryAfter: Duration?
  /// No retry starts later than this after the start of the call, so that time-outs do not add up. `nil` is no limit.
  /// One exception: after an app was suspended, its connection is lost, and the first retry is made however late.
  public var maxRetryTime: Duration?
  /// How long attempts are retried that reach no server (offline, host not found, refused), counted from the first of
  /// consecutive ones. It is short because a person may be waiting, in airplane mode or after mistyping the host. `nil`
  /// is as long as ``maxRetryTime``.
  public var maxUnreachableTime: Duration?
  /// The limit for the whole call, attempts and waits together. It also ends an attempt in flight. `nil` is no limit.
  public var deadline: Duration?
  /// Skips retries while an origin fails for several calls. `nil` sends every retry.
  public var budget: RetryBudget?
  /// Whether POST, PATCH and the like are repeated even if the server may have applied them: an order may be placed
  /// twice.
  public var retriesNonIdempotent: Bool
  /// Decides in place of ``NetworkError/shouldRetry`` whether a retry may help. It is not called after a cancellation,
  /// and cannot make an unsafe repetition safe. Errors that are unlikely to go away are retried at most twice in any
  /// case. A slow closure delays its own call only, also the end of that call. A POST that may have been applied is
  /// reported as `notSafeToRepeat`, whatever it decides.
  public var shouldRetry: (@Sendable (NetworkError) -> Bool)?
  /// Receives the events of a call, one at a time and before its result, on a queue of its own.
  public var onEvent: (@Sendable (NetworkEvent) -> Void)?

  /// Makes a policy. Each field that is not given has the value of ``default``.
  public init(
    maxRetries: Int = 10, backoff: Backoff = .exponential(base: .milliseconds(500), cap: .seconds(20)),
    maxRetryAfter: Duration? = .seconds(60), maxRetryTime: Duration? = .seconds(120),
    maxUnreachableTime: Duration? = .seconds(10), deadline: Duration? = nil, budget: RetryBudget? = .shared,
    retriesNonIdempotent: Bool = false, shouldRetry: (@Sendable (NetworkError) -> Bool)? = nil,
    onEvent: (@Sendable (NetworkEvent) -> Void)? = nil
  ) {
    self.maxRetries = maxRetries
    self.backoff = backoff
    self.maxRetryAfter = maxRetryAfter
    self.maxRetryTime = maxRetryTime
    self.maxUnreachableTime = maxUnreachableTime
    self.deadline = deadline
    self.budget = budget
    self.retriesNonIdempotent = retriesNonIdempotent
    self.shouldRetry = shouldRetry
    self.onEvent = onEvent
  }

  /// Ten retries with full jitter, for at most two minutes, or ten seconds if no server can be reached.
  public static let `default` = RetryPolicy()
  /// One attempt.
  public static let never = RetryPolicy(maxRetries: 0)
  /// Ten retries without a wait. A server that asks for a wait ends the call.
  public static let immediate = RetryPolicy(backoff: .immediate, maxRetryAfter: .zero, budget: nil)
  /// For work that nobody waits for: retries for two minutes even if no server can be reached.
  public static let patient = RetryPolicy(maxRetries: 50, maxUnreachableTime: nil)
}
