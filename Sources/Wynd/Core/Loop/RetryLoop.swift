// Loop: carries out a call: an attempt, a decision, a wait, and the next attempt, until there is a result.
// It uses the network through NetworkTransport and time through RetryClock, so a test can replace both. To read it: this
// file, RetryRule and RetryCallState for a decision, then NetworkAttemptCompletion, which ends an attempt once, whether
// by a response, a cancellation or the deadline, NetworkTransport, and AppleAttempt or LinuxAttempt.

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One call: sends the request, asks the policy about a failure, waits, and sends again.
// Unchecked: `state` is used by one step after another, on whatever thread.
nonisolated final class RetryLoop: @unchecked Sendable {
  typealias CallResult = Swift.Result<NetworkResponse<Data>, NetworkError>

  private let plan: NetworkCallPlan
  private var request: URLRequest { plan.request }
  private let rule: RetryRule
  private let transport: any NetworkTransport
  private let clock: any RetryClock
  private var state: RetryCallState
  /// Delivers the events of this call serially, so that a slow `onEvent` delays only its own call. Nil without
  /// `onEvent`.
  private let events: DispatchQueue?

  /// What the call does next.
  private enum Step: Sendable {
    case attempt
    /// The app's `shouldRetry` has to decide about the error.
    case consultApp(NetworkError)
    case wait(Swift.Duration, NetworkEvent.DelaySource)
    indirect case end(CallResult)
  }

  init(_ plan: NetworkCallPlan, on transport: any NetworkTransport, clock: any RetryClock = ContinuousRetryClock()) {
    self.plan = plan
    rule = RetryRule(plan.policy)
    if let timeout = rule.attemptTimeout {
      self.transport = NetworkTimedTransport(transport: transport, timeout: timeout, clock: clock)
    } else {
      self.transport = transport
    }
    self.clock = clock
    state = RetryCallState(callStart: clock.now, isReadOnly: plan.isReadOnly)
    events = plan.policy.onEvent.map { _ in DispatchQueue.network("onEvent") }
  }

  // MARK: - The two forms of a call

  /// For an async caller. Canceling its task ends the call. It runs on a thread of Swift's tasks, unless the app builds
  /// these files so that async functions stay on their caller's actor.
  func run() async -> CallResult {
    let result = await runSteps(from: stepBeforeAttempt())
    await waitForEvents()
    return result
  }

  /// For a completion handler, which is called on `queue`, and once, because only this or one `proceed` delivers. After
  /// the first attempt, the call is a task, which `cancel()` cancels, also while it waits. The first request of a plain
  /// call is handed to the session before this returns, so the app may finish its session then.
  func run(on queue: OperationQueue, completion: @escaping @Sendable (CallResult) -> Void) -> NetworkTask {
    let deliver = Delivery(queue: queue, events: events, completion: completion)
    let task = NetworkTask()
    if let result = endBeforeAttempt() {
      deliver(result)
      return task
    }
    let attempt = NetworkAttemptCompletion()
    task.onCancel { attempt.cancel() }
    startAttempt(attempt)
    let earlyOutcome = attempt.onEnd { [self] outcome in
      // A cancellation ends the attempt inside `cancel()`, in which the app may hold a lock that the handler needs.
      proceed(after: outcome, task, deliver, isOnCallersStack: outcome.endedBy == .cancellation)
    }
    if let earlyOutcome { proceed(after: earlyOutcome, task, deliver, isOnCallersStack: true) }
    return task
  }

  /// Continues a call after its first attempt. `isOnCallersStack`: whether the app may still be inside the call, or
  /// inside `cancel()`.
  private func proceed(
    after outcome: NetworkOutcome, _ task: NetworkTask, _ deliver: Delivery, isOnCallersStack: Bool
  ) {
    let next = stepAfterAttempt(outcome)
    // Without a `Task`, because the app may have blocked the threads that run tasks.
    if case .end(let result) = next {
      task.onCancel(nil)
      return deliver(result, isOnCallersStack: isOnCallersStack)
    }
    task.run { [self] in
      let result = await runSteps(from: next)
      task.onCancel(nil)
      deliver(result)
    }
  }

  /// Calls the completion handler on its queue, after the last event, and never inside the public call or `cancel()`.
  private struct Delivery: Sendable {
    let queue: OperationQueue
    let events: DispatchQueue?
    let completion: @Sendable (CallResult) -> Void

    /// Calls the handler at once if this is its queue and the app is certainly not inside the call or `cancel()`.
    /// Otherwise, the handler becomes an operation of the queue.
    func callAsFunction(_ result: CallResult, isOnCallersStack: Bool = true) {
      if let events {
        events.async { [queue, completion] in queue.addOperation { completion(result) } }
      } else if !isOnCallersStack, OperationQueue.current === queue {
        completion(result)
      } else {
        queue.addOperation { [completion] in completion(result) }
      }
    }
  }

  // MARK: - The loop

  private func runSteps(from first: Step) async -> CallResult {
    var next = first
    while true {
      switch next {
      case .attempt:
        let attempt = NetworkAttemptCompletion()
        next = stepAfterAttempt(await attempt.outcome { startAttempt(attempt) })
      case .consultApp(let error):
        let verdict = await verdict(about: error)
        state.elapsed = elapsed
        next = decide(error, verdict)
      case .wait(let delay, let source):
        await waitBeforeRetry(delay, source)
        next = stepBeforeAttempt()
      case .end(let result):
        return result
      }
    }
  }

  /// The end of the call if no attempt may start.
  private func endBeforeAttempt() -> CallResult? { timeUntilDeadline <= .zero ? stop(.deadline) : nil }

  private func stepBeforeAttempt() -> Step {
    if _Concurrency.Task.isCancelled { return .end(fail(.cancelled, .cancelled)) }
    return endBeforeAttempt().map { .end($0) } ?? .attempt
  }

  private func startAttempt(_ completion: NetworkAttemptCompletion) {
    state.attempts += 1
    state.attemptStart = elapsed
    if rule.deadline < .noLimit { completion.setTimer(after: timeUntilDeadline, .deadline, clock) }
    var outgoing = NetworkOutgoing(request: request, attempt: state.attempts, isReadOnly: plan.isReadOnly)
    outgoing.bypassesURLCache = plan.bypassesURLCache
    #if !canImport(FoundationNetworking)
      state.metrics = NetworkLock(nil)
      outgoing.metrics = state.metrics
    #endif
    if let attempt = plan.attempt(on: transport) {
      // Not awaited directly: the call ends in time even if a middleware ignores its cancellation.
      let work = _Concurrency.Task { [outgoing] in completion.end(await attempt(outgoing)) }
      completion.onCancel { work.cancel() }
    } else {
      outgoing.usesPrivateSession = plan.usesPrivateSession || state.attempts > 1
      transport.send(outgoing, completion)
    }
    // Not before, because the app may invalidate its session in `onEvent`.
    emit(.attemptStarted, at: state.attemptStart)
  }

  // MARK: - After an attempt

  private func stepAfterAttempt(_ outcome: NetworkOutcome) -> Step {
    switch outcome.result(isHead: request.networkMethod == "HEAD", allowEmptyData: plan.allowEmptyData) {
    case .success(let response): .end(succeed(response, outcome))
    case .failure(let error): stepAfterFailure(error.naming(request.url), outcome)
    }
  }

  private func stepAfterFailure(_ error: NetworkError, _ outcome: NetworkOutcome) -> Step {
    if outcome.endedBy == .cancellation { return .end(fail(.cancelled, .cancelled)) }
    record(error, outcome)
    if outcome.endedBy == .deadline { return .end(stop(.deadline)) }
    if outcome.hasProgressed { state.startOver() }
    updateBudget(error, outcome)
    let mayConsultApp = plan.policy.shouldRetry != nil && !error.isFinal
    return mayConsultApp ? .consultApp(error) : decide(error, nil)
  }

  private func record(_ error: NetworkError, _ outcome: NetworkOutcome) {
    var attempt = endedAttempt
    attempt.error = error
    attempt.delivery = outcome.delivery ?? error.delivery
    state.add(attempt)
    state.elapsed = elapsed
    state.noteReachability(after: error, hasReachedServer: outcome.hasProgressed || attempt.hasReachedServer)
    emit(.attemptFailed(error, rule.safety(of: request, state)))
  }

  private var endedAttempt: NetworkAttempt {
    let duration = elapsed - state.attemptStart
    var attempt = NetworkAttempt(number: state.attempts, startedAt: state.attemptStart, duration: duration)
    #if !canImport(FoundationNetworking)
      attempt.metrics = state.metrics.withLock { $0 }
    #endif
    return attempt
  }

  private func updateBudget(_ error: NetworkError, _ outcome: NetworkOutcome) {
    let hasResponded = error.response != nil && !error.indicatesOverload
    if !outcome.hasProgressed, error.indicatesOverload {
      rule.budget.failed(server(of: error), call: plan.id, now: clock.now)
    } else if outcome.hasProgressed || hasResponded {
      rule.budget.responded(server(of: error), now: clock.now)
    }
  }

  /// The server that the failure concerns. After a redirect, or a request of a middleware's own, it is not the one that
  /// the request names. Without a response, that one is assumed.
  private func server(of error: NetworkError?) -> URL? { error?.response?.url ?? request.url }

  /// Asks the app's `shouldRetry`, on a queue of its own, so that a slow closure delays only its own call.
  private func verdict(about error: NetworkError) async -> Bool? {
    guard let shouldRetry = plan.policy.shouldRetry else { return nil }
    return await withCheckedContinuation { continuation in
      DispatchQueue(label: "Wynd.shouldRetry").async { continuation.resume(returning: shouldRetry(error)) }
    }
  }

  private func decide(_ error: NetworkError, _ verdict: Bool?) -> Step {
    // Canceled since the attempt ended, for example while the app's `shouldRetry` decided.
    if _Concurrency.Task.isCancelled { return .end(fail(.cancelled, .cancelled)) }
    switch rule.decision(error, request, state, verdict: verdict, now: clock.date, random: clock.random()) {
    case .stop(let reason): return .end(stop(reason))
    case .retry(let delay, let source): return .wait(delay, source)
    }
  }

  /// Waits before the next attempt. While several calls to the origin fail, the retry is skipped and the call waits its
  /// next backoff step. Ends early when the call is canceled.
  private func waitBeforeRetry(_ delay: Swift.Duration, _ source: NetworkEvent.DelaySource) async {
    var delay = delay
    var source = source
    let error = state.history.last?.error
    let indicatesOverload = error?.indicatesOverload == true
    while !_Concurrency.Task.isCancelled {
      emit(.willRetry(after: delay, source))
      state.addDelay(delay)
      do { try await clock.sleep(for: delay) } catch { return }
      state.elapsed = elapsed
      state.retries += 1
      let isFailing = rule.budget.isFailing(server(of: error), now: clock.now)
      guard indicatesOverload, isFailing else { return }
      guard let next = rule.waitInPlaceOfRetry(state, random: clock.random()) else { return }
      state.skipRetry()
      delay = next
      source = .budget
    }
  }

  /// The time since the start of the call, now. The rule uses `state.elapsed`, the time of the latest decision.
  private var elapsed: Swift.Duration { clock.now - state.callStart }

  private var timeUntilDeadline: Swift.Duration { rule.deadline - elapsed }

  // MARK: - The end

  private func succeed(_ response: NetworkResponse<Data>, _ outcome: NetworkOutcome) -> CallResult {
    var response = response
    rule.budget.responded(response.response.url, now: clock.now)
    if outcome.hasFollowedRedirect { rule.budget.responded(request.url, now: clock.now) }
    emit(.succeeded(statusCode: response.statusCode))
    response.failures = state.history
    response.success = endedAttempt
    response.onUndecodable = plan.undecodableReport(on: events, attempt: state.attempts, elapsed: elapsed)
    return .success(response)
  }

  /// Ends the call with its last error, wrapped if the error alone does not show why no further attempt is made.
  private func stop(_ reason: RetryFailure.StopReason) -> CallResult {
    let error = state.history.last?.error ?? .urlError(URLError(.timedOut))
    if reason.leavesErrorUnwrapped(attempts: state.history.count) { return fail(error, reason) }
    let failure = RetryFailure(
      lastError: error, attempts: state.history, stopReason: reason, method: request.networkMethod)
    return fail(.inaccessible(failure), reason)
  }

  private func fail(_ error: NetworkError, _ reason: RetryFailure.StopReason) -> CallResult {
    emit(.gaveUp(reason))
    return .failure(error)
  }

  // MARK: - Events

  /// `time`: measured from the start of the call; nil means now.
  // Inlined, each caller would get a copy of it.
  @inline(never)
  private func emit(_ kind: NetworkEvent.Kind, at time: Swift.Duration? = nil) {
    guard let events, let onEvent = plan.policy.onEvent else { return }
    let event = NetworkEvent(
      callID: plan.id, request: request, attempt: state.attempts, elapsed: time ?? elapsed, kind: kind)
    events.async { onEvent(event) }
  }

  /// Returns after `onEvent` has received the last event.
  private func waitForEvents() async {
    guard let events else { return }
    await withCheckedContinuation { continuation in
      events.async { continuation.resume() }
    }
  }
}
