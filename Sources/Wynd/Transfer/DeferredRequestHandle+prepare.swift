nonisolated extension DeferredRequestHandle {
  /// The request of a transfer is prepared in `resume()`. If that reads or writes files, it happens in the background,
  /// so that the caller's thread does not wait for the disk.
  convenience init(
    isInBackground: Bool = true, _ completion: @escaping NetworkTransport.Completion,
    prepare: @escaping @Sendable (NetworkTask) throws -> any NetworkRequestHandle
  ) {
    self.init { task in
      let start: @Sendable () -> Void = {
        if task.isCancelled { return }
        do {
          let request = try prepare(task)
          task.setCancellation { request.cancel() }
          if !task.isCancelled { request.resume() }
        } catch { completion(NetworkOutcome(error: NetworkError(transfer: error))) }
      }
      if !isInBackground { return start() }
      // Not a global queue, because the app may block its threads.
      DispatchQueue(label: "Wynd.Transfer", qos: .userInitiated).async(execute: start)
    }
  }
}
