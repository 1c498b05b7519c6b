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
  private var isCancelled = false
  private var answer: (@Sendable (Answer, _ fromTransport: Bool) -> Void)?
  // Whoever comes with an old step is ignored: a transport that answers twice, a timer that fires during a cancellation.
  private var step = 0
  private var isSending = false
  private var flight: (any NetworkFlight)?
  private var wait: RetryWait?
  private var deadlineWait: RetryWait?
  private var call = CallSoFar()
  private var attempts: [RetryFailure.Attempt] = []
  private var attemptBegan = Duration.zero
  private var unreachableSince: Duration?

  init(
    _ request: URLRequest, policy: RetryPolicy, allowEmptyData: Bool, transport: any NetworkTransport,
    clock: any RetryClock = SystemClock.shared
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
    let isCancelled = lock.withLock {
      self.answer = answer
      return self.isCancelled
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
    lock.withLock { isCancelled = true }
    end(.failure(.cancelled), .gaveUp(.cancelled))
  }

  private func send(after previous: Int) {
    let now = clock.now - began
    let step = lock.withLock { () -> Int? in
      guard answer != nil, self.step == previous else { return nil }
      self.step += 1
      isSending = true
      wait = nil
      call.attempts += 1
      attemptBegan = now
      return self.step
    }
    guard let step else { return }
    if policy.onEvent != nil { emit(.attemptStarted) }
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
    let error: NetworkError? = if case .failure(let error) = result { error } else { nil }
    let recorded: (RetryFailure.Attempt, previous: [RetryFailure.Attempt], CallSoFar)? = lock.withLock {
      guard answer != nil, self.step == step else { return nil }
      self.step += 1
      isSending = false
      flight = nil
      let previous = attempts
      let attempt = RetryFailure.Attempt(
        number: call.attempts, startedAt: attemptBegan, duration: now - attemptBegan, error: error)
      if let error {
        attempts.append(attempt)
        unreachableSince = error.isUnreachable ? unreachableSince ?? attemptBegan : nil
        call.unreachableFor = now - (unreachableSince ?? now)
        call.elapsed = now
        call.reachedServer = outcome.reachedServer
        call.internalErrors += error.statusCode == 500 ? 1 : 0
      }
      return (attempt, previous, call)
    }
    guard let (attempt, previous, call) = recorded else { return }
    switch result {
    case .success(let (data, response)):
      end(
        .success(NetworkResponse(data: data, response: response, failures: previous, success: attempt)),
        .succeeded(statusCode: response.statusCode), fromTransport: true)
    case .failure(let error): decide(error, call, step: step + 1)
    }
  }

  private func decide(_ error: NetworkError, _ call: CallSoFar, step: Int) {
    let facts = RequestFacts(request)
    if policy.onEvent != nil { emit(.attemptFailed(error, policy.safety(error, facts, call))) }
    switch policy.decision(error, facts, call, now: clock.date, random: clock.random()) {
    case .stop(let reason):
      let attempts = lock.withLock { self.attempts }
      let told = reason.endsEvenAFirstAttempt || attempts.count > 1 && reason != .notRetryable
      let failure = RetryFailure(lastError: error, attempts: attempts, stopReason: reason)
      end(.failure(told ? .inaccessible(failure) : error), .gaveUp(reason), fromTransport: true)
    case .retry(let delay, let source):
      lock.withLock { attempts[attempts.count - 1].delay = delay }
      if policy.onEvent != nil { emit(.willRetry(after: delay, source)) }
      if delay <= .zero { return send(after: step) }
      let wait = clock.wait(delay) { [self] in send(after: step) }
      keep(wait, in: \.wait, step: step)
    }
  }

  /// Keeps a wait so that the end of the call can end it; it is ended here if the call got ahead of it.
  private func keep(_ wait: RetryWait, in place: ReferenceWritableKeyPath<RetryLoop, RetryWait?>, step: Int) {
    let isCurrent = lock.withLock {
      guard answer != nil, self.step == step else { return false }
      self[keyPath: place] = wait
      return true
    }
    if !isCurrent { clock.cancel(wait) }
  }

  private func deadlineIsOver() {
    let now = clock.now - began
    let timedOut = NetworkError.urlError(URLError(.timedOut))
    let failure: RetryFailure = lock.withLock {
      if isSending {
        attempts.append(
          RetryFailure.Attempt(
            number: call.attempts, startedAt: attemptBegan, duration: now - attemptBegan, error: timedOut))
      }
      return RetryFailure(lastError: attempts.last?.error ?? timedOut, attempts: attempts, stopReason: .deadline)
    }
    end(.failure(.inaccessible(failure)), .gaveUp(.deadline))
  }

  private func end(_ result: Answer, _ event: NetworkEvent.Kind, fromTransport: Bool = false) {
    lock.lock()
    let (answer, flight, waits) = (answer, flight, (wait, deadlineWait))
    self.answer = nil
    self.flight = nil
    lock.unlock()
    guard let answer else { return }
    flight?.cancel()
    if let wait = waits.0 { clock.cancel(wait) }
    if let wait = waits.1 { clock.cancel(wait) }
    if policy.onEvent != nil { emit(event) }
    answer(result, fromTransport)
  }

  private func emit(_ kind: NetworkEvent.Kind) {
    let attempt = lock.withLock { call.attempts }
    policy.onEvent?(NetworkEvent(request: request, attempt: attempt, elapsed: clock.now - began, kind: kind))
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

nonisolated extension RequestFacts {
  init(_ request: URLRequest) {
    method = request.httpMethod ?? "GET"
    hasIdempotencyKey = ["Idempotency-Key", "X-Idempotency-Key"].contains {
      request.value(forHTTPHeaderField: $0)?.isEmpty == false
    }
    hasBodyStream = request.httpBodyStream != nil
  }
}
