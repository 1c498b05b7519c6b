/// A handle to a call with a completion handler. Releasing it does not end the call.
///
/// A protocol of your own for tasks, with `resume()` and `cancel()`, is satisfied by
/// `extension NetworkTask: YourTask {}`.
nonisolated public struct NetworkTask: Sendable {
  private struct State: Sendable {
    var isCanceled = false
    /// Cancels what the call is waiting for.
    var action: (@Sendable () -> Void)?
    /// Starts a call that waits for `resume()`, or ends it if it has been canceled. Nil for any other call.
    var start: (@Sendable (_ isCanceled: Bool) -> NetworkTask?)?
  }
  private let state = NetworkLock(State())

  init() {}

  /// A call that is async work.
  init(_ work: @escaping @Sendable () async -> Void) { run(work) }

  /// A call that starts at `resume()`. The closure is called once, there or in `cancel()`.
  init(onResume start: @escaping @Sendable (_ isCanceled: Bool) -> NetworkTask?) {
    state.withLock { $0.start = start }
  }

  /// Starts a task of ``NetworkPerformer/networkDataTask(with:policy:completionHandler:)``. Does nothing to a task that
  /// has started, as those of all other methods have.
  public func resume() {
    guard let start = state.withLock({ $0.start.take() }), let call = start(false) else { return }
    let isCanceled = state.withLock { state in
      state.action = { call.cancel() }
      return state.isCanceled
    }
    // Canceled after `start` was taken, when there was no action yet.
    if isCanceled { call.cancel() }
  }

  /// Cancels the call, even while it waits for a retry or for `resume()`. The completion handler receives
  /// `.failure(.cancelled)`, or `URLError.cancelled` from `networkDataTask`. No further request is sent, but one that
  /// is in flight may still reach the server. Does nothing after the end of the call.
  public func cancel() {
    let (action, start) = state.withLock { state in
      state.isCanceled = true
      return (state.action.take(), state.start.take())
    }
    action?()
    _ = start?(true)
  }

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
