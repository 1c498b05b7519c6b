import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The only loop: send, look at the outcome, ask the policy, wait, send again; and exactly one answer.
nonisolated final class RetryLoop: NetworkFlight, @unchecked Sendable {
  typealias Answer = Result<NetworkResponse, NetworkError>

  let request: URLRequest
  let policy: RetryPolicy
  private let allowEmptyData: Bool
  private let transport: any NetworkTransport
  private let queue: OperationQueue?
  let clock: any RetryClock
  let began: Duration
  let teller: EventTeller?

  // A lock for each call would be four allocations on Linux. Nobody takes a second one while he holds one.
  private static let locks = (0..<64).map { _ in NSLock() }
  let lock: NSLock
  // Everything below is under the lock, and nothing foreign is called with it held.
  private var wasCancelled = false
  var answer: (@Sendable (Answer) -> Void)?
  // Whoever comes with an old step is ignored: a transport that answers twice, a timer that fires during a cancellation.
  var step = 0
  private var isSending = false
  var flight: (any NetworkFlight)?
  var wait: RetryWait?
  private var deadlineWait: RetryWait?
  // Under this number the budget holds this call, or has sent it ahead.
  var ticket: UInt64?
  // The number that the budget gave this call.
  var budgetID: UInt64?
  var call = RetryCallState()
  var attempts: [RetryFailure.Attempt] = []
  private var attemptBegan = Duration.zero
  private var unreachableSince: Duration?

  /// `queue`: where the answer is given; nil: wherever it comes.
  init(
    _ request: URLRequest, policy: RetryPolicy, allowEmptyData: Bool, transport: any NetworkTransport,
    queue: OperationQueue? = nil, clock: any RetryClock = SharedRetryClock.shared
  ) {
    self.request = request
    self.policy = policy
    self.allowEmptyData = allowEmptyData
    self.transport = transport
    self.queue = queue
    self.clock = clock
    began = clock.now
    teller = policy.onEvent.map(EventTeller.init)
    lock = Self.locks[Int(truncatingIfNeeded: began.components.attoseconds >> 32) & 63]
  }

  /// `answer` is called exactly once.
  func start(answer: @escaping @Sendable (Answer) -> Void) {
    let isCancelled = lock.withLock {
      self.answer = answer
      return wasCancelled
    }
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

  /// `ticket`: it is the probe that the budget let go.
  func send(after previous: Int, ticket: UInt64? = nil) {
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
      if let limit = policy.maxRetryTime, now - .seconds(1) - lastSend.progressedAt > limit {
        return stop(.maxRetryTime)
      }
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
    // A stream that has begun meanwhile has ended the call, and goes on; a cancellation has ended both.
    let (isOver, isUnderWay) = lock.withLock { () -> (Bool, Bool) in
      guard self.step == step else { return (false, false) }
      if answer != nil { self.flight = flight }
      return (answer == nil, answer != nil)
    }
    if isOver { flight.cancel() }
    if isUnderWay, policy.maxResponseSize != nil, flight.incomingBytes != nil, request.httpMethod != "HEAD" {
      ResponseSize.shared.watch(self)
    }
  }

  private func finish(_ outcome: NetworkOutcome, step: Int) {
    let now = clock.now - began
    var failure = outcome.failure(isHead: request.httpMethod == "HEAD", allowEmptyData: allowEmptyData)
    if let limit = policy.maxResponseSize, let data = outcome.data, data.count > limit {
      failure = .responseTooLarge(limit: limit)
    }
    lock.lock()
    guard answer != nil, self.step == step else { return lock.unlock() }
    self.step += 1
    isSending = false
    flight = nil
    var attempt = RetryFailure.Attempt(
      number: call.attempts, startedAt: attemptBegan, duration: now - attemptBegan)
    if failure == nil, let response = outcome.http {
      let success = NetworkResponse(
        data: outcome.data ?? Data(), response: response, failures: attempts, success: attempt)
      ticket = nil
      let ended = takeEverything()
      lock.unlock()
      policy.budget?.succeeded(request.url, clock)
      return deliver(
        .success(success), .succeeded(statusCode: response.statusCode), to: ended,
        isOnQueue: outcome.isOnDelegateQueue)
    }
    let error = failure ?? .noResponse
    attempt.error = error
    attempts.append(attempt)
    unreachableSince = error.isUnreachable ? unreachableSince ?? attemptBegan : nil
    call.unreachableFor = now - (unreachableSince ?? now)
    call.elapsed = now
    call.hasFollowedRedirect = outcome.hasFollowedRedirect
    call.mayHaveSent = outcome.mayHaveSent
    call.internalErrors += error.statusCode == 500 ? 1 : 0
    if outcome.hasProgressed { (call.attemptsBeforeProgress, call.progressedAt) = (call.attempts - 1, now) }
    let call = call
    let ticket = ticket
    self.ticket = nil
    lock.unlock()
    let burdensHost = error.burdensHost && !outcome.hasProgressed
    if burdensHost || ticket != nil && !outcome.hasProgressed {
      policy.budget?.failed(request.url, ticket, clock)
    } else if error.response != nil || outcome.hasProgressed {
      policy.budget?.succeeded(request.url, clock)
    }
    decide(error, call, step: step + 1, isOnQueue: outcome.isOnDelegateQueue)
  }

  /// Keeps a wait, in place of an earlier one, so that the end of the call can end it; it is ended here if the call got
  /// ahead of it.
  func keep(_ wait: RetryWait, in place: ReferenceWritableKeyPath<RetryLoop, RetryWait?>, step: Int) {
    let old = lock.withLock { () -> RetryWait? in
      guard answer != nil, self.step == step else { return wait }
      defer { self[keyPath: place] = wait }
      return self[keyPath: place]
    }
    if let old { clock.cancel(old) }
  }

  /// Ends the call with its last error, as itself or with its history.
  func stop(_ reason: RetryFailure.StopReason, isOnQueue: Bool = false) {
    let attempts = lock.withLock { self.attempts }
    guard let error = attempts.last?.error else { return }
    let told = reason.endsEvenAFirstAttempt || attempts.count > 1 && reason != .notRetryable
    let failure = RetryFailure(lastError: error, attempts: attempts, stopReason: reason)
    end(.failure(told ? .inaccessible(failure) : error), .gaveUp(reason), isOnQueue: isOnQueue)
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

  func end(_ result: Answer, _ event: NetworkEvent.Kind, isOnQueue: Bool = false) {
    let ended = lock.withLock { takeEverything() }
    deliver(result, event, to: ended, isOnQueue: isOnQueue)
  }

  private typealias Ended = (
    answer: (@Sendable (Answer) -> Void)?, flight: (any NetworkFlight)?, wait: RetryWait?, deadline: RetryWait?,
    ticket: UInt64?
  )

  /// Under the lock: from here on nothing more happens in this call.
  private func takeEverything() -> Ended {
    defer { (answer, flight, wait, deadlineWait, ticket) = (nil, nil, nil, nil, nil) }
    return (answer, flight, wait, deadlineWait, ticket)
  }

  private func deliver(_ result: Answer, _ event: NetworkEvent.Kind, to ended: Ended, isOnQueue: Bool = false) {
    guard let answer = ended.answer else { return }
    if policy.maxResponseSize != nil { ResponseSize.shared.leave(self) }
    ended.flight?.cancel()
    if let wait = ended.wait { clock.cancel(wait) }
    if let wait = ended.deadline { clock.cancel(wait) }
    if let ticket = ended.ticket { policy.budget?.leave(request.url, ticket, clock) }
    emit(event, isLast: true)
    // URLSession answers on its delegate queue, so a success needs no further hop. A cancellation always takes one: a
    // handler that ran inside `cancel()` would meet whatever lock its caller holds.
    if let queue, !isOnQueue {
      queue.addOperation { answer(result) }
    } else {
      answer(result)
    }
  }

  func emit(_ kind: @autoclosure () -> NetworkEvent.Kind, attempt next: Int = 0, isLast: Bool = false) {
    guard let teller else { return }
    let attempt = lock.withLock { call.attempts } + next
    teller.tell(
      NetworkEvent(request: request, attempt: attempt, elapsed: clock.now - began, kind: kind()), isLast: isLast)
  }
}
