import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends one request, and returns its outcome. Canceling the task cancels the request.
///
/// Middleware, a download, an upload and a stream are functions that make one `NetworkSend` from another.
typealias NetworkSend = @Sendable (NetworkOutgoing) async -> NetworkOutcome

/// A request on its way to the session.
nonisolated struct NetworkOutgoing: Sendable {
  var request: URLRequest
  /// Whether the request is declared to only read; nil means what its method says.
  var isReadOnly: Bool?
  /// Nil if both bodies are in memory.
  var bodies: NetworkBodies?
  /// The names of header fields that another origin must not receive after a redirect, whatever they are called.
  var secretFields: Set<String> = []
  /// Whether the request may be repeated whatever has happened to it.
  var isSafeToRepeat: Bool { RepeatSafety(of: request, isReadOnly: isReadOnly).isSafe }
  /// Whether the request runs on a private session, because the app may have invalidated its own. The loop sets false
  /// for a plain first attempt only. On Linux, every request runs on one.
  var usesPrivateSession = true
  var hasBody: Bool {
    if bodies?.file != nil || bodies?.stream != nil { return true }
    return request.httpBodyStream != nil || request.httpBody?.isEmpty == false
  }
  #if !canImport(FoundationNetworking)
    /// Receives what URLSession measures.
    var metrics: NetworkLock<URLSessionTaskMetrics?>?
  #endif
}

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

/// The bodies of a transfer that are not in memory: the source of the request's body, and closures that receive the
/// response as it arrives. The closures are called serially, and not after the end of the attempt. An error that one of
/// them throws ends the attempt.
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
