import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Which failures are tried again, how often, how soon and for how long. A value: copy it, change a field, pass it on.
///
/// ```swift
/// var policy = RetryPolicy(maxRetries: 3, deadline: .seconds(10))
/// policy.onEvent = { print($0) }
/// let data = try await URLSession.shared.performNetworkRequest(request, policy: policy)
/// ```
///
/// A retry happens only if another try may help (``NetworkError/shouldRetry``, or ``shouldRetry`` here), **and** it can do
/// no harm (``RepeatSafety``), **and** the body can be sent again (an `httpBodyStream` cannot), **and** the limits allow it.
nonisolated public struct RetryPolicy: Sendable {
  /// Retries after the first attempt: `n` sends at most n + 1 times. 0 or less sends once. The argument of a call wins.
  public var maxRetries: Int
  /// How long to wait where the server did not say.
  public var backoff: Backoff
  /// The longest wait that a server may ask for (Retry-After, RateLimit-Reset). It is never shortened: beyond this the
  /// call stops at once and reports how long the server asked for. `nil` is no cap; zero accepts only 0.
  public var maxRetryAfter: Duration?
  /// No retry starts later than this after the call began, so that time-outs do not add up; a transfer that is under
  /// way goes on. `nil` is no limit.
  public var maxRetryTime: Duration?
  /// How long a failure that never reached a server (offline, host not found, refused) is tried again, counted from the
  /// first of an unbroken row of them: somebody looks at a spinner, in airplane mode or with a mistyped host.
  /// `nil` is as long as ``maxRetryTime``.
  public var maxUnreachableTime: Duration?
  /// The hard limit for the whole call, attempts and waits together; it also ends the attempt in flight. `nil` is none.
  public var deadline: Duration?
  /// The largest answer that is kept in memory, in bytes: 256 MB unless you say otherwise, and `nil` is no limit. Beyond it
  /// the call ends with ``NetworkError/responseTooLarge(limit:)``, within a quarter of a second of the moment when the size
  /// can be known: on Linux that is the head, and for an answer without Content-Length only its end, so what may be larger
  /// than the memory belongs into a download or a stream, which have no limit.
  public var maxResponseSize: Int?
  /// What the calls to one host share while it fails; nil: every call for itself.
  public var budget: RetryBudget?
  /// Repeats POST, PATCH and the like even where the first attempt may have been applied: an order may be placed twice.
  public var retriesNonIdempotent: Bool
  /// Answers instead of ``NetworkError/shouldRetry`` whether another try may help. It is not asked after a cancellation;
  /// it cannot make an unsafe repetition safe, and a 500 is tried again at most twice whatever it says. It must return
  /// quickly: other calls wait for the queue it is asked on.
  public var shouldRetry: (@Sendable (NetworkError) -> Bool)?
  /// Is told everything that happens, at once and on whatever thread it happens: the caller's own when a call is started
  /// or cancelled, else an internal one that other calls wait for. It must return quickly.
  public var onEvent: (@Sendable (NetworkEvent) -> Void)?

  /// Makes a policy; every field has the default of ``default``.
  public init(
    maxRetries: Int = 10, backoff: Backoff = .exponential(base: .milliseconds(500), cap: .seconds(20)),
    maxRetryAfter: Duration? = .seconds(60), maxRetryTime: Duration? = .seconds(120),
    maxUnreachableTime: Duration? = .seconds(10), deadline: Duration? = nil,
    maxResponseSize: Int? = 268_435_456, budget: RetryBudget? = .shared, retriesNonIdempotent: Bool = false,
    shouldRetry: (@Sendable (NetworkError) -> Bool)? = nil, onEvent: (@Sendable (NetworkEvent) -> Void)? = nil
  ) {
    self.maxRetries = maxRetries
    self.backoff = backoff
    self.maxRetryAfter = maxRetryAfter
    self.maxRetryTime = maxRetryTime
    self.maxUnreachableTime = maxUnreachableTime
    self.deadline = deadline
    self.maxResponseSize = maxResponseSize
    self.budget = budget
    self.retriesNonIdempotent = retriesNonIdempotent
    self.shouldRetry = shouldRetry
    self.onEvent = onEvent
  }

  /// Ten retries with full jitter, at most two minutes, ten seconds where no server can be reached.
  public static let `default` = RetryPolicy()
  /// One attempt.
  public static let never = RetryPolicy(maxRetries: 0)
  /// Ten retries without any waiting, nor for other calls; a server that asks for a wait ends the call.
  public static let immediate = RetryPolicy(backoff: .none, maxRetryAfter: .zero, budget: nil)
  /// For work nobody watches: keeps trying for two minutes even while no server can be reached.
  public static let patient = RetryPolicy(maxRetries: 50, maxUnreachableTime: nil)
}

/// Is it safe to send a request again, and why? (RFC 9110 §9.2.2)
nonisolated public enum RepeatSafety: Sendable, Equatable, CustomStringConvertible {
  /// The method is idempotent: GET, HEAD, OPTIONS, TRACE, PUT, DELETE or QUERY.
  case idempotentMethod
  /// The request carries an Idempotency-Key, the same on every attempt, by which the server knows it again.
  case idempotencyKey
  /// The failure proves that no server got the request.
  case nothingSent
  /// The server says that it refused before processing (421, 425, 429).
  case refusedBeforeProcessing
  /// ``RetryPolicy/retriesNonIdempotent`` allows it.
  case allowedByPolicy
  /// The server may have applied the request: a repetition could place an order twice.
  case mayHaveBeenApplied

  /// False only for ``mayHaveBeenApplied``.
  public var isSafe: Bool { self != .mayHaveBeenApplied }

  /// The reason in words.
  public var description: String {
    switch self {
    case .idempotentMethod: "the method is idempotent"
    case .idempotencyKey: "the request carries an Idempotency-Key"
    case .nothingSent: "nothing was sent"
    case .refusedBeforeProcessing: "the server refused before processing it"
    case .allowedByPolicy: "the policy allows it"
    case .mayHaveBeenApplied: "the server may have applied it (an Idempotency-Key would allow another try)"
    }
  }
}

// MARK: - The decision, pure

/// What the decision has to know of the request; read only once something has failed.
nonisolated struct RetryRequestFacts: Sendable {
  var method: String
  var hasIdempotencyKey = false
  var hasBodyStream = false
}
nonisolated extension RetryRequestFacts {
  init(_ request: URLRequest) {
    method = request.httpMethod ?? "GET"
    hasIdempotencyKey = ["Idempotency-Key", "X-Idempotency-Key"].contains {
      // A blank value is not sent, so it protects nothing.
      request.value(forHTTPHeaderField: $0)?.contains { !$0.isWhitespace } == true
    }
    hasBodyStream = request.httpBodyStream != nil
  }
}

/// What the decision has to know of the call so far.
nonisolated struct RetryCallState: Sendable {
  /// Attempts made, the failed one included.
  var attempts = 0
  /// Those before the last one that brought something, and when that ended: retries, backoff and time are counted from
  /// there, so that a download over a line that drops ends when it is stuck, and not before.
  var attemptsBeforeProgress = 0
  var progressedAt = Duration.zero
  var attemptsInVain: Int { attempts - attemptsBeforeProgress }
  /// Time since the call began, and since the first of the unbroken row of attempts that reached no server.
  var elapsed = Duration.zero
  var unreachableFor = Duration.zero
  /// Answers with status 500 so far.
  var internalErrors = 0
  /// The failed attempt followed a redirect: what its error says is true of the last host only.
  var hasFollowedRedirect = false
  /// Something may have been on its way before: an error that looks like «nothing was sent» proves nothing.
  var mayHaveSent = false
}

nonisolated extension RetryFailure.StopReason {
  /// These end a call whose one attempt was not retried, and the bare error would hide them.
  var endsEvenAFirstAttempt: Bool {
    switch self {
    case .deadline, .budget, .retryAfterTooLong: true
    default: false
    }
  }
}

nonisolated enum RetryDecision: Sendable, Equatable {
  case retry(after: Duration, NetworkEvent.DelaySource)
  case stop(RetryFailure.StopReason)
}

nonisolated extension RetryPolicy {
  /// The first rule that applies wins; each line is one reason.
  func decision(
    _ error: NetworkError, _ request: RetryRequestFacts, _ call: RetryCallState, now: Date,
    random: @autoclosure () -> Double
  ) -> RetryDecision {
    // The session of a foreign cancellation may be invalidated, and a task asked of it kills the process.
    if error.isCancellation { return .stop(.notRetryable) }
    guard shouldRetry?(error) ?? error.shouldRetry else { return .stop(.notRetryable) }
    guard safety(error, request, call).isSafe else { return .stop(.notSafeToRepeat(method: request.method)) }
    if request.hasBodyStream { return .stop(.bodyNotReplayable) }
    if call.attemptsInVain > max(0, maxRetries) { return .stop(.maxRetries) }
    if error.statusCode == 500, call.internalErrors > 2 { return .stop(.persistentServerError) }

    var delay: Duration
    let source: NetworkEvent.DelaySource
    let random = random()
    if let response = error.response, error.statusCode ?? 0 >= 400,
      let (asked, field) = RetryAfter.wait(asked: response, now: now)
    {
      if let maxRetryAfter, asked > max(.zero, maxRetryAfter) { return .stop(.retryAfterTooLong(asked)) }
      if let deadline, asked >= deadline - call.elapsed { return .stop(.retryAfterTooLong(asked)) }
      // Jitter is only ever added to the server's word: clients told the same second do not come back as one.
      // It takes no time that the call does not have.
      let left = [deadline, maxRetryTime.map { $0 + call.progressedAt }].compactMap { $0 }.min().map {
        ($0 - call.elapsed - asked).secondsAsDouble / 2
      }
      delay = asked + .bounded(seconds: min(asked.secondsAsDouble / 10, 1, left ?? 1) * random)
      source = .server(field: field)
    } else {
      delay = backoff.delay(retry: call.attemptsInVain - 1, random: random)
      source = .backoff
    }
    if error.isUnreachable, let limit = maxUnreachableTime {
      if call.unreachableFor >= limit { return .stop(.maxUnreachableTime) }
      // The last try comes at the limit itself, so every outage shorter than that is survived.
      delay = min(delay, limit - call.unreachableFor)
    }
    if let maxRetryTime, call.elapsed - call.progressedAt + delay > maxRetryTime { return .stop(.maxRetryTime) }
    if let deadline, call.elapsed + delay >= deadline { return .stop(.deadline) }
    return .retry(after: delay, source)
  }

  /// Is it safe to repeat the request after this failure? Decided from the request, never from the answer's request: after
  /// a redirect that may be a GET, though the POST before it was applied.
  func safety(_ error: NetworkError, _ request: RetryRequestFacts, _ call: RetryCallState) -> RepeatSafety {
    if ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"].contains(request.method) {
      return .idempotentMethod
    }
    if request.hasIdempotencyKey { return .idempotencyKey }
    if !call.hasFollowedRedirect {
      if error.provesNothingSent, !call.mayHaveSent { return .nothingSent }
      if let status = error.statusCode, [421, 425, 429].contains(status) { return .refusedBeforeProcessing }
    }
    return retriesNonIdempotent ? .allowedByPolicy : .mayHaveBeenApplied
  }
}
