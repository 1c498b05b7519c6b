import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Which failures are retried, how often, how soon and for how long. A value: copy it, change a field, pass it on.
///
/// ```swift
/// var policy = RetryPolicy(maxRetries: 3, deadline: .seconds(10))
/// policy.onEvent = { print($0) }
/// let data = try await URLSession.shared.performNetworkRequest(request, policy: policy)
/// ```
///
/// A request is retried only if that may help (``NetworkError/shouldRetry``, or ``shouldRetry`` here), **and** it is safe to
/// repeat (``RepeatSafety``), **and** its body can be sent again (an `httpBodyStream` cannot), **and** the limits allow it.
nonisolated public struct RetryPolicy: Sendable {
  /// Retries after the first attempt: `n` sends at most n + 1 requests. 0 or less sends one. The argument of a call wins.
  public var maxRetries: Int
  /// How long to wait before a retry. Where the server asked for a wait, this is added to it.
  public var backoff: Backoff
  /// The longest wait that a server may ask for (Retry-After, RateLimit-Reset). It is never shortened: beyond this the
  /// call stops at once and reports how long the server asked for. `nil` is no limit; zero accepts only 0.
  public var maxRetryAfter: Duration?
  /// No retry starts later than this after the call began, so that time-outs do not add up. `nil` is no limit. There is one
  /// exception: an app that was suspended finds its connection lost when it returns, and the first retry is made then.
  public var maxRetryTime: Duration?
  /// How long a failure that never reached a server (offline, host not found, refused) is retried, counted from the first
  /// of an unbroken row of them: somebody looks at a spinner, in airplane mode or with a mistyped host.
  /// `nil` is as long as ``maxRetryTime``.
  public var maxUnreachableTime: Duration?
  /// The limit for the whole call, attempts and waits together; it also ends the attempt in flight. `nil` is none.
  public var deadline: Duration?
  /// What calls to one origin share while it fails; `nil` sends every retry.
  public var budget: RetryBudget?
  /// Repeats POST, PATCH and the like even where the first attempt may have been applied: an order may be placed twice.
  public var retriesNonIdempotent: Bool
  /// Decides instead of ``NetworkError/shouldRetry`` whether a retry may help. It is not called after a cancellation, it
  /// cannot make an unsafe repetition safe, and what is unlikely to get better is retried at most twice whatever it returns.
  public var shouldRetry: (@Sendable (NetworkError) -> Bool)?
  /// Gets every event of the call, one after the other and before its result, on a queue of the call's own.
  public var onEvent: (@Sendable (NetworkEvent) -> Void)?

  /// Makes a policy; every field has the value of ``default`` unless you say otherwise.
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

  /// Ten retries with full jitter, at most two minutes, ten seconds where no server can be reached.
  public static let `default` = RetryPolicy()
  /// One attempt.
  public static let never = RetryPolicy(maxRetries: 0)
  /// Ten retries without a wait; a server that asks for one ends the call.
  public static let immediate = RetryPolicy(backoff: .none, maxRetryAfter: .zero, budget: nil)
  /// For work nobody watches: keeps trying for two minutes even while no server can be reached.
  public static let patient = RetryPolicy(maxRetries: 50, maxUnreachableTime: nil)
}

/// Whether it is safe to send a request again, and why (RFC 9110 §9.2.2).
nonisolated public enum RepeatSafety: Sendable, Equatable, CustomStringConvertible {
  /// The method is idempotent: GET, HEAD, OPTIONS, TRACE, PUT, DELETE or QUERY.
  case idempotentMethod
  /// The request has an Idempotency-Key, the same in every attempt, by which the server recognizes a repetition.
  case idempotencyKey
  /// The failure proves that no server received the request.
  case nothingSent
  /// The server refused the request before processing it (413, 421, 425, 429).
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
    case .idempotencyKey: "the request has an Idempotency-Key"
    case .nothingSent: "nothing was sent"
    case .refusedBeforeProcessing: "the server refused it before processing"
    case .allowedByPolicy: "the policy allows it"
    case .mayHaveBeenApplied: "the server may have applied it"
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
  /// The attempts before the last one that made progress, and when that ended. Retries, backoff and time are counted from
  /// there, so a download fails when it stalls, not because it is long.
  var attemptsBeforeProgress = 0
  var progressedAt = Duration.zero
  var attemptsWithoutProgress: Int { attempts - attemptsBeforeProgress }
  /// The time since the call began, and since the first of the unbroken row of attempts that reached no server.
  var elapsed = Duration.zero
  var unreachableFor = Duration.zero
  /// Failures so far that are unlikely to get better.
  var persistentFailures = 0
  /// The failed attempt followed a redirect: its error says something about the last server only.
  var hasFollowedRedirect = false
  /// The request may have been sent before the failure: an error that usually proves the opposite proves nothing.
  var mayHaveSent = false
  /// A server may have received the request in an attempt before the failed one.
  var mayHaveReachedServer = false
  /// All waits since the last progress, those that a server asked for, and the retries that the budget skipped.
  var waited = Duration.zero
  var askedFor = Duration.zero
  var skippedRetries = 0
  var mustNotSkip = false

  mutating func note(
    _ error: NetworkError, _ outcome: NetworkOutcome, elapsed: Duration, unreachableFor: Duration
  ) {
    self.elapsed = elapsed
    self.unreachableFor = unreachableFor
    hasFollowedRedirect = outcome.hasFollowedRedirect
    mayHaveSent = outcome.mayHaveSent
    persistentFailures += error.isPersistent ? 1 : 0
    if outcome.hasProgressed {
      (attemptsBeforeProgress, progressedAt) = (attempts - 1, elapsed)
      (waited, askedFor, skippedRetries, mustNotSkip) = (.zero, .zero, 0, false)
    }
  }
}

nonisolated extension RetryFailure.StopReason {
  /// These end a call after its only attempt, too, and the error alone would not tell.
  var isReportedAlways: Bool {
    switch self {
    case .deadline, .retryAfterTooLong, .notSafeToRepeat, .bodyNotReplayable: true
    default: false
    }
  }
}

nonisolated enum RetryDecision: Sendable, Equatable {
  /// `asked`: the part of the wait that the server asked for.
  case retry(after: Duration, NetworkEvent.DelaySource, asked: Duration = .zero)
  case stop(RetryFailure.StopReason)
}

nonisolated extension RetryPolicy {
  /// The first rule that applies wins; each line is one reason. `verdict`: what ``shouldRetry`` returned.
  func decision(
    _ error: NetworkError, _ request: RetryRequestFacts, _ call: RetryCallState, verdict: Bool? = nil, now: Date,
    random: Double
  ) -> RetryDecision {
    // The session may have been invalidated, and creating a task on it would crash.
    if error.isCancellation { return .stop(.notRetryable) }
    // A server that knows the key says that an earlier attempt is still in progress.
    let isInProgress = error.statusCode == 409 && request.hasIdempotencyKey && call.mayHaveReachedServer
    guard verdict ?? (error.shouldRetry || isInProgress) else { return .stop(.notRetryable) }
    guard safety(error, request, call).isSafe else { return .stop(.notSafeToRepeat(method: request.method)) }
    if request.hasBodyStream { return .stop(.bodyNotReplayable) }
    if call.attemptsWithoutProgress > max(0, maxRetries) { return .stop(.maxRetries) }
    if call.persistentFailures > 2 { return .stop(.persistentFailure) }

    var delay = backoffDelay(call, random)
    let server = error.response.flatMap { $0.statusCode >= 400 ? RetryAfter.wait(asked: $0, now: now) : nil }
    if let asked = server?.wait {
      if let maxRetryAfter, asked > max(.zero, maxRetryAfter) { return .stop(.retryAfterTooLong(asked)) }
      if let deadline, asked >= deadline - call.elapsed { return .stop(.retryAfterTooLong(asked)) }
      // The server's word is a floor: with the backoff on top, clients that were told the same second do not return
      // together. The backoff takes no time that the call does not have.
      delay = asked + max(.zero, min(delay, (timeLeft(call) - asked) / 2, waitLeft(call)))
    } else if delay > waitLeft(call) {
      return .stop(.maxRetries)
    }
    if error.isUnreachable, let limit = maxUnreachableTime {
      if call.unreachableFor >= limit { return .stop(.maxUnreachableTime) }
      // The last retry comes at the limit, so every outage shorter than that is survived.
      delay = min(delay, limit - call.unreachableFor)
    }
    if let maxRetryTime, call.elapsed - call.progressedAt + delay > maxRetryTime {
      // An app that was suspended during its only attempt finds `maxRetryTime` passed and the connection lost.
      let mayBeSuspended = call.attemptsWithoutProgress == 1 && error.urlError?.code == .networkConnectionLost
      let hasPassed = call.elapsed - call.progressedAt > maxRetryTime && maxRetryTime > .zero
      if !mayBeSuspended || !hasPassed { return .stop(.maxRetryTime) }
    }
    if let deadline, call.elapsed + delay >= deadline { return .stop(.deadline) }
    return .retry(
      after: delay, server.map { .server(field: $0.field) } ?? .backoff, asked: server?.wait ?? .zero)
  }

  /// The next wait of a call whose retry the budget skips; nil if the retry is to be sent.
  ///
  /// The call goes on as long as its own retries could have taken with the longest jitter. The last wait ends at a random
  /// moment before that, and is followed by a retry that is not skipped.
  func delayOfSkippedRetry(_ call: inout RetryCallState, random: Double) -> Duration? {
    let left = min(waitLeft(call), timeLeft(call))
    // Without a wait there is nothing to spread.
    if call.mustNotSkip || left <= .zero { return nil }
    call.skippedRetries += 1
    let delay = backoffDelay(call, random)
    if delay < left { return delay }
    call.mustNotSkip = true
    return left * min(max(random, 0), 1)
  }

  private func backoffDelay(_ call: RetryCallState, _ random: Double) -> Duration {
    backoff.delay(retry: call.attemptsWithoutProgress - 1 + call.skippedRetries, random: random)
  }

  /// What is left of the time that the waits of the call's own retries could take with the longest jitter. Without skipped
  /// retries they cannot take more.
  private func waitLeft(_ call: RetryCallState) -> Duration {
    backoff.longest(retries: maxRetries) + call.askedFor - call.waited
  }

  /// Until the first of the limits.
  private func timeLeft(_ call: RetryCallState) -> Duration {
    min(deadline ?? .unlimited, (maxRetryTime ?? .unlimited) + call.progressedAt) - call.elapsed
  }

  /// Whether it is safe to repeat the request after this failure. Decided from the request, never from the request of the
  /// response: after a redirect that may be a GET, though the POST before it was applied.
  func safety(_ error: NetworkError, _ request: RetryRequestFacts, _ call: RetryCallState) -> RepeatSafety {
    if ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"].contains(request.method) {
      return .idempotentMethod
    }
    if request.hasIdempotencyKey { return .idempotencyKey }
    if !call.hasFollowedRedirect {
      if error.failedBeforeSending, !call.mayHaveSent { return .nothingSent }
      if let status = error.statusCode, [413, 421, 425, 429].contains(status) { return .refusedBeforeProcessing }
    }
    return retriesNonIdempotent ? .allowedByPolicy : .mayHaveBeenApplied
  }
}
