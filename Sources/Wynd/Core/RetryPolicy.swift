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
/// A call can have a policy, and so can its endpoint and its client. What the policy of the call does not set is that of
/// the endpoint's policy, then that of the client's, and finally the default. To set a field is to pass it to the
/// initializer or to assign it, also if the value is the default. ``onEvent`` of each of them receives the events.
nonisolated public struct RetryPolicy: Sendable {
  /// The fields that are set. An optional in an optional is nil if the field is not set, and holds nil for no limit.
  private struct Fields: Sendable {
    var maxRetries: Int?
    var backoff: Backoff?
    var maxRetryAfter: Duration??
    var maxRetryTime: Duration??
    var maxUnreachableTime: Duration??
    var deadline: Duration??
    var budget: RetryBudget??
    var retriesNonIdempotent: Bool?
    var shouldRetry: (@Sendable (NetworkError) -> Bool)??
  }
  private var fields = Fields()
  private var listeners: [NetworkEventListener] = []

  /// Makes a policy that sets the fields that are passed. A `nil` for one of the limits is passed too: no limit.
  public init(
    maxRetries: Int? = nil,
    backoff: Backoff = .inherited,
    maxRetryAfter: Duration? = .inherited,
    maxRetryTime: Duration? = .inherited,
    maxUnreachableTime: Duration? = .inherited,
    deadline: Duration? = .inherited,
    budget: RetryBudget? = .inherited,
    retriesNonIdempotent: Bool? = nil,
    shouldRetry: (@Sendable (NetworkError) -> Bool)? = nil,
    onEvent: (@Sendable (NetworkEvent) -> Void)? = nil
  ) {
    fields.maxRetries = maxRetries
    if backoff != .inherited { fields.backoff = backoff }
    if maxRetryAfter != .inherited { fields.maxRetryAfter = maxRetryAfter }
    if maxRetryTime != .inherited { fields.maxRetryTime = maxRetryTime }
    if maxUnreachableTime != .inherited { fields.maxUnreachableTime = maxUnreachableTime }
    if deadline != .inherited { fields.deadline = deadline }
    if budget !== RetryBudget.inherited { fields.budget = budget }
    fields.retriesNonIdempotent = retriesNonIdempotent
    if let shouldRetry { fields.shouldRetry = shouldRetry }
    self.onEvent = onEvent
  }

  /// Sets nothing. Without another policy, a call makes ten retries with full jitter, for at most two minutes, or ten
  /// seconds if no server can be reached.
  public static let `default` = RetryPolicy()
  /// One attempt.
  public static let never = RetryPolicy(maxRetries: 0)
  /// At most ten retries, without a wait. A failure whose response asks for a wait ends the call.
  public static let immediate = RetryPolicy(maxRetries: 10, backoff: .immediate, maxRetryAfter: .zero, budget: nil)
  /// For work that nobody waits for: retries for two minutes even if no server can be reached.
  public static let patient = RetryPolicy(maxRetries: 50, maxRetryTime: .seconds(120), maxUnreachableTime: nil)
}

nonisolated extension RetryPolicy {
  /// The number of retries after the first attempt: with `n`, a call makes at most n + 1 attempts. 0 or less makes one.
  /// A retry that the ``budget`` skips counts.
  /// An attempt of a download that adds 16 KB or more to the file resets the count. The default is 10.
  public var maxRetries: Int {
    get { fields.maxRetries ?? 10 }
    set { fields.maxRetries = newValue }
  }

  /// How long to wait before a retry. It is added to a wait that the server asks for. The default is full jitter up to
  /// 0.5, 1, 2, 4, 8, 16, 20, 20 … s.
  public var backoff: Backoff {
    get { fields.backoff ?? .exponential(base: .milliseconds(500), cap: .seconds(20)) }
    set { fields.backoff = newValue }
  }

  /// The longest wait that a server may ask for (Retry-After, RateLimit-Reset, X-RateLimit-Reset). A longer one is not shortened: the call
  /// ends at once, and reports it. `nil` is no limit; zero accepts only 0. The default is 60 s.
  public var maxRetryAfter: Duration? {
    get { fields.maxRetryAfter ?? .seconds(60) }
    set { fields.maxRetryAfter = newValue }
  }

  /// No retry starts later than this after the start of the call, so that time-outs do not add up. For a download, it
  /// is measured from the end of the last attempt that added 16 KB or more to the file. `nil` is no limit. The default is
  /// 120 s. There is one exception: if the first attempt ends later with a lost connection, as after a suspension of the
  /// app, one retry is made.
  public var maxRetryTime: Duration? {
    get { fields.maxRetryTime ?? .seconds(120) }
    set { fields.maxRetryTime = newValue }
  }

  /// No retry starts later than this while no server is reached (offline, host not found, refused). It is measured from
  /// the start of the first of the consecutive attempts that failed so, or from its end if it lost the network after it
  /// had reached the server. The default is 10 s, because a person may be waiting, in airplane mode or after mistyping
  /// the host. With `nil`, only the other limits apply.
  public var maxUnreachableTime: Duration? {
    get { fields.maxUnreachableTime ?? .seconds(10) }
    set { fields.maxUnreachableTime = newValue }
  }

  /// The limit for the whole call, attempts and waits together. It also ends an attempt in flight, with
  /// `URLError.timedOut`. `nil`, the default, is no limit.
  public var deadline: Duration? {
    get { fields.deadline ?? nil }
    set { fields.deadline = newValue }
  }

  /// Skips retries while an origin fails for several calls. `nil` sends every retry. The default is
  /// ``RetryBudget/shared``.
  public var budget: RetryBudget? {
    get { fields.budget ?? .shared }
    set { fields.budget = newValue }
  }

  /// Whether POST, PATCH and the like are repeated even if the server may have applied them: an order may be placed
  /// twice. The default is false.
  public var retriesNonIdempotent: Bool {
    get { fields.retriesNonIdempotent ?? false }
    set { fields.retriesNonIdempotent = newValue }
  }

  /// Decides in place of ``NetworkError/shouldRetry`` whether a retry may help. It is not called after a cancellation,
  /// and cannot make an unsafe repetition safe. Errors that are unlikely to go away are retried at most twice in any
  /// case. A slow closure delays only its own call. A POST that may have been applied is reported as `notSafeToRepeat`,
  /// whatever it decides.
  ///
  /// To assign `nil` sets it: the call does without that of the client. To pass `nil` to the initializer does not.
  public var shouldRetry: (@Sendable (NetworkError) -> Bool)? {
    get { fields.shouldRetry ?? nil }
    set { fields.shouldRetry = newValue }
  }

  /// Receives the events of a call, one at a time and before its result, on a queue of its own. It does not replace that
  /// of the client or of the endpoint, which receives the events too. So assign your own closure only, and do not call
  /// that of a client's policy from it, which would receive each event twice.
  public var onEvent: (@Sendable (NetworkEvent) -> Void)? {
    get {
      guard let first = listeners.first else { return nil }
      if listeners.count == 1 { return first.onEvent }
      return { [listeners] event in
        for listener in listeners { listener.onEvent(event) }
      }
    }
    set { listeners = newValue.map { [NetworkEventListener(onEvent: $0)] } ?? [] }
  }

  /// This policy, with the fields of another one where it sets none itself.
  ///
  /// A type of your own that conforms to ``NetworkPerformer`` gives its calls a policy with it, as a client does.
  ///
  /// - Parameter other: The policy of the endpoint, the client or the performer.
  /// - Returns: A policy whose ``onEvent`` receives the events for both.
  public func inheriting(from other: RetryPolicy?) -> RetryPolicy {
    guard let other else { return self }
    var policy = self
    policy.fields = Fields(
      maxRetries: fields.maxRetries ?? other.fields.maxRetries,
      backoff: fields.backoff ?? other.fields.backoff,
      maxRetryAfter: fields.maxRetryAfter ?? other.fields.maxRetryAfter,
      maxRetryTime: fields.maxRetryTime ?? other.fields.maxRetryTime,
      maxUnreachableTime: fields.maxUnreachableTime ?? other.fields.maxUnreachableTime,
      deadline: fields.deadline ?? other.fields.deadline,
      budget: fields.budget ?? other.fields.budget,
      retriesNonIdempotent: fields.retriesNonIdempotent ?? other.fields.retriesNonIdempotent,
      shouldRetry: fields.shouldRetry ?? other.fields.shouldRetry)
    // A policy that was copied from the client's has its listener already.
    policy.listeners += other.listeners.filter { listener in !listeners.contains { $0 === listener } }
    return policy
  }
}

nonisolated extension RetryPolicy: CustomStringConvertible {
  /// The fields that are set, such as "RetryPolicy(maxRetries: 3, deadline: 10.0 seconds)".
  public var description: String {
    func text(_ limit: Duration?) -> String { limit.map { "\($0)" } ?? "nil" }
    let fields = [
      fields.maxRetries.map { "maxRetries: \($0)" },
      fields.backoff.map { "backoff: \($0)" },
      fields.maxRetryAfter.map { "maxRetryAfter: \(text($0))" },
      fields.maxRetryTime.map { "maxRetryTime: \(text($0))" },
      fields.maxUnreachableTime.map { "maxUnreachableTime: \(text($0))" },
      fields.deadline.map { "deadline: \(text($0))" },
      fields.budget.map { $0 == nil ? "budget: nil" : "budget" },
      fields.retriesNonIdempotent.map { "retriesNonIdempotent: \($0)" },
      fields.shouldRetry.map { $0 == nil ? "shouldRetry: nil" : "shouldRetry" },
      listeners.isEmpty ? nil : "onEvent",
    ]
    return "RetryPolicy(\(fields.compactMap { $0 }.joined(separator: ", ")))"
  }
}

/// An `onEvent`, which can be recognized in a copy of its policy.
nonisolated private final class NetworkEventListener: Sendable {
  let onEvent: @Sendable (NetworkEvent) -> Void
  init(onEvent: @escaping @Sendable (NetworkEvent) -> Void) { self.onEvent = onEvent }
}

// Default arguments of the initializer: the field is not set. Nil would not do, because it means no limit.

nonisolated extension Duration {
  /// No limit is negative.
  @usableFromInline static let inherited = Duration(secondsComponent: -1, attosecondsComponent: -1)
}

nonisolated extension Backoff {
  @usableFromInline static let inherited = Backoff.constant(.inherited)
}

nonisolated extension RetryBudget {
  @usableFromInline static let inherited = RetryBudget()
}
