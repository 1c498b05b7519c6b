import Dispatch
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One call: sends the request, asks the policy about a failure, waits, and sends again.
nonisolated final class RetryLoop: Sendable {
  typealias CallResult = Result<NetworkResponse, NetworkError>
  private typealias Ending = (result: CallResult, event: NetworkEvent.Kind)

  let request: URLRequest
  let policy: RetryPolicy
  let allowEmptyData: Bool
  let transport: any NetworkTransport
  let clock: any RetryClock
  private let began: Duration
  /// Delivers the events of this call serially, so that a slow `onEvent` delays only its own call. Nil without
  /// `onEvent`.
  private let events: DispatchQueue?
  private let callID: Int
  private static let lastCallID = NetworkLock(0)

  init(
    _ request: URLRequest, policy: RetryPolicy, allowEmptyData: Bool, transport: any NetworkTransport,
    clock: any RetryClock = ContinuousRetryClock()
  ) {
    self.request = request
    self.policy = policy
    self.allowEmptyData = allowEmptyData
    self.transport = transport
    self.clock = clock
    began = clock.now
    events = policy.onEvent.map { _ in DispatchQueue(label: "Wynd.onEvent", qos: .userInitiated) }
    callID = events == nil ? 0 : Self.nextCallID()
  }

  /// The state of the call.
  private struct Call: Sendable {
    var state = RetryCallState()
    var history: [RetryFailure.Attempt] = []
    var isSending = false
    var attemptBegan = Duration.zero
    var unreachableSince: Duration?
    var budgetNumber: UInt64?
  }

  // MARK: - The two forms of a call

  /// For an async caller. Canceling its task ends the call.
  func run() async -> CallResult {
    var call = Call()
    var ending: Ending
    if let refused = endingWithoutAttempt(call) {
      ending = refused
    } else {
      let end = await send(RetryAttempt(request, transport), &call)
      ending = await retry(after: end, &call)
    }
    emit(ending.event, call)
    if let events { await withCheckedContinuation { continuation in events.async { continuation.resume() } } }
    return ending.result
  }

  /// For a completion handler, which is called once, on `queue`. The first attempt is made without a Swift `Task`, so
  /// that its success does not depend on threads that the app may have blocked. Only retries need one.
  func start(on queue: OperationQueue, completion: @escaping @Sendable (CallResult) -> Void) -> NetworkTask {
    let task = NetworkTask()
    let finish: @Sendable (Ending, Call, Bool) -> Void = { [self] ending, call, isOnQueue in
      task.end()
      emit(ending.event, call)
      if isOnQueue, events == nil { return completion(ending.result) }
      let complete: @Sendable () -> Void = { queue.addOperation { completion(ending.result) } }
      if let events { events.async(execute: complete) } else { complete() }
    }
    var call = Call()
    if let ending = endingWithoutAttempt(call) {
      finish(ending, call, false)
      return task
    }
    let attempt = RetryAttempt(request, transport)
    task.setCancellation { attempt.cancel() }
    begin(&call)
    attempt.start(deadline: policy.deadline, clock: clock) { [self, call] end in
      var call = call
      guard mayBeRetried(end) else {
        var isOnQueue = false
        if case .outcome(let outcome) = end { isOnQueue = outcome.isOnDelegateQueue }
        let ending = conclude(end, &call) ?? stop(.notRetryable, call)
        return finish(ending, call, isOnQueue)
      }
      let retries = Task { [self, call] in
        var call = call
        let ending = await self.retry(after: end, &call)
        finish(ending, call, false)
      }
      task.setCancellation { retries.cancel() }
    }
    return task
  }

  /// How the call ends if nothing can be sent; nil if an attempt can be made.
  private func endingWithoutAttempt(_ call: Call) -> Ending? {
    if let error = transport.validationError(for: request) {
      return (.failure(.invalidRequest(reason: error)), .gaveUp(.notRetryable))
    }
    return policy.deadline ?? .seconds(1) <= .zero ? stop(.deadline, call) : nil
  }

  /// Whether the attempt failed in a way that the policy may retry.
  private func mayBeRetried(_ end: RetryAttempt.End) -> Bool {
    guard case .outcome(let outcome) = end, case .failure(let error) = result(of: outcome) else { return false }
    return policy.shouldRetry != nil || error.shouldRetry
  }

  // MARK: - The loop

  private func retry(after first: RetryAttempt.End, _ call: inout Call) async -> Ending {
    var end = first
    while true {
      if let ending = conclude(end, &call) { return ending }
      switch await decide(&call) {
      case .stop(let reason):
        return stop(reason, call)
      case .retry(let delay, let source, let asked):
        if transport.isInvalidated { return (.failure(.urlError(URLError(.cancelled))), .gaveUp(.notRetryable)) }
        // Prepared before the wait: a session that is finished during the wait still sends it.
        let attempt = RetryAttempt(request, transport.forLaterAttempts)
        call.state.askedFor += asked
        await pause(delay, source, &call)
        end = await send(attempt, &call)
      }
    }
  }

  private func send(_ attempt: RetryAttempt, _ call: inout Call) async -> RetryAttempt.End {
    let left = policy.deadline.map { $0 - (clock.now - began) }
    if Task.isCancelled || left ?? .seconds(1) <= .zero {
      attempt.cancel()
      return Task.isCancelled ? .cancelled : .deadline
    }
    begin(&call)
    return await attempt.run(deadline: left, clock: clock)
  }

  private func begin(_ call: inout Call) {
    call.state.attempts += 1
    call.attemptBegan = clock.now - began
    call.isSending = true
    emit(.attemptStarted, call)
  }

  /// How this attempt ends the call; nil if it failed, and the policy has to decide.
  private func conclude(_ end: RetryAttempt.End, _ call: inout Call) -> Ending? {
    let now = clock.now - began
    var attempt = RetryFailure.Attempt(
      number: call.state.attempts, startedAt: call.attemptBegan, duration: now - call.attemptBegan)
    switch end {
    case .cancelled:
      return (.failure(.cancelled), .gaveUp(.cancelled))
    case .deadline:
      attempt.error = .urlError(URLError(.timedOut))
      if call.isSending { call.history.append(attempt) }
      return stop(.deadline, call)
    case .outcome(let outcome):
      call.isSending = false
      switch result(of: outcome) {
      case .success(let response):
        policy.budget?.responded(request.url, now: clock.now)
        let body = outcome.data ?? Data()
        return (
          .success(NetworkResponse(data: body, response: response, failures: call.history, success: attempt)),
          .succeeded(statusCode: response.statusCode)
        )
      case .failure(let error):
        attempt.error = error
        call.history.append(attempt)
        note(error, outcome, at: now, &call)
        return nil
      }
    }
  }

  private func note(_ error: NetworkError, _ outcome: NetworkOutcome, at now: Duration, _ call: inout Call) {
    call.unreachableSince = error.isUnreachable ? call.unreachableSince ?? call.attemptBegan : nil
    call.state.note(
      error, outcome, elapsed: now, unreachableFor: call.unreachableSince.map { now - $0 } ?? .zero)
    if error.indicatesOverload, !outcome.hasProgressed {
      call.budgetNumber = policy.budget?.failed(request.url, call: call.budgetNumber, now: clock.now)
    } else if error.response != nil || outcome.hasProgressed {
      policy.budget?.responded(request.url, now: clock.now)
    }
    if events != nil {
      emit(.attemptFailed(error, policy.safety(error, RetryRequestFacts(request), call.state)), call)
    }
  }

  private func decide(_ call: inout Call) async -> RetryDecision {
    guard let error = call.history.last?.error else { return .stop(.notRetryable) }
    var verdict: Bool?
    if let shouldRetry = policy.shouldRetry, !error.isCancellation {
      // On a queue of its own, so that a slow closure delays only its own call.
      verdict = await withCheckedContinuation { continuation in
        DispatchQueue(label: "Wynd.shouldRetry").async { continuation.resume(returning: shouldRetry(error)) }
      }
      call.state.elapsed = clock.now - began
    }
    let decision = policy.decision(
      error, RetryRequestFacts(request), call.state, verdict: verdict, now: clock.date, random: clock.random())
    call.state.mayHaveReachedServer = call.state.mayHaveReachedServer || !error.failedBeforeSending
    return decision
  }

  /// Waits before the next attempt. While several calls to the origin fail, the retry is skipped and the call waits its
  /// next backoff step. Ends early when the call is canceled.
  private func pause(_ delay: Duration, _ source: NetworkEvent.DelaySource, _ call: inout Call) async {
    let indicatesOverload = call.history.last?.error?.indicatesOverload == true
    var (delay, source, total) = (delay, source, Duration.zero)
    while true {
      emit(.willRetry(after: delay, source), call)
      (call.state.waited, total) = (call.state.waited + delay, total + delay)
      call.history[call.history.count - 1].delay = total
      do { try await clock.sleep(for: delay) } catch { return }
      guard indicatesOverload, policy.budget?.isFailing(request.url, now: clock.now) == true else { return }
      call.state.elapsed = clock.now - began
      guard let next = policy.delayOfSkippedRetry(&call.state, random: clock.random()) else { return }
      (delay, source) = (next, .budget)
    }
  }

  private func stop(_ reason: RetryFailure.StopReason, _ call: Call) -> Ending {
    let error = call.history.last?.error ?? .urlError(URLError(.timedOut))
    let failure = RetryFailure(lastError: error, attempts: call.history, stopReason: reason)
    // An error that no retry can help is returned directly, and so is one that was not retried because `maxRetries` is
    // 0.
    let isWrapped = reason.isReportedAlways || call.history.count > 1 && reason != .notRetryable
    return (.failure(isWrapped ? .inaccessible(failure) : error), .gaveUp(reason))
  }

  private func result(of outcome: NetworkOutcome) -> Result<HTTPURLResponse, NetworkError> {
    outcome.result(isHead: request.httpMethod == "HEAD", allowEmptyData: allowEmptyData)
  }

  private static func nextCallID() -> Int {
    lastCallID.withLock { id in
      id += 1
      return id
    }
  }

  // Not inlined: it would be compiled once for each use.
  @inline(never) private func emit(_ kind: @autoclosure () -> NetworkEvent.Kind, _ call: Call) {
    guard let events, let onEvent = policy.onEvent else { return }
    let event = NetworkEvent(
      callID: callID, request: request, attempt: call.state.attempts, elapsed: clock.now - began, kind: kind())
    events.async { onEvent(event) }
  }
}
