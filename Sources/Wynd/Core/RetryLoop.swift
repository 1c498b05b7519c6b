import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One call: sends the request, asks the policy about a failure, waits, and sends again.
nonisolated final class RetryLoop: Sendable {
  typealias CallResult = Result<NetworkResponse<Data>, NetworkError>

  private let plan: NetworkCallPlan
  private var request: URLRequest { plan.request }
  private let policy: RetryPolicy
  private let transport: any NetworkTransport
  private let clock: any RetryClock
  private let began: Duration
  /// Delivers the events of this call serially, so that a slow `onEvent` delays only its own call. Nil without
  /// `onEvent`.
  private let events: DispatchQueue?

  init(_ plan: NetworkCallPlan, on transport: any NetworkTransport, clock: any RetryClock = ContinuousRetryClock()) {
    self.plan = plan
    var policy = plan.policy ?? .default
    if let maxRetries = plan.maxRetries { policy.maxRetries = maxRetries }
    self.policy = policy
    self.transport = transport
    self.clock = clock
    began = clock.now
    events = policy.onEvent.map { _ in DispatchQueue(label: "Wynd.onEvent", qos: .userInitiated) }
  }

  // MARK: - The two forms of a call

  /// Carries out a call, after the wait that its plan asks for.
  static func run(
    _ plan: NetworkCallPlan, on transport: any NetworkTransport, clock: any RetryClock = ContinuousRetryClock()
  ) async -> CallResult {
    if let delay = plan.delay {
      do { try await clock.sleep(for: delay) } catch { return .failure(.cancelled) }
    }
    return await RetryLoop(plan, on: transport, clock: clock).run()
  }

  /// For an async caller. Canceling its task ends the call.
  func run() async -> CallResult {
    let result = await runUnlessCancelled(RetryCallState())
    await eventsAreDelivered()
    return result
  }

  private func runUnlessCancelled(_ state: RetryCallState) async -> CallResult {
    if Task.isCancelled { return fail(.cancelled, .cancelled, state) }
    if let result = resultWithoutAttempt(state) { return result }
    return await run(state, first: nil)
  }

  /// For a completion handler, which is called once, on `queue`. The first request of a plain call is handed to the
  /// session before this returns, so the app may finish its session then.
  func start(on queue: OperationQueue, completion: @escaping @Sendable (CallResult) -> Void) -> NetworkTask {
    var state = RetryCallState()
    if let result = resultWithoutAttempt(state) {
      deliver(result, on: queue, completion)
      return NetworkTask()
    }
    let reply = NetworkReply()
    let task = NetworkTask(waitingFor: reply)
    begin(reply, &state)
    reply.onEnd { [self, state] outcome in
      if let result = resultAtOnce(outcome, state) {
        task.end()
        return deliver(result, on: queue, completion)
      }
      task.run { [self] in
        let result = await run(state, first: reply)
        task.end()
        deliver(result, on: queue, completion)
      }
    }
    return task
  }

  /// The result of a call that sends nothing; nil if an attempt can be made.
  private func resultWithoutAttempt(_ state: RetryCallState) -> CallResult? {
    if let reason = transport.validationError(for: request) {
      return fail(.invalidRequest(reason: reason), .notRetryable, state)
    }
    return isPastDeadline ? stop(.deadline, state) : nil
  }

  /// The result of a call that ends with its first attempt. It needs no `Task`, so that it does not depend on threads
  /// that the app may have blocked.
  private func resultAtOnce(_ outcome: NetworkOutcome, _ state: RetryCallState) -> CallResult? {
    var state = state
    switch result(of: outcome) {
    case .success(let response):
      return succeed(response, outcome, state)
    case .failure(let error):
      if outcome.end == .finished, mayBeRetried(error) { return nil }
      return end(error, outcome, &state) ?? stop(.notRetryable, state)
    }
  }

  /// Calls the handler on its queue, after the last event.
  private func deliver(
    _ result: CallResult, on queue: OperationQueue, _ completion: @escaping @Sendable (CallResult) -> Void
  ) {
    if let events {
      events.async { queue.addOperation { completion(result) } }
    } else if OperationQueue.current === queue {
      completion(result)
    } else {
      queue.addOperation { completion(result) }
    }
  }

  // MARK: - The loop

  /// `first`: the reply to the first attempt, if that has begun already.
  private func run(_ begun: RetryCallState, first: NetworkReply?) async -> CallResult {
    var state = begun
    var reply = first
    while true {
      let outcome = await attempt(reply.take(), &state)
      switch result(of: outcome) {
      case .success(let response):
        return succeed(response, outcome, state)
      case .failure(let error):
        if let result = end(error, outcome, &state) { return result }
        let decision = await decision(error, &state)
        // Canceled while the app's `shouldRetry` decided.
        if Task.isCancelled { return fail(.cancelled, .cancelled, state) }
        switch decision {
        case .stop(let reason):
          return stop(reason, state)
        case .retry(let delay, let source, let asked):
          state.askedFor += asked
          await pause(delay, source, &state)
          if Task.isCancelled { return fail(.cancelled, .cancelled, state) }
          if isPastDeadline { return stop(.deadline, state) }
        }
      }
    }
  }

  private func attempt(_ begun: NetworkReply?, _ state: inout RetryCallState) async -> NetworkOutcome {
    if let begun { return await begun.outcome() }
    let reply = NetworkReply()
    return await reply.outcome { begin(reply, &state) }
  }

  private func begin(_ reply: NetworkReply, _ state: inout RetryCallState) {
    state.attempts += 1
    state.attemptBegan = clock.now - began
    if let timeLeft { reply.end(atDeadline: timeLeft, clock) }
    let isInsideCall = plan.isInsideCall && state.attempts == 1
    var outgoing = NetworkOutgoing(request: request, isReadOnly: plan.isReadOnly)
    if let around = plan.around {
      if isInsideCall, plan.isTransfer {
        do {
          outgoing.placeholder = try transport.placeholder()
        } catch {
          return reply.end(NetworkOutcome(error: error))
        }
      }
      // Not awaited directly: the call ends in time even if a middleware ignores its cancellation.
      let work = Task { [transport, outgoing] in
        let send = around { await transport.send($0) }
        reply.end(await send(outgoing))
      }
      reply.onCancel { work.cancel() }
    } else {
      outgoing.isInsideCall = isInsideCall
      transport.begin(outgoing, reply)
    }
    // Not before, because the app may invalidate its session in `onEvent`.
    emit(.attemptStarted, state.attempts, at: state.attemptBegan)
  }

  private func result(of outcome: NetworkOutcome) -> Result<HTTPURLResponse, NetworkError> {
    outcome.result(isHead: request.networkMethod == "HEAD", allowEmptyData: plan.allowEmptyData)
  }

  /// Records a failure. Returns the result of the call, if it ends with this attempt whatever the policy decides.
  private func end(_ error: NetworkError, _ outcome: NetworkOutcome, _ state: inout RetryCallState) -> CallResult? {
    if outcome.end == .cancelled { return fail(.cancelled, .cancelled, state) }
    record(error, outcome, &state)
    if outcome.end == .deadline { return stop(.deadline, state) }
    if outcome.hasProgressed { state.startOver() }
    updateBudget(error, outcome)
    return nil
  }

  private func record(_ error: NetworkError, _ outcome: NetworkOutcome, _ state: inout RetryCallState) {
    var attempt = endedAttempt(state)
    attempt.error = error
    attempt.proof = RepeatSafety.proven(by: error, in: outcome) ?? (plan.isReadOnly ? .readOnly : nil)
    state.history.append(attempt)
    state.elapsed = clock.now - began
    state.unreachableSince = error.isUnreachable ? state.unreachableSince ?? state.attemptBegan : nil
    emit(.attemptFailed(error, policy.safety(of: request, provenBy: attempt.proof)), state.attempts)
  }

  private func endedAttempt(_ state: RetryCallState) -> NetworkAttempt {
    let duration = clock.now - began - state.attemptBegan
    return NetworkAttempt(number: state.attempts, startedAt: state.attemptBegan, duration: duration)
  }

  private func updateBudget(_ error: NetworkError, _ outcome: NetworkOutcome) {
    if outcome.hasProgressed {
      policy.budget?.responded(request.url, now: clock.now)
    } else if error.indicatesOverload {
      policy.budget?.failed(request.url, call: plan.id, now: clock.now)
    } else if error.response != nil {
      policy.budget?.responded(request.url, now: clock.now)
    }
  }

  /// Whether the policy has to decide about a failure.
  private func mayBeRetried(_ error: NetworkError) -> Bool {
    policy.shouldRetry != nil || error.shouldRetry || error.statusCode == 409
  }

  private func decision(_ error: NetworkError, _ state: inout RetryCallState) async -> RetryDecision {
    var verdict: Bool?
    if let shouldRetry = policy.shouldRetry, !error.isCancellation {
      // On a queue of its own, so that a slow closure delays only its own call.
      verdict = await withCheckedContinuation { continuation in
        DispatchQueue(label: "Wynd.shouldRetry").async { continuation.resume(returning: shouldRetry(error)) }
      }
      state.elapsed = clock.now - began
    }
    return policy.decision(error, request, state, verdict: verdict, now: clock.date, random: clock.random())
  }

  /// Waits before the next attempt. While several calls to the origin fail, the retry is skipped and the call waits its
  /// next backoff step. Ends early when the call is canceled.
  private func pause(_ delay: Duration, _ source: NetworkEvent.DelaySource, _ state: inout RetryCallState) async {
    var delay = delay
    var source = source
    let last = state.history.count - 1
    let indicatesOverload = state.history[last].error?.indicatesOverload == true
    while !Task.isCancelled {
      emit(.willRetry(after: delay, source), state.attempts)
      state.waited += delay
      state.history[last].delay = (state.history[last].delay ?? .zero) + delay
      do { try await clock.sleep(for: delay) } catch { return }
      guard indicatesOverload, policy.budget?.isFailing(request.url, now: clock.now) == true else { return }
      state.elapsed = clock.now - began
      guard let next = policy.delayOfSkippedRetry(&state, random: clock.random()) else { return }
      delay = next
      source = .budget
    }
  }

  // MARK: - The deadline

  /// What is left of the time until the deadline; nil without one.
  private var timeLeft: Duration? { policy.deadline.map { $0 - (clock.now - began) } }

  private var isPastDeadline: Bool {
    guard let timeLeft else { return false }
    return timeLeft <= .zero
  }

  // MARK: - The end

  private func succeed(_ response: HTTPURLResponse, _ outcome: NetworkOutcome, _ state: RetryCallState) -> CallResult {
    policy.budget?.responded(request.url, now: clock.now)
    emit(.succeeded(statusCode: response.statusCode), state.attempts)
    let data = outcome.data ?? Data()
    return .success(
      NetworkResponse(
        value: data, data: data, response: response, failures: state.history, success: endedAttempt(state)))
  }

  /// Ends the call with its last error, wrapped if the error alone does not show why no further attempt is made.
  private func stop(_ reason: RetryFailure.StopReason, _ state: RetryCallState) -> CallResult {
    let error = state.history.last?.error ?? .urlError(URLError(.timedOut))
    if reason.isReportedDirectly(attempts: state.history.count) { return fail(error, reason, state) }
    let failure = RetryFailure(lastError: error, attempts: state.history, stopReason: reason)
    return fail(.inaccessible(failure), reason, state)
  }

  private func fail(_ error: NetworkError, _ reason: RetryFailure.StopReason, _ state: RetryCallState) -> CallResult {
    emit(.gaveUp(reason), state.attempts)
    return .failure(error)
  }

  // MARK: - Events

  /// `elapsed`: the time since the call began; nil is now.
  private func emit(_ kind: @autoclosure () -> NetworkEvent.Kind, _ attempt: Int, at elapsed: Duration? = nil) {
    guard let events, let onEvent = policy.onEvent else { return }
    let elapsed = elapsed ?? clock.now - began
    let event = NetworkEvent(callID: plan.id, request: request, attempt: attempt, elapsed: elapsed, kind: kind())
    events.async { onEvent(event) }
  }

  /// Returns after `onEvent` has received the last event.
  private func eventsAreDelivered() async {
    guard let events else { return }
    await withCheckedContinuation { continuation in
      events.async { continuation.resume() }
    }
  }
}
