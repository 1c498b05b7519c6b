import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Ends a request that takes longer than ``RetryPolicy/attemptTimeout``, as if it had timed out. The time that middleware
/// takes does not count: a person may sign in meanwhile.
nonisolated struct NetworkTimedTransport: NetworkTransport {
  let transport: any NetworkTransport
  let timeout: Swift.Duration
  let clock: any RetryClock

  func send(_ outgoing: NetworkOutgoing, _ completion: NetworkAttemptCompletion) {
    let cancelTimer = completion.setTimer(after: timeout, .timedOut, clock)
    var outgoing = outgoing
    if let bodies = outgoing.bodies, !bodies.isUpload {
      // The body of a download or a stream may take as long as it does.
      outgoing.bodies?.onHead = { head in
        // The body of an error is a part of it.
        if head.statusCode < 400 { cancelTimer() }
        try bodies.onHead(head)
      }
    }
    transport.send(outgoing, completion)
  }
}
