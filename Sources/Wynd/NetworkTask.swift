/// A call that was started with a completion handler. Letting go of it does not end the call.
nonisolated public struct NetworkTask: Sendable {
  private struct State: Sendable {
    var isCancelled = false
    var hasEnded = false
    var cancel: (@Sendable () -> Void)?
  }
  private let state = NetworkLock(State())

  /// Ends the call, in flight or waiting: the completion handler gets `.failure(.cancelled)`, and nothing more is sent; a
  /// request that is on its way may still reach the server. Does nothing once the call has ended. May be called from any
  /// thread, more than once.
  public func cancel() {
    let cancel = state.withLock { state in
      state.isCancelled = true
      return state.cancel
    }
    cancel?()
  }

  /// What `cancel()` does from now on.
  func setCancellation(_ cancel: @escaping @Sendable () -> Void) {
    let isCancelled = state.withLock { state in
      if !state.hasEnded { state.cancel = cancel }
      return state.isCancelled
    }
    if isCancelled { cancel() }
  }

  /// The call has ended: a handle that is kept keeps nothing of it.
  func end() {
    // Released without the lock: what it captured may cancel another call in its deinit.
    _ = state.withLock { state in
      defer { (state.cancel, state.hasEnded) = (nil, true) }
      return state.cancel
    }
  }
}
