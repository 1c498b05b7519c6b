import Dispatch
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Makes the attempts of a transfer, on the transport of its session.
nonisolated struct TransferTransport: NetworkTransport {
  let base: any NetworkTransport
  let attempt: @Sendable (URLRequest, @escaping Completion) -> any NetworkRequestHandle

  var isInvalidated: Bool { base.isInvalidated }
  func validationError(for request: URLRequest) -> String? { base.validationError(for: request) }

  func prepare(
    _ request: URLRequest, _: StreamedBodies?, completion: @escaping Completion
  ) -> any NetworkRequestHandle { attempt(request, completion) }
}

/// An attempt whose request is prepared in `resume()`. If that reads or writes files, it happens in the background, so
/// that the caller's thread does not wait for the disk.
nonisolated final class DeferredRequestHandle: NetworkRequestHandle {
  private let state = NetworkLock<(isCancelled: Bool, request: (any NetworkRequestHandle)?)>((false, nil))
  private let isInBackground: Bool
  private let completion: NetworkTransport.Completion
  private let prepare: @Sendable (DeferredRequestHandle) throws -> any NetworkRequestHandle

  init(
    isInBackground: Bool = true, _ completion: @escaping NetworkTransport.Completion,
    prepare: @escaping @Sendable (DeferredRequestHandle) throws -> any NetworkRequestHandle
  ) {
    self.isInBackground = isInBackground
    self.completion = completion
    self.prepare = prepare
  }

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  func resume() {
    if !isInBackground { return start() }
    // Not a global queue, because the app may block its threads.
    DispatchQueue(label: "Wynd.Transfer", qos: .userInitiated).async { self.start() }
  }

  private func start() {
    if isCancelled { return }
    do {
      let request = try prepare(self)
      state.withLock { $0.request = request }
      // It may have been canceled in the meantime.
      if isCancelled { request.cancel() } else { request.resume() }
    } catch {
      completion(NetworkOutcome(error: NetworkError(transfer: error)))
    }
  }

  func cancel() {
    let request = state.withLock { state in
      defer { state = (true, nil) }
      return state.request
    }
    request?.cancel()
  }
}
