import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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
  /// for a plain first attempt only. On Linux, every request runs on one.
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
