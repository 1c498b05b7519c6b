import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A task on the caller's session that stands for a transfer on a session of ours, and is never resumed.
///
/// `invalidateAndCancel()` on the caller's session cancels it, and with it the transfer; `finishTasksAndInvalidate()`
/// waits for it. It is canceled when it is released.
nonisolated final class NetworkPlaceholder: Sendable {
  private let task: URLSessionTask
  private let action: NetworkLock<@Sendable () -> Void>

  /// The session must be valid: this is called inside the call of the app.
  init?(on session: URLSession) {
    // A scheme that URLSession supports, because a task with another one never completes.
    guard let url = URL(string: "data:,") else { return nil }
    let action = NetworkLock<@Sendable () -> Void>({})
    self.action = action
    task = session.dataTask(with: url) { _, _, _ in
      let action = action.withLock { $0 }
      action()
    }
    #if !canImport(FoundationNetworking)
      task.delegate = AppleSilentDelegate()
    #endif
  }

  deinit {
    action.withLock { $0 = {} }
    #if canImport(FoundationNetworking)
      LinuxAttempt.queue.async { [task] in task.cancel() }
    #else
      task.cancel()
    #endif
  }

  /// Sets what happens when the session is invalidated and its tasks are canceled.
  func onSessionEnd(_ newAction: @escaping @Sendable () -> Void) {
    // The previous closure is released outside the lock.
    _ = action.withLock { action in
      defer { action = newAction }
      return action
    }
  }
}
