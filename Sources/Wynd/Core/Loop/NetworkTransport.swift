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
/// replace it. It knows nothing of retries, middleware and caches.
nonisolated protocol NetworkTransport: Sendable {
  /// Validates the request and sends it, unless the attempt has ended already, and ends the attempt with the outcome.
  /// When this returns, the app may invalidate its session.
  func send(_ outgoing: NetworkOutgoing, _ completion: NetworkAttemptCompletion)
}

nonisolated extension NetworkTransport {
  /// Sends the request, and waits for its outcome.
  func send(_ outgoing: NetworkOutgoing) async -> NetworkOutcome {
    if _Concurrency.Task.isCancelled { return .cancelled }
    let completion = NetworkAttemptCompletion()
    return await completion.outcome { send(outgoing, completion) }
  }
}
