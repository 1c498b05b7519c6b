import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A task on the caller's session that stands for a request on a session of ours, and is never resumed.
///
/// `invalidateAndCancel()` on the caller's session cancels it, and with it the request; `finishTasksAndInvalidate()`
/// waits for it. It is canceled when it is released.
nonisolated final class NetworkPlaceholder: Sendable {
  private struct State: Sendable {
    var action: @Sendable () -> Void = {}
    /// The tasks of the session have been canceled.
    var hasEnded = false
  }
  private let task: URLSessionTask
  private let state: NetworkLock<State>

  /// The session must be valid: this is called inside the call of the app. Nil if it is known not to be.
  init?(on session: URLSession) {
    // A scheme that URLSession supports, because a task with another one never completes.
    guard let url = URL(string: "data:,") else { return nil }
    let state = NetworkLock(State())
    self.state = state
    let ended: @Sendable (Data?, URLResponse?, (any Error)?) -> Void = { _, _, _ in
      let action = state.withLock { state in
        state.hasEnded = true
        return state.action
      }
      action()
    }
    #if canImport(FoundationNetworking)
      let task = session.unlessInvalidated { session.dataTask(with: url, completionHandler: ended) }
      guard let task else { return nil }
      self.task = task
    #else
      task = session.dataTask(with: url, completionHandler: ended)
      task.delegate = AppleSilentDelegate()
    #endif
  }

  deinit {
    onSessionEnd {}
    #if canImport(FoundationNetworking)
      LinuxAttempt.queue.async { [task] in task.cancel() }
    #else
      task.cancel()
    #endif
  }

  /// Sets what happens when the session is invalidated and its tasks are canceled, and does it now if that is past.
  func onSessionEnd(_ action: @escaping @Sendable () -> Void) {
    // The previous closure is released outside the lock.
    let previous = state.withLock { state in
      defer { state.action = action }
      return state
    }
    if previous.hasEnded { action() }
  }
}
