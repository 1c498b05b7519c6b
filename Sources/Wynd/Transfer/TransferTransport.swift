import Dispatch
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Makes the attempts of a transfer, on the transport of its session.
nonisolated struct TransferTransport: NetworkTransport {
  let base: any NetworkTransport
  let attempt: @Sendable (URLRequest, @escaping Completion) -> any NetworkRequestHandle

  var forLaterAttempts: (any NetworkTransport)? { base.forLaterAttempts.map { _ in self } }
  func validationError(for request: URLRequest) -> String? { base.validationError(for: request) }

  func prepare(
    _ request: URLRequest, _: StreamedBodies?, completion: @escaping Completion
  ) -> any NetworkRequestHandle { attempt(request, completion) }
}

/// An attempt whose request is prepared in `resume()`. If that reads or writes files, it happens in the background, so
/// that the caller's thread does not wait for the disk.
nonisolated final class DeferredRequestHandle: NetworkRequestHandle {
  private let task = NetworkTask()
  private let isInBackground: Bool
  private let start: @Sendable (NetworkTask) -> Void

  /// The closure can see from its argument whether the attempt is canceled in the meantime.
  init(
    isInBackground: Bool = true, _ completion: @escaping NetworkTransport.Completion,
    prepare: @escaping @Sendable (NetworkTask) throws -> any NetworkRequestHandle
  ) {
    self.isInBackground = isInBackground
    start = { task in
      if task.isCancelled { return }
      do {
        let request = try prepare(task)
        task.setCancellation { request.cancel() }
        if !task.isCancelled { request.resume() }
      } catch {
        completion(NetworkOutcome(error: NetworkError(transfer: error)))
      }
    }
  }

  func resume() {
    if !isInBackground { return start(task) }
    // Not a global queue, because the app may block its threads.
    DispatchQueue(label: "Wynd.Transfer", qos: .userInitiated).async { [start, task] in start(task) }
  }

  func cancel() { task.cancel() }
}
