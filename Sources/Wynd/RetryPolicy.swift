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
    (self.maxRetries, self.backoff) = (maxRetries, backoff)
    (self.maxRetryAfter, self.maxRetryTime) = (maxRetryAfter, maxRetryTime)
    (self.maxUnreachableTime, self.deadline) = (maxUnreachableTime, deadline)
    (self.budget, self.retriesNonIdempotent) = (budget, retriesNonIdempotent)
    (self.shouldRetry, self.onEvent) = (shouldRetry, onEvent)
  }

  /// Ten retries with full jitter, for at most two minutes, or ten seconds if no server can be reached.
  public static let `default` = RetryPolicy()
  /// One attempt.
  public static let never = RetryPolicy(maxRetries: 0)
  /// Ten retries without a wait. A server that asks for a wait ends the call.
  public static let immediate = RetryPolicy(backoff: .none, maxRetryAfter: .zero, budget: nil)
  /// For work that nobody waits for: retries for two minutes even if no server can be reached.
  public static let patient = RetryPolicy(maxRetries: 50, maxUnreachableTime: nil)

  // MARK: - The decision: pure functions

  /// The first rule that applies decides. `verdict` is the result of ``shouldRetry``.
  func decision(
    _ error: NetworkError, _ request: URLRequest, _ call: RetryCallState, verdict: Bool?, now: Date, random: Double
  ) -> RetryDecision {
    // The session may have been invalidated, and creating a task on it would crash.
    if error.isCancellation { return .stop(.notRetryable) }
    // A server that supports the key reports that an earlier attempt is still in progress.
    let isInProgress = error.statusCode == 409 && hasIdempotencyKey(request) && call.mayHaveReachedServer
    let mayHelp = verdict ?? (error.shouldRetry || isInProgress)
    guard mayHelp || error.shouldRetry else { return .stop(.notRetryable) }
    // Reported even if the caller decides against a retry, because people must not be told to try again.
    if !safety(error, request, call).isSafe { return .stop(.notSafeToRepeat(method: request.httpMethod ?? "GET")) }
    if !mayHelp { return .stop(.notRetryable) }
    if request.httpBodyStream != nil { return .stop(.bodyNotReplayable) }
    if call.attemptsWithoutProgress > max(0, maxRetries) { return .stop(.maxRetries) }
    if call.history.count(where: { $0.error?.isPersistent == true }) > 2 { return .stop(.persistentFailure) }

    var delay = backoff.delay(retry: call.backoffStep, random: random)
    let isTooLong = delay > waitLeft(call)
    let server = error.response.flatMap { $0.statusCode >= 400 ? RetryAfter.wait(asked: $0, now: now) : nil }
    if let asked = server?.wait, asked > .zero {
      if let maxRetryAfter, asked > max(.zero, maxRetryAfter) { return .stop(.retryAfterTooLong(asked)) }
      if let deadline, asked >= deadline - call.elapsed { return .stop(.retryAfterTooLong(asked)) }
      // The wait is at least as long as the server asks for. The backoff is added, so that clients with the same wait
      // do not return together, but no more of it than the call has time for.
      delay = asked + max(.zero, min(delay, (timeLeft(call) - asked) / 2))
    }
    if isTooLong { return .stop(.maxRetries) }
    if error.isUnreachable, let limit = maxUnreachableTime {
      let left = limit - (call.elapsed - (call.unreachableSince ?? call.elapsed))
      if left <= .zero { return .stop(.maxUnreachableTime) }
      // The last retry is made at the limit, so a call survives every shorter outage.
      delay = min(delay, left)
    }
    if let maxRetryTime, call.elapsed - call.progressedAt + delay > maxRetryTime {
      // An app that was suspended during its only attempt finds `maxRetryTime` passed and the connection lost.
      let mayBeSuspended = call.attemptsWithoutProgress == 1 && error.urlError?.code == .networkConnectionLost
      let hasPassed = call.elapsed - call.progressedAt > maxRetryTime && maxRetryTime > .zero
      if !mayBeSuspended || !hasPassed { return .stop(.maxRetryTime) }
    }
    if let deadline, call.elapsed + delay >= deadline { return .stop(.deadline) }
    guard let server, server.wait > .zero else { return .retry(after: delay, .backoff) }
    return .retry(after: delay, .server(field: server.field), asked: server.wait)
  }

  /// The next wait of a call whose retry the budget skips; nil if the retry is to be sent.
  ///
  /// The call continues for as long as its own retries could have taken with the longest jitter. The last wait ends at
  /// a random moment before that, and is followed by a retry that is not skipped.
  func delayOfSkippedRetry(_ call: inout RetryCallState, random: Double) -> Duration? {
    let left = min(waitLeft(call), timeLeft(call))
    // Without waits, retries cannot be spread.
    if call.mustNotSkip || left <= .zero { return nil }
    call.skippedRetries += 1
    let delay = backoff.delay(retry: call.backoffStep, random: random)
    if delay < left { return delay }
    call.mustNotSkip = true
    return left * min(max(random, 0), 1)
  }

  /// What is left of the time that the waits of the call's own retries can take, with the longest jitter.
  private func waitLeft(_ call: RetryCallState) -> Duration {
    backoff.longest(retries: maxRetries) + call.askedFor - call.waited
  }

  /// The time until the first limit.
  private func timeLeft(_ call: RetryCallState) -> Duration {
    min(deadline ?? .unlimited, (maxRetryTime ?? .unlimited) + call.progressedAt) - call.elapsed
  }

  /// Whether it is safe to repeat the request after this failure. The method is that of the caller's request: after a
  /// redirect, the last request may be a GET, although a POST before it was applied.
  func safety(_ error: NetworkError, _ request: URLRequest, _ call: RetryCallState) -> RepeatSafety {
    if ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"].contains(request.httpMethod ?? "GET") {
      return .idempotentMethod
    }
    if hasIdempotencyKey(request) { return .idempotencyKey }
    return call.proof(in: error) ?? (retriesNonIdempotent ? .allowedByPolicy : .mayHaveBeenApplied)
  }

  /// A blank value is not sent, so it protects nothing.
  private func hasIdempotencyKey(_ request: URLRequest) -> Bool {
    let keys = ["Idempotency-Key", "X-Idempotency-Key"].compactMap(request.value(forHTTPHeaderField:))
    return keys.contains { !$0.allSatisfy(\.isWhitespace) }
  }
}

/// Whether it is safe to send a request again, and why (RFC 9110 §9.2.2).
nonisolated public enum RepeatSafety: String, Sendable, CustomStringConvertible {
  /// The method is idempotent: GET, HEAD, OPTIONS, TRACE, PUT, DELETE or QUERY.
  case idempotentMethod = "the method is idempotent"
  /// The request has an Idempotency-Key, the same in every attempt, so the server recognizes a repetition.
  case idempotencyKey = "the request has an Idempotency-Key"
  /// The failure proves that no server received the request.
  case nothingSent = "nothing was sent"
  /// The server refused the request before processing it (413, 421, 425, 429).
  case refusedBeforeProcessing = "the server refused it before processing"
  /// ``RetryPolicy/retriesNonIdempotent`` allows it.
  case allowedByPolicy = "the policy allows it"
  /// The server may have applied the request: a repetition could place an order twice.
  case mayHaveBeenApplied = "the server may have applied it"

  /// False only for ``mayHaveBeenApplied``.
  public var isSafe: Bool { self != .mayHaveBeenApplied }

  /// The reason in words.
  public var description: String { rawValue }
}

/// The state of a call.
nonisolated struct RetryCallState: Sendable {
  /// The number of attempts so far, with the current one, and when that one began.
  var attempts = 0
  var attemptBegan = Duration.zero
  /// The attempts that failed.
  var history: [RetryFailure.Attempt] = []
  /// The number of attempts before the last one that made progress, and when that one ended. Retries, backoff and time
  /// are counted from there, so a download fails when it stalls, not because it is long.
  var attemptsBeforeProgress = 0
  var progressedAt = Duration.zero
  var attemptsWithoutProgress: Int { attempts - attemptsBeforeProgress }
  var backoffStep: Int { attemptsWithoutProgress - 1 + skippedRetries }
  /// The time since the call began, and when the first of the latest consecutive attempts did that reached no server.
  var elapsed = Duration.zero
  var unreachableSince: Duration?
  /// The failed attempt followed a redirect, so its error concerns the last server only.
  var hasFollowedRedirect = false
  /// The request may have been sent, even if the error usually proves that it was not.
  var mayHaveSent = false
  /// A server may have received the request in an attempt before the failed one.
  var mayHaveReachedServer = false
  /// Since the last progress: the sum of all waits, of those that a server asked for, and the number of skipped
  /// retries.
  var waited = Duration.zero
  var askedFor = Duration.zero
  var skippedRetries = 0
  var mustNotSkip = false

  /// Why the failure proves that the request was not applied; nil if it does not.
  func proof(in error: NetworkError) -> RepeatSafety? {
    if hasFollowedRedirect { return nil }
    // It may be that of another request.
    if case .middlewareError(is URLError) = error { return nil }
    if error.failedBeforeSending, !mayHaveSent { return .nothingSent }
    return [413, 421, 425, 429].contains(error.statusCode) ? .refusedBeforeProcessing : nil
  }

  /// After progress, retries, backoff and time are counted anew.
  mutating func startOver() {
    (attemptsBeforeProgress, progressedAt) = (attempts - 1, elapsed)
    (waited, askedFor, skippedRetries, mustNotSkip) = (.zero, .zero, 0, false)
  }
}

nonisolated enum RetryDecision: Sendable, Equatable {
  /// `asked`: the part of the wait that the server asked for.
  case retry(after: Duration, NetworkEvent.DelaySource, asked: Duration = .zero)
  case stop(RetryFailure.StopReason)
}
