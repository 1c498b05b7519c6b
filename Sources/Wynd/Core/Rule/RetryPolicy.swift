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
///
/// A call, its endpoint and its client can each have a policy. A field that is nil in the policy of the call is taken
/// from the endpoint's policy, then from the client's, and finally from the default. `.noLimit` removes a limit.
/// ``onEvent`` of each policy receives the events.
nonisolated public struct RetryPolicy: Sendable {
  /// The number of retries after the first attempt: with `n`, a call makes at most n + 1 attempts. 0 or less makes one.
  /// A retry that the ``budget`` skips counts. An attempt of a download that adds 16 KB or more to the file resets the
  /// count. The default is 10: with their waits, nearly every call outlasts an outage of 30 s.
  public var maxRetries: Int?

  /// How long to wait before a retry. It is added to a wait that the server asks for. The default is full jitter up to
  /// 0.5, 1, 2, 4, 8, 16, 20, 20 … s. The first of these waits is at most 50 ms after a failure without a response, such
  /// as a connection that was lost. A backoff that is set applies to every failure.
  public var backoff: Backoff?

  /// The longest wait that a server may ask for (Retry-After, or the reset of a rate limit). A longer one is not
  /// shortened: the call ends at once, and reports it. Zero accepts only 0. A call that may wait longer needs a longer
  /// ``maxRetryTime`` too. The default is 60 s.
  public var maxRetryAfter: Swift.Duration?

  /// No retry starts later than this after the start of the call, so that time-outs do not add up. For a download, it
  /// is measured from the end of the last attempt that added 16 KB or more to the file. The default is 120 s. There is
  /// one exception: if the first attempt ends later with a lost connection, as after a suspension of the app, one retry
  /// is made.
  public var maxRetryTime: Swift.Duration?

  /// No retry starts later than this while no server is reached (offline, host not found, refused). It is measured from
  /// the start of the first attempt of the outage. If that attempt had reached the server before it lost the network,
  /// it is measured from its end. The default is 10 s, because a person may be waiting, in airplane mode or after
  /// mistyping the host. With `.noLimit`, only the other limits apply.
  /// A session with `waitsForConnectivity` (on Apple's platforms) reports no failure while it waits for a network, so
  /// only ``deadline`` and ``attemptTimeout`` end that.
  public var maxUnreachableTime: Swift.Duration?

  /// The limit for one attempt, from its start until its response is complete: until then, a server that sends a byte
  /// now and then keeps it in flight. The attempt fails with `URLError.timedOut` then, and is retried like any other that
  /// timed out: a POST may have been applied, so it is not. For a download or a stream, the limit is that of the head of
  /// the response, and its body may take longer. For an upload, it includes the time of sending. Each request that a
  /// middleware sends has this time; waiting for the renewal of a credential does not count, but waiting for a free
  /// connection does, and for the session's delegate to answer a challenge. The default is none.
  public var attemptTimeout: Swift.Duration?

  /// The limit for the whole call, attempts and waits together. It also ends an attempt in flight, with
  /// `URLError.timedOut`; the `timeoutInterval` of its request is not shortened. The default is `.noLimit`.
  public var deadline: Swift.Duration?

  /// Skips retries while an origin fails for several calls. The default is ``RetryBudget/shared``;
  /// ``RetryBudget/unlimited`` sends every retry.
  public var budget: RetryBudget?

  /// Whether POST, PATCH and the like are repeated even if the server may have applied them: an order may be placed
  /// twice. The default is false.
  public var retriesNonIdempotent: Bool?

  /// Decides in place of ``NetworkError/shouldRetry`` whether a retry may help. To add to that, ask it too:
  /// `{ $0.statusCode == 409 || $0.shouldRetry }`. It is not called after a cancellation or for an invalid request, and
  /// cannot make an unsafe repetition safe. Errors that are unlikely to go away are retried at most twice in any case. A
  /// slow closure delays only its own call. A POST that may have been applied is reported as `notSafeToRepeat`, whatever
  /// the closure decides about a failure that is usually retried. For the ``budget``, a response that only the closure
  /// retries is a sign that the server is up.
  public var shouldRetry: (@Sendable (NetworkError) -> Bool)?

  /// Receives the events of a call, one at a time and before its result, on a queue of its own. The closures of the
  /// endpoint and the client receive them too. So do not copy one from the policy of the client: it would receive each
  /// event twice. Values of the calling task (`@TaskLocal`) are not seen there, nor in ``shouldRetry``: capture them.
  public var onEvent: (@Sendable (NetworkEvent) -> Void)?

  /// Makes a policy that sets the fields that are passed.
  public init(
    maxRetries: Int? = nil, backoff: Backoff? = nil, maxRetryAfter: Swift.Duration? = nil,
    maxRetryTime: Swift.Duration? = nil, maxUnreachableTime: Swift.Duration? = nil,
    attemptTimeout: Swift.Duration? = nil, deadline: Swift.Duration? = nil,
    budget: RetryBudget? = nil, retriesNonIdempotent: Bool? = nil,
    shouldRetry: (@Sendable (NetworkError) -> Bool)? = nil,
    onEvent: (@Sendable (NetworkEvent) -> Void)? = nil
  ) {
    self.maxRetries = maxRetries
    self.backoff = backoff
    self.maxRetryAfter = maxRetryAfter
    self.maxRetryTime = maxRetryTime
    self.maxUnreachableTime = maxUnreachableTime
    self.attemptTimeout = attemptTimeout
    self.deadline = deadline
    self.budget = budget
    self.retriesNonIdempotent = retriesNonIdempotent
    self.shouldRetry = shouldRetry
    self.onEvent = onEvent
  }

  /// Sets nothing. Without another policy, a call makes ten retries with full jitter, for at most two minutes, or ten
  /// seconds if no server can be reached.
  public static let `default` = RetryPolicy()
  /// One attempt.
  public static let never = RetryPolicy(maxRetries: 0)
  /// At most ten retries, without a wait. A failure whose response asks for a wait ends the call.
  public static let immediate = RetryPolicy(
    maxRetries: 10, backoff: .immediate, maxRetryAfter: .zero, budget: .unlimited)
  /// For a person who waits: the whole call ends after 15 s, attempts and waits together.
  public static let interactive = RetryPolicy(deadline: .seconds(15))
  /// For work that nobody waits for: retries for two minutes even if no server can be reached.
  public static let patient = RetryPolicy(maxRetries: 50, maxRetryTime: .seconds(120), maxUnreachableTime: .noLimit)
}

nonisolated extension Swift.Duration {
  /// As a limit of a ``RetryPolicy``: none. It is some 285 years, so that sums of it do not overflow.
  public static let noLimit = Swift.Duration.seconds(Int64(9_000_000_000))
}

nonisolated extension RetryPolicy {
  /// This policy with another number of retries, unless it is nil.
  func replacing(maxRetries: Int?) -> RetryPolicy {
    var policy = self
    policy.maxRetries = maxRetries ?? policy.maxRetries
    return policy
  }

  /// This policy, with the fields of another one where it sets none itself.
  ///
  /// A type of your own that conforms to ``NetworkPerformer`` gives its calls a policy with it, as a client does.
  ///
  /// - Parameter other: The policy of the endpoint, the client or the performer.
  /// - Returns: A policy whose ``onEvent`` calls both closures.
  public func inheriting(from other: RetryPolicy) -> RetryPolicy {
    RetryPolicy(
      maxRetries: maxRetries ?? other.maxRetries,
      backoff: backoff ?? other.backoff,
      maxRetryAfter: maxRetryAfter ?? other.maxRetryAfter,
      maxRetryTime: maxRetryTime ?? other.maxRetryTime,
      maxUnreachableTime: maxUnreachableTime ?? other.maxUnreachableTime,
      attemptTimeout: attemptTimeout ?? other.attemptTimeout,
      deadline: deadline ?? other.deadline,
      budget: budget ?? other.budget,
      retriesNonIdempotent: retriesNonIdempotent ?? other.retriesNonIdempotent,
      shouldRetry: shouldRetry ?? other.shouldRetry,
      onEvent: Self.both(onEvent, other.onEvent))
  }

  private static func both(
    _ first: (@Sendable (NetworkEvent) -> Void)?, _ second: (@Sendable (NetworkEvent) -> Void)?
  ) -> (@Sendable (NetworkEvent) -> Void)? {
    guard let first, let second else { return first ?? second }
    return { event in
      first(event)
      second(event)
    }
  }
}
