/// A handle to a call with a completion handler. Releasing it does not end the call.
nonisolated public struct NetworkTask: Sendable {
  private struct State: Sendable {
    var isCancelled = false
    var cancel: (@Sendable () -> Void)?
  }
  private let state = NetworkLock(State())
  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Cancels the call, also while it waits for a retry. The completion handler receives `.failure(.cancelled)`. No
  /// further request is sent, but one that is in flight may still reach the server. Does nothing after the end of the
  /// call.
  public func cancel() {
    state.withLock { $0.isCancelled = true }
    state.withLock { $0 }.cancel?()
  }

  /// A call starts at once.
  @available(*, unavailable, message: "The call has started already: remove `.resume()`")
  public func resume() {}

  /// Sets what `cancel()` does, and does it now if the call is canceled already. Nil at the end of the call, so that a
  /// handle that is kept does not keep the call in memory.
  func setCancellation(_ cancel: (@Sendable () -> Void)?) {
    // Released outside the lock: a deinit of what it captured may cancel another call. The whole state is returned,
    // because a closure alone would be wrapped in another one, which is allocated.
    _ = state.withLock { state in
      defer { state.cancel = cancel }
      return state
    }
    // If `cancel()` is called in between, the closure is called twice, which has no effect.
    if isCancelled { cancel?() }
  }

  /// Runs async work, which `cancel()` cancels.
  func run(_ work: @escaping @Sendable () async -> Void) {
    let running = Task {
      // `cancel()` may have been called before this task existed.
      if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
      await work()
    }
    setCancellation { running.cancel() }
  }
}
