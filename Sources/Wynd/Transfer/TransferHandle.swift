import Dispatch

/// An attempt whose request is prepared when it is resumed, because that reads or writes files: in the background, so that
/// the caller's thread does not wait for the disk.
nonisolated final class TransferHandle: NetworkRequestHandle {
  private struct State: Sendable {
    var isCancelled = false
    var request: (any NetworkRequestHandle)?
  }
  private let state = NetworkLock(State())
  private let isInBackground: Bool
  private let prepare: @Sendable (TransferHandle) -> (any NetworkRequestHandle)?

  /// `prepare`: returns nil if it has completed the attempt.
  init(isInBackground: Bool = true, _ prepare: @escaping @Sendable (TransferHandle) -> (any NetworkRequestHandle)?) {
    self.isInBackground = isInBackground
    self.prepare = prepare
  }

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  func resume() {
    // Not a global queue: the app may block its threads.
    if isInBackground {
      DispatchQueue(label: "Wynd.Transfer", qos: .userInitiated).async { self.start() }
    } else {
      start()
    }
  }

  private func start() {
    guard !isCancelled, let request = prepare(self) else { return }
    let isCancelled = state.withLock { state in
      if !state.isCancelled { state.request = request }
      return state.isCancelled
    }
    if isCancelled { request.cancel() } else { request.resume() }
  }

  func cancel() {
    let request = state.withLock { state in
      defer { state = State(isCancelled: true) }
      return state.request
    }
    request?.cancel()
  }
}
