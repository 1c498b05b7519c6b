import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends a request, and returns the outcome. What middleware makes of it may send several. Canceling the task cancels
/// them.
///
/// Middleware, a download, an upload and a stream are functions that make one `NetworkSend` from another.
typealias NetworkSend = @Sendable (NetworkOutgoing) async -> NetworkOutcome

/// Hands requests to the network. The retry loop uses the network only through this protocol, so that a test can
/// replace it.
nonisolated protocol NetworkTransport: Sendable {
  /// Why the request cannot be sent; nil if it can.
  func validationError(for request: URLRequest) -> String?
  /// Sends the request, unless the attempt has ended already, and ends the attempt with the outcome. When this returns,
  /// the app may invalidate its session.
  func start(_ outgoing: NetworkOutgoing, _ completion: NetworkAttemptCompletion)
}

nonisolated extension NetworkTransport {
  /// Validates the request and sends it.
  func send(_ outgoing: NetworkOutgoing) async -> NetworkOutcome {
    if let reason = validationError(for: outgoing.request) {
      return NetworkOutcome(error: NetworkError.invalidRequest(reason: reason))
    }
    var outgoing = outgoing
    if outgoing.bodies?.stream != nil, let length = outgoing.bodies?.length {
      outgoing.request.setValue(String(length), forHTTPHeaderField: "Content-Length")
    }
    if _Concurrency.Task.isCancelled { return .cancelled }
    let completion = NetworkAttemptCompletion()
    return await completion.outcome { [outgoing] in start(outgoing, completion) }
  }
}
