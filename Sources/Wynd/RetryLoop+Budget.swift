import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// What the loop does between two attempts, and says of the last one.
nonisolated extension RetryLoop {
  func decide(_ error: NetworkError, _ call: RetryCallState, step: Int, isOnQueue: Bool) {
    let facts = RetryRequestFacts(request)
    if teller != nil { emit(.attemptFailed(error, policy.safety(error, facts, call))) }
    switch policy.decision(error, facts, call, now: clock.date, random: clock.random()) {
    case .stop(let reason): stop(reason, isOnQueue: isOnQueue)
    case .retry(let delay, let source):
      lock.withLock { attempts[attempts.count - 1].delay = delay }
      emit(.willRetry(after: delay, source))
      // What never reached a server costs it nothing.
      let isShared = policy.budget != nil && error.burdensHost
      resume(after: delay, step: step, isShared: isShared)
    }
  }

  func resume(after delay: Duration, step: Int, isShared: Bool) {
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

  private var timeLeft: Duration? {
    policy.maxRetryTime.map { max(.zero, $0 - (clock.now - began) + lastSend.progressedAt) }
  }

  private func heldTooLong(step: Int) {
    if lock.withLock({ answer != nil && self.step == step }) { stop(.budget) }
  }

  /// What is known of the attempt that failed last.
  var lastSend: RetryCallState { lock.withLock { call } }
}
