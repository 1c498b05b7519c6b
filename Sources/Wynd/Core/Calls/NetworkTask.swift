/// A handle to a call with a completion handler. Releasing it does not end the call.
nonisolated public struct NetworkTask: Sendable {
  private struct State: Sendable {
    var isCanceled = false
    /// Cancels what the call is waiting for.
    var action: (@Sendable () -> Void)?
  }
  private let state = NetworkLock(State())

  init() {}

  /// A call that is async work.
  init(_ work: @escaping @Sendable () async -> Void) { run(work) }

  /// Cancels the call, even while it waits for a retry. The completion handler receives `.failure(.cancelled)`. No
  /// further request is sent, but one that is in flight may still reach the server. Does nothing after the end of the
  /// call.
  public func cancel() {
    let action = state.withLock { state in
      state.isCanceled = true
      return state.action.take()
    }
    action?()
  }

  /// A call starts at once.
  @available(*, unavailable, message: "The call has started already: remove `.resume()`")
  public func resume() {}

  /// Sets what `cancel()` does. Nil at the end of the call, so that a handle that is kept does not keep it in memory.
  func onCancel(_ action: (@Sendable () -> Void)?) {
    // Released outside the lock: a deinit of what the call captured may cancel another call.
    _ = state.withLock { state in
      defer { state.action = action }
      return state.action
    }
  }

  /// Continues the call with async work, which `cancel()` cancels.
  func run(_ work: @escaping @Sendable () async -> Void) {
    state.withLock { state in
      let isCanceled = state.isCanceled
      let task = _Concurrency.Task {
        // Not from outside, because the work may have started by then.
        if isCanceled { withUnsafeCurrentTask { $0?.cancel() } }
        await work()
      }
      state.action = { task.cancel() }
    }
  }
}
