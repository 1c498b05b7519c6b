import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The only loop: send, look at the outcome, ask the policy, wait, send again; and exactly one answer.
nonisolated final class RetryLoop: @unchecked Sendable {
  typealias Answer = Result<NetworkResponse, NetworkError>

  private let request: URLRequest
  private let policy: RetryPolicy
  private let allowEmptyData: Bool
  private let transport: any NetworkTransport
  private let clock: any RetryClock
  private let began: Duration

  private let lock = NSLock()
  // Everything below is under the lock, and nothing foreign is called with it held.
  private var wasCancelled = false
  private var answer: (@Sendable (Answer, _ fromTransport: Bool) -> Void)?
  // Whoever comes with an old step is ignored: a transport that answers twice, a timer that fires during a cancellation.
  private var step = 0
  private var isSending = false
  private var flight: (any NetworkFlight)?
  private var wait: RetryWait?
  private var deadlineWait: RetryWait?
  // Under this number the budget holds this call, or has sent it ahead.
  private var ticket: UInt64?
  // The number that the budget gave this call.
  private var budgetID: UInt64?
  private var call = RetryCallState()
  private var attempts: [RetryFailure.Attempt] = []
  private var attemptBegan = Duration.zero
  private var unreachableSince: Duration?
  private var events: [NetworkEvent] = []
  private var isTelling = false

  init(
    _ request: URLRequest, policy: RetryPolicy, allowEmptyData: Bool, transport: any NetworkTransport,
    clock: any RetryClock = SharedRetryClock.shared
  ) {
    self.request = request
    self.policy = policy
    self.allowEmptyData = allowEmptyData
    self.transport = transport
    self.clock = clock
    began = clock.now
  }

  /// `answer` is called exactly once; `fromTransport` is true on the thread where the transport answered.
  func start(answer: @escaping @Sendable (Answer, _ fromTransport: Bool) -> Void) {
    lock.withLock { self.answer = answer }
    if isCancelled { return cancel() }
    if let reason = transport.refusal(of: request) {
      return end(.failure(.invalidRequest(reason: reason)), .gaveUp(.notRetryable))
    }
    if let deadline = policy.deadline {
      guard deadline > .zero else { return deadlineIsOver() }
      let wait = clock.wait(deadline) { [self] in deadlineIsOver() }
      keep(wait, in: \.deadlineWait, step: 0)
    }
    send(after: 0)
  }

  /// Also before the start: then nothing is sent.
  func cancel() {
    lock.withLock { wasCancelled = true }
    end(.failure(.cancelled), .gaveUp(.cancelled))
  }

  var isCancelled: Bool { lock.withLock { wasCancelled } }

  /// `ticket`: it is the probe that the budget let go.
  private func send(after previous: Int, ticket: UInt64? = nil) {
    let now = clock.now - began
    if let ticket {
      let isOver = lock.withLock {
        if answer != nil { (self.ticket, budgetID) = (ticket, ticket) }
        return answer == nil
      }
      if isOver { return policy.budget?.leave(request.url, ticket, clock) ?? () }
    }
    if previous > 0 {
      if transport.isOver { return end(.failure(.urlError(URLError(.cancelled))), .gaveUp(.notRetryable)) }
      // An app that was suspended wakes up long after the wait was over. A second is left for a timer that comes late.
      if let deadline = policy.deadline, now >= deadline { return deadlineIsOver() }
      if let limit = policy.maxRetryTime, now - .seconds(1) > limit { return stop(.maxRetryTime) }
    }
    emit(.attemptStarted, attempt: 1)
    let (step, oldWait) = lock.withLock { () -> (Int?, RetryWait?) in
      guard answer != nil, self.step == previous else { return (nil, nil) }
      defer { wait = nil }
      self.step += 1
      isSending = true
      call.attempts += 1
      attemptBegan = now
      return (self.step, wait)
    }
    guard let step else { return }
    if let oldWait { clock.cancel(oldWait) }
    let flight = transport.send(request) { [self] in finish($0, step: step) }
    let isOver = lock.withLock {
      if answer != nil, self.step == step { self.flight = flight }
      return answer == nil
    }
    if isOver { flight.cancel() }
  }

  private func finish(_ outcome: NetworkOutcome, step: Int) {
    let now = clock.now - began
    let result = outcome.result(isHead: request.httpMethod == "HEAD", allowEmptyData: allowEmptyData)
    lock.lock()
    guard answer != nil, self.step == step else { return lock.unlock() }
    self.step += 1
    isSending = false
    flight = nil
    var attempt = RetryFailure.Attempt(
      number: call.attempts, startedAt: attemptBegan, duration: now - attemptBegan)
    switch result {
    case .success(let (data, response)):
      let success = NetworkResponse(data: data, response: response, failures: attempts, success: attempt)
      ticket = nil
      let ended = takeEverything()
      lock.unlock()
      policy.budget?.succeeded(request.url, clock)
      deliver(.success(success), .succeeded(statusCode: response.statusCode), to: ended, fromTransport: true)
    case .failure(let error):
      attempt.error = error
      attempts.append(attempt)
      unreachableSince = error.isUnreachable ? unreachableSince ?? attemptBegan : nil
      call.unreachableFor = now - (unreachableSince ?? now)
      call.elapsed = now
      call.hasFollowedRedirect = outcome.hasFollowedRedirect
      call.mayHaveSent = outcome.mayHaveSent
      call.internalErrors += error.statusCode == 500 ? 1 : 0
      let call = call
      let ticket = ticket
      self.ticket = nil
      lock.unlock()
      if error.burdensHost || ticket != nil {
        policy.budget?.failed(request.url, ticket, clock)
      } else if error.response != nil {
        policy.budget?.succeeded(request.url, clock)
      }
      decide(error, call, step: step + 1)
    }
  }

  private func decide(_ error: NetworkError, _ call: RetryCallState, step: Int) {
    let facts = RetryRequestFacts(request)
    if policy.onEvent != nil { emit(.attemptFailed(error, policy.safety(error, facts, call))) }
    switch policy.decision(error, facts, call, now: clock.date, random: clock.random()) {
    case .stop(let reason): stop(reason, fromTransport: true)
    case .retry(let delay, let source):
      lock.withLock { attempts[attempts.count - 1].delay = delay }
      emit(.willRetry(after: delay, source))
      // What never reached a server costs it nothing.
      let isShared = policy.budget != nil && error.burdensHost
      resume(after: delay, step: step, isShared: isShared)
    }
  }

  private func resume(after delay: Duration, step: Int, isShared: Bool) {
    if delay <= .zero { return isShared ? enterBudget(step: step) : send(after: step) }
    keep(clock.wait(delay) { [self] in isShared ? enterBudget(step: step) : send(after: step) }, in: \.wait, step: step)
  }

  /// While its host only fails, the calls to it send one probe at a time.
  private func enterBudget(step: Int) {
    guard let budget = policy.budget else { return send(after: step) }
    let entry = budget.enter(request.url, lock.withLock { budgetID }, clock) { [self] go in
      switch go {
      case .asProbe(let id): send(after: step, ticket: id)
      case .after(let spread):
        // The spread takes no time that the call does not have.
        resume(after: timeLeft.map { min(spread, $0 / 2) } ?? spread, step: step, isShared: true)
      }
    }
    switch entry {
    case .free: send(after: step)
    case .probe(let id): send(after: step, ticket: id)
    case .held(let id):
      let isOver = lock.withLock {
        // It may have been its turn already.
        if answer != nil, self.step == step { (ticket, budgetID) = (id, id) }
        return answer == nil
      }
      if isOver { return budget.leave(request.url, id, clock) }
      let left = timeLeft
      emit(.willRetry(after: left ?? .zero, .budget))
      if let left { keep(clock.wait(left) { [self] in heldTooLong(step: step) }, in: \.wait, step: step) }
    }
  }

  private var timeLeft: Duration? { policy.maxRetryTime.map { max(.zero, $0 - (clock.now - began)) } }

  private func heldTooLong(step: Int) {
    if lock.withLock({ answer != nil && self.step == step }) { stop(.budget) }
  }

  /// Keeps a wait, in place of an earlier one, so that the end of the call can end it; it is ended here if the call got
  /// ahead of it.
  private func keep(_ wait: RetryWait, in place: ReferenceWritableKeyPath<RetryLoop, RetryWait?>, step: Int) {
    let old = lock.withLock { () -> RetryWait? in
      guard answer != nil, self.step == step else { return wait }
      defer { self[keyPath: place] = wait }
      return self[keyPath: place]
    }
    if let old { clock.cancel(old) }
  }

  /// Ends the call with its last error, as itself or with its history.
  private func stop(_ reason: RetryFailure.StopReason, fromTransport: Bool = false) {
    let attempts = lock.withLock { self.attempts }
    guard let error = attempts.last?.error else { return }
    let told = reason.endsEvenAFirstAttempt || attempts.count > 1 && reason != .notRetryable
    let failure = RetryFailure(lastError: error, attempts: attempts, stopReason: reason)
    end(.failure(told ? .inaccessible(failure) : error), .gaveUp(reason), fromTransport: fromTransport)
  }

  private func deadlineIsOver() {
    let now = clock.now - began
    let timedOut = NetworkError.urlError(URLError(.timedOut))
    lock.lock()
    // An answer that came first has ended the call.
    guard answer != nil else { return lock.unlock() }
    if isSending {
      attempts.append(
        RetryFailure.Attempt(
          number: call.attempts, startedAt: attemptBegan, duration: now - attemptBegan, error: timedOut))
    }
    let failure = RetryFailure(
      lastError: attempts.last?.error ?? timedOut, attempts: attempts, stopReason: .deadline)
    let ended = takeEverything()
    lock.unlock()
    deliver(.failure(.inaccessible(failure)), .gaveUp(.deadline), to: ended)
  }

  private func end(_ result: Answer, _ event: NetworkEvent.Kind, fromTransport: Bool = false) {
    let ended = lock.withLock { takeEverything() }
    deliver(result, event, to: ended, fromTransport: fromTransport)
  }

  private typealias Ended = (
    answer: (@Sendable (Answer, Bool) -> Void)?, flight: (any NetworkFlight)?, wait: RetryWait?, deadline: RetryWait?,
    ticket: UInt64?
  )

  /// Under the lock: from here on nothing more happens in this call.
  private func takeEverything() -> Ended {
    defer { (answer, flight, wait, deadlineWait, ticket) = (nil, nil, nil, nil, nil) }
    return (answer, flight, wait, deadlineWait, ticket)
  }

  private func deliver(_ result: Answer, _ event: NetworkEvent.Kind, to ended: Ended, fromTransport: Bool = false) {
    guard let answer = ended.answer else { return }
    ended.flight?.cancel()
    if let wait = ended.wait { clock.cancel(wait) }
    if let wait = ended.deadline { clock.cancel(wait) }
    if let ticket = ended.ticket { policy.budget?.leave(request.url, ticket, clock) }
    emit(event, isLast: true)
    answer(result, fromTransport)
  }

  /// One event after the other, none after the last, and none with the lock held: whoever comes while another thread
  /// tells, leaves it to that one.
  private func emit(_ kind: @autoclosure () -> NetworkEvent.Kind, attempt next: Int = 0, isLast: Bool = false) {
    guard let onEvent = policy.onEvent else { return }
    lock.lock()
    guard answer != nil || isLast else { return lock.unlock() }
    events.append(
      NetworkEvent(request: request, attempt: call.attempts + next, elapsed: clock.now - began, kind: kind()))
    if isTelling { return lock.unlock() }
    isTelling = true
    while let event = events.first {
      events.removeFirst()
      lock.unlock()
      onEvent(event)
      lock.lock()
    }
    isTelling = false
    lock.unlock()
  }
}

nonisolated extension RetryFailure.StopReason {
  /// These end a call whose one attempt was not retried, and the bare error would hide them.
  fileprivate var endsEvenAFirstAttempt: Bool {
    switch self {
    case .deadline, .budget, .retryAfterTooLong: true
    default: false
    }
  }
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
