/// A call that was started with a completion handler. Letting go of it does not end the call.
nonisolated public struct NetworkTask: Sendable {
  enum Carrier: Sendable {
    case attempt(RetryAttempt)
    case retries(Task<Void, Never>)
  }
  private struct State: Sendable {
    var isCancelled = false
    var hasEnded = false
    var carrier: Carrier?
  }
  private let state = NetworkLock(State())

  /// Ends the call, in flight or waiting: the completion handler gets `.failure(.cancelled)`, and nothing more is sent; a
  /// request that is on its way may still reach the server. Does nothing once the call has ended. May be called from any
  /// thread, more than once.
  public func cancel() {
    let carrier = state.withLock { state in
      state.isCancelled = true
      return state.carrier
    }
    carrier?.cancel()
  }

  /// What `cancel()` ends from now on.
  func isCarriedOut(by carrier: Carrier) {
    let isCancelled = state.withLock { state in
      if !state.hasEnded { state.carrier = carrier }
      return state.isCancelled
    }
    if isCancelled { carrier.cancel() }
  }

  /// The call has ended: a handle that is kept keeps nothing of it.
  func end() {
    // Released without the lock: what it captured may cancel another call in its deinit.
    _ = state.withLock { state in
      defer { (state.carrier, state.hasEnded) = (nil, true) }
      return state.carrier
    }
  }
}

nonisolated extension NetworkTask.Carrier {
  fileprivate func cancel() {
    switch self {
    case .attempt(let attempt): attempt.cancel()
    case .retries(let task): task.cancel()
    }
  }
}
