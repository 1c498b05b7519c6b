/// A handle to a call with a completion handler. Releasing it does not end the call.
nonisolated public struct NetworkTask: Sendable {
  private enum Progress: Sendable {
    /// The call waits for the completion of its first attempt.
    case waiting(NetworkAttemptCompletion)
    /// The call continues in a task.
    case running(_Concurrency.Task<Void, Never>)
    case cancelled
    case ended
  }
  private let progress: NetworkLock<Progress>

  /// A call that has ended already.
  init() { progress = NetworkLock(.ended) }

  /// A call whose first request has been sent.
  init(waitingFor completion: NetworkAttemptCompletion) { progress = NetworkLock(.waiting(completion)) }

  /// A call that is async work.
  init(_ work: @escaping @Sendable () async -> Void) {
    progress = NetworkLock(.running(_Concurrency.Task { await work() }))
  }

  /// Cancels the call, even while it waits for a retry. The completion handler receives `.failure(.cancelled)`. No
  /// further request is sent, but one that is in flight may still reach the server. Does nothing after the end of the
  /// call.
  public func cancel() {
    let before = progress.withLock { progress in
      defer { if case .waiting = progress { progress = .cancelled } }
      return progress
    }
    switch before {
    case .waiting(let completion): completion.cancel()
    case .running(let task): task.cancel()
    case .cancelled, .ended: break
    }
  }

  /// A call starts at once.
  @available(*, unavailable, message: "The call has started already: remove `.resume()`")
  public func resume() {}

  /// Continues the call with async work, which `cancel()` cancels.
  func run(_ work: @escaping @Sendable () async -> Void) {
    progress.withLock { progress in
      let isCanceled = if case .cancelled = progress { true } else { false }
      let task = _Concurrency.Task {
        // Not from outside, because the work may have started by then.
        if isCanceled { withUnsafeCurrentTask { $0?.cancel() } }
        await work()
      }
      progress = .running(task)
    }
  }

  /// Lets go of the call, so that a handle that is kept does not keep it in memory.
  func end() {
    // Released outside the lock: a deinit of what the call captured may cancel another call.
    _ = progress.withLock { progress in
      defer { progress = .ended }
      return progress
    }
  }
}
