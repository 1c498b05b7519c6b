/// Completes an attempt, or one of its requests, once: with the outcome of its request, at the deadline, or when it is
/// canceled. The first of these counts. Copies share the state.
nonisolated struct NetworkAttemptCompletion: Sendable {
  private struct State: Sendable {
    var outcome: NetworkOutcome?
    var waiting: CheckedContinuation<NetworkOutcome, Never>?
    var onEnd: (@Sendable (NetworkOutcome) -> Void)?
    var cancelRequest: (@Sendable () -> Void)?
    var cancelTimers: [@Sendable () -> Void] = []
  }
  private let state = NetworkLock(State())

  var hasEnded: Bool { state.withLock { $0.outcome != nil } }

  /// Cancels the request, and ends without waiting for it.
  func cancel(_ outcome: NetworkOutcome = .cancelled) { end(outcome, cancelsRequest: true) }

  /// May be called at any time, from any thread.
  func end(_ outcome: NetworkOutcome, cancelsRequest: Bool = false) {
    // The closures are released outside the lock: a deinit of what they captured may cancel another call.
    let ended = state.withLock { state -> State? in
      guard state.outcome == nil else { return nil }
      defer { state = State(outcome: outcome) }
      return state
    }
    guard let ended else { return }
    for cancelTimer in ended.cancelTimers { cancelTimer() }
    if cancelsRequest { ended.cancelRequest?() }
    ended.waiting?.resume(returning: outcome)
    ended.onEnd?(outcome)
  }

  /// Changes the state, and returns nil. If the attempt has ended already, returns its outcome instead.
  private func unlessEnded(_ change: (inout State) -> Void) -> NetworkOutcome? {
    state.withLock { state in
      if state.outcome == nil { change(&state) }
      return state.outcome
    }
  }

  /// Sets what a cancellation does, and does it at once if the attempt has ended already.
  func onCancel(_ cancelRequest: @escaping @Sendable () -> Void) {
    if unlessEnded({ $0.cancelRequest = cancelRequest }) != nil { cancelRequest() }
  }

  /// Calls the closure with the outcome, on the thread that ends the attempt. If that has ended already, returns the
  /// outcome instead.
  func onEnd(_ action: @escaping @Sendable (NetworkOutcome) -> Void) -> NetworkOutcome? {
    unlessEnded { $0.onEnd = action }
  }

  /// Cancels the request after this time, and ends with this outcome. Returns a closure that cancels the timer.
  @discardableResult
  func setTimer(
    after timeLeft: Swift.Duration, _ outcome: NetworkOutcome, _ clock: any RetryClock
  ) -> @Sendable () -> Void {
    let cancelTimer = clock.timer(after: timeLeft) { cancel(outcome) }
    if unlessEnded({ $0.cancelTimers.append(cancelTimer) }) != nil { cancelTimer() }
    return cancelTimer
  }

  /// Calls `start`, and waits for the outcome, once. Canceling the task cancels the request, even while it starts, and
  /// does not wait for its end.
  func outcome(after start: () -> Void = {}) async -> NetworkOutcome {
    await withTaskCancellationHandler {
      start()
      return await withCheckedContinuation { waiting in
        if let outcome = unlessEnded({ $0.waiting = waiting }) { waiting.resume(returning: outcome) }
      }
    } onCancel: {
      cancel()
    }
  }
}
