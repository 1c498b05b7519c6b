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

/// A request on its way to the session.
nonisolated struct NetworkOutgoing: Sendable {
  var request: URLRequest
  /// The number of the attempt that the request belongs to, counted from 1.
  var attempt = 1
  /// Whether the request is declared to only read; nil means what its method says.
  var isReadOnly: Bool?
  /// How a transfer sends and receives its bodies; nil for a plain request.
  var bodies: NetworkBodies?
  /// The names of header fields that another origin must not receive after a redirect, whatever they are called.
  var secretFields: Set<String> = []
  /// Whether the request may be repeated whatever has happened to it.
  var isSafeToRepeat: Bool { RepeatSafety(of: request, isReadOnly: isReadOnly).isSafe }
  /// Whether the request runs on a private session, because the app may have invalidated its own. The loop sets false
  /// for a plain first attempt only. On Linux, every request runs on one (LinuxSession); on Apple's platforms none of
  /// `URLSession.shared`, which cannot be invalidated (AppleAttempt).
  var usesPrivateSession = true
  /// Whether the response must not go into the session's `URLCache`, on Apple's platforms.
  var bypassesURLCache = false
  var hasBody: Bool {
    if bodies?.file != nil || bodies?.stream != nil { return true }
    return request.httpBodyStream != nil || request.httpBody?.isEmpty == false
  }
  #if !canImport(FoundationNetworking)
    /// Receives what URLSession measures.
    var metrics: NetworkLock<URLSessionTaskMetrics?>?
  #endif

  /// Declares the length of a stream, if it is known. Only after the validation, which rejects one that the app has
  /// declared.
  mutating func setLengthOfStream() {
    guard bodies?.stream != nil, let length = bodies?.length else { return }
    request.setValue(String(length), forHTTPHeaderField: "Content-Length")
  }
}

/// How a transfer sends and receives its bodies: the source of the request's body, if that is not in `httpBody`, and
/// closures that receive the response as it arrives. The closures are called serially, and not after the end of the
/// attempt. An error that one of them throws ends the attempt.
nonisolated struct NetworkBodies: Sendable {
  /// The request is an upload: its body is not that of a form.
  var isUpload = false
  var file: URL?
  /// Makes a new stream each time the body is sent.
  var stream: (@Sendable () throws -> InputStream)?
  /// The number of bytes of the file or the stream; nil if it is not known.
  var length: Int64?
  var onHead: @Sendable (HTTPURLResponse) throws -> Void = { _ in }
  var onData: @Sendable (Data) throws -> Void
  /// Receives the number of bytes of the request's body that have been sent so far.
  var onSent: @Sendable (Int64) -> Void = { _ in }
  /// Receives the task, on Apple's platforms only, where it may be suspended.
  var onTask: @Sendable (URLSessionTask) -> Void = { _ in }
}

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
