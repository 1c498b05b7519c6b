/// One call: sends the request, asks the policy about a failure, waits, and sends again.
nonisolated final class RetryLoop: Sendable {
  typealias CallResult = Result<NetworkResponse, NetworkError>

  private let plan: NetworkCallPlan
  private var request: URLRequest { plan.request }
  private let policy: RetryPolicy
  let transport: any NetworkTransport
  let clock: any RetryClock
  private let began: Duration
  /// Delivers the events of this call serially, so that a slow `onEvent` delays only its own call. Nil without
  /// `onEvent`.
  private let events: DispatchQueue?

  init(_ plan: NetworkCallPlan, on transport: any NetworkTransport, clock: any RetryClock = ContinuousRetryClock()) {
    var policy = plan.policy ?? .default
    policy.maxRetries = plan.maxRetries ?? policy.maxRetries
    self.plan = plan
    self.policy = policy
    self.transport = transport
    self.clock = clock
    began = clock.now
    events = policy.onEvent.map { _ in DispatchQueue(label: "Wynd.onEvent", qos: .userInitiated) }
  }

  // MARK: - The two forms of a call

  /// For an async caller. Canceling its task ends the call.
  func run() async -> CallResult {
    var call = RetryCallState()
    var early = Task.isCancelled ? fail(.cancelled, .cancelled, call) : resultWithoutAttempt(call)
    if early == nil { early = await send(RetryAttempt(request, transport, plan.makeAttempt), &call) }
    let result = if let early { early } else { await retry(call) }
    if let events { await withCheckedContinuation { continuation in events.async { continuation.resume() } } }
    return result
  }

  /// For a completion handler, which is called once, on `queue`. The first attempt is made without a Swift `Task`, so
  /// that its success does not depend on threads that the app may have blocked. Only retries need one.
  func start(on queue: OperationQueue, completion: @escaping @Sendable (CallResult) -> Void) -> NetworkTask {
    let task = NetworkTask()
    // Not a closure, which would be allocated for every call, and not inlined: it would be compiled once for each use.
    @inline(never) @Sendable func finish(_ result: CallResult, _ isOnQueue: Bool) {
      task.setCancellation(nil)
      if let events { return events.async { queue.addOperation { completion(result) } } }
      if isOnQueue { completion(result) } else { queue.addOperation { completion(result) } }
    }
    var call = RetryCallState()
    if let result = resultWithoutAttempt(call) {
      finish(result, false)
      return task
    }
    let attempt = RetryAttempt(request, transport, plan.makeAttempt)
    task.setCancellation { attempt.cancel() }
    begin(&call)
    attempt.start(deadline: policy.deadline, clock: clock) { [self, call] outcome in
      var call = call
      if let result = conclude(outcome, &call) { return finish(result, outcome.isOnDelegateQueue) }
      task.run { [self, call] in finish(await retry(call), false) }
    }
    events?.resume()
    return task
  }

  /// The result of a call that sends nothing; nil if an attempt can be made.
  private func resultWithoutAttempt(_ call: RetryCallState) -> CallResult? {
    let invalid = transport.validationError(for: request).map(NetworkError.invalidRequest)
    if let invalid { return fail(invalid, .notRetryable, call) }
    return policy.deadline ?? .seconds(1) <= .zero ? stop(.deadline, call) : nil
  }

  // MARK: - The loop

  private func retry(_ failed: RetryCallState) async -> CallResult {
    var call = failed
    while let error = call.history.last?.error {
      var verdict: Bool?
      if let shouldRetry = policy.shouldRetry, !error.isCancellation {
        // On a queue of its own, so that a slow closure delays only its own call.
        verdict = await withCheckedContinuation { continuation in
          DispatchQueue(label: "Wynd.shouldRetry").async { continuation.resume(returning: shouldRetry(error)) }
        }
        call.elapsed = clock.now - began
      }
      switch policy.decision(error, request, call, verdict: verdict, now: clock.date, random: clock.random()) {
      case .stop(let reason): return stop(reason, call)
      case .retry(let delay, let source, let asked):
        if Task.isCancelled { return fail(.cancelled, .cancelled, call) }
        guard let transport = transport.forLaterAttempts else {
          return fail(.urlError(URLError(.cancelled)), .notRetryable, call)
        }
        // Prepared before the wait: a session that is finished during the wait still sends it.
        let attempt = RetryAttempt(request, transport, plan.makeAttempt)
        call.askedFor += asked
        await pause(delay, source, &call)
        if let result = await send(attempt, &call) { return result }
      }
    }
    return stop(.notRetryable, call)
  }

  private func send(_ attempt: RetryAttempt, _ call: inout RetryCallState) async -> CallResult? {
    let left = policy.deadline.map { $0 - (clock.now - began) }
    if Task.isCancelled || left ?? .seconds(1) <= .zero {
      attempt.cancel()
      return conclude(Task.isCancelled ? .cancelled : .deadline, &call)
    }
    begin(&call)
    return conclude(await attempt.run(deadline: left, clock: clock, events: events), &call)
  }

  /// Holds events back until the attempt has started, because an app may invalidate its session in `onEvent`.
  // Not inlined: it would be compiled once for each use.
  @inline(never) private func begin(_ call: inout RetryCallState) {
    events?.suspend()
    call.attempts += 1
    call.attemptBegan = clock.now - began
    emit(.attemptStarted, call.attempts)
  }

  /// The result of the call, if it ends with this attempt; nil if the policy has to decide about a failure.
  private func conclude(_ outcome: NetworkOutcome, _ call: inout RetryCallState) -> CallResult? {
    if outcome.interruption == .cancelled { return fail(.cancelled, .cancelled, call) }
    let (start, now) = (call.attemptBegan, clock.now - began)
    var attempt = RetryFailure.Attempt(number: call.attempts, startedAt: start, duration: now - start)
    switch outcome.result(isHead: request.httpMethod == "HEAD", allowEmptyData: plan.allowEmptyData) {
    case .success(let response):
      policy.budget?.responded(request.url, now: clock.now)
      emit(.succeeded(statusCode: response.statusCode), call.attempts)
      return .success(.init(data: outcome.data ?? Data(), response: response, failures: call.history, success: attempt))
    case .failure(let error):
      attempt.error = error
      // The deadline has passed between two attempts.
      if call.history.count == call.attempts { return stop(.deadline, call) }
      if let last = call.history.last?.error, call.proof(in: last) != .nothingSent { call.mayHaveReachedServer = true }
      call.history.append(attempt)
      call.elapsed = now
      call.unreachableSince = error.isUnreachable ? call.unreachableSince ?? start : nil
      (call.hasFollowedRedirect, call.mayHaveSent) = (outcome.hasFollowedRedirect, outcome.mayHaveSent)
      if events != nil { emit(.attemptFailed(error, policy.safety(error, request, call)), call.attempts) }
      if outcome.interruption == .deadline { return stop(.deadline, call) }
      if outcome.hasProgressed { call.startOver() }
      if error.indicatesOverload, !outcome.hasProgressed {
        policy.budget?.failed(request.url, call: plan.id, now: clock.now)
      } else if error.response != nil || outcome.hasProgressed {
        policy.budget?.responded(request.url, now: clock.now)
      }
      let mayBeRetried = policy.shouldRetry != nil || error.shouldRetry || error.statusCode == 409
      return mayBeRetried ? nil : stop(.notRetryable, call)
    }
  }

  /// Waits before the next attempt. While several calls to the origin fail, the retry is skipped and the call waits its
  /// next backoff step. Ends early when the call is canceled.
  private func pause(_ delay: Duration, _ source: NetworkEvent.DelaySource, _ call: inout RetryCallState) async {
    let last = call.history.count - 1
    let indicatesOverload = call.history[last].error?.indicatesOverload == true
    var wait: (Duration, NetworkEvent.DelaySource)? = (delay, source)
    while let (delay, source) = wait {
      emit(.willRetry(after: delay, source), call.attempts)
      call.waited += delay
      call.history[last].delay = (call.history[last].delay ?? .zero) + delay
      do { try await clock.sleep(for: delay) } catch { return }
      guard indicatesOverload, policy.budget?.isFailing(request.url, now: clock.now) == true else { return }
      call.elapsed = clock.now - began
      wait = policy.delayOfSkippedRetry(&call, random: clock.random()).map { ($0, .budget) }
    }
  }

  // MARK: - The end

  private func stop(_ reason: RetryFailure.StopReason, _ call: RetryCallState) -> CallResult {
    let error = call.history.last?.error ?? .urlError(URLError(.timedOut))
    let failure = RetryFailure(lastError: error, attempts: call.history, stopReason: reason)
    // An error that no retry can help is returned directly, and so is one that was not retried because `maxRetries` is
    // 0. Other reasons are reported even after a single attempt, because the error alone does not show them.
    let mayBeDirect = [.maxRetries, .maxRetryTime, .maxUnreachableTime].contains(reason)
    let isDirect = reason == .notRetryable || mayBeDirect && call.history.count < 2
    return fail(isDirect ? error : .inaccessible(failure), reason, call)
  }

  private func fail(_ error: NetworkError, _ reason: RetryFailure.StopReason, _ call: RetryCallState) -> CallResult {
    emit(.gaveUp(reason), call.attempts)
    return .failure(error)
  }

  // Not inlined: it would be compiled once for each use.
  @inline(never) private func emit(_ kind: NetworkEvent.Kind, _ attempt: Int) {
    guard let events, let onEvent = policy.onEvent else { return }
    let event = NetworkEvent(
      callID: plan.id, request: request, attempt: attempt, elapsed: clock.now - began, kind: kind)
    events.async { onEvent(event) }
  }
}
