import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Keeps credentials with the origin they were meant for.
///
/// URLSession carries custom headers (X-Api-Key) to whatever host a redirect names, and on Apple's platforms drops
/// `Authorization` even where the host stays the same.
nonisolated final class RedirectGuard: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
  // A task's delegate methods are called one after the other, and before its completion handler.
  private var current: URLRequest
  private(set) var hasFollowed = false
  weak var task: URLSessionTask?

  init(_ request: URLRequest) { current = request }

  var hasSentBody: Bool { task?.countOfBytesSent ?? 0 > 0 }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    hasFollowed = true
    let next = Self.request(request, after: current, additional: session.configuration.httpAdditionalHeaders)
    session.askDelegateAboutRedirect(task: task, redirect: response, to: next) { [self] chosen in
      if let chosen { current = chosen }
      completionHandler(chosen)
    }
  }

  /// `next` as the redirect of `previous`: with its credentials if it stays with the same origin, without any if it leaves
  /// it, a step from https to http included (RFC 9110 §15.4).
  static func request(_ next: URLRequest, after previous: URLRequest, additional: [AnyHashable: Any]?) -> URLRequest {
    var next = next
    if origin(next.url) == origin(previous.url) {
      for name in ["Authorization", "Proxy-Authorization"] where next.value(forHTTPHeaderField: name) == nil {
        let own = additional?.first { ($0.key as? String)?.lowercased() == name.lowercased() }?.value as? String
        next.setValue(previous.value(forHTTPHeaderField: name) ?? own, forHTTPHeaderField: name)
      }
      return next
    }
    for (name, value) in next.allHTTPHeaderFields ?? [:] where isCredential(name, value) || name.lowercased() == "host"
    {
      next.setValue(nil, forHTTPHeaderField: name)
    }
    // The session would add these again to any request that lacks them; a blank value is sent as nothing.
    for case (let name as String, let value as String) in additional ?? [:] where isCredential(name, value) {
      next.setValue(" ", forHTTPHeaderField: name)
    }
    return next
  }

  /// From now on this header field counts as a credential, whatever its name: it never leaves its origin.
  static func protect(field name: String) { lock.withLock { _ = protected.insert(name.lowercased()) } }
  private static let lock = NSLock()
  nonisolated(unsafe) private static var protected: Set<String> = []

  /// Does this header field carry a secret? Nobody can know for sure: it does if its name sounds like one, or if its value
  /// begins with an authentication scheme.
  static func isCredential(_ name: String, _ value: String) -> Bool {
    let name = name.lowercased()
    if name == "idempotency-key" || name == "x-idempotency-key" { return false }
    return [
      "auth", "cookie", "token", "key", "secret", "passw", "passphrase", "credential", "session", "signature", "jwt",
    ]
    .contains { name.contains($0) }
      || ["sig", "pwd", "pin", "otp", "assertion"].contains(name)
      || ["basic ", "bearer ", "digest "].contains { value.lowercased().hasPrefix($0) }
      || lock.withLock { protected.contains(name) }
  }

  /// Scheme, host and port (RFC 9110 §4.3.1), with the scheme's own port where none is written.
  static func origin(_ url: URL?) -> String {
    let scheme = url?.scheme?.lowercased() ?? ""
    return "\(scheme)://\(url?.host?.lowercased() ?? ""):\(url?.port ?? (scheme == "https" ? 443 : 80))"
  }
}

// A task delegate hides the session's own: what it implements, that one no longer gets. So it is asked from here. The
// methods are optional on Apple's platforms, and have default implementations elsewhere.
nonisolated extension URLSession {
  func askDelegateAboutRedirect(
    task: URLSessionTask, redirect response: HTTPURLResponse, to request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    guard let delegate = delegate as? any URLSessionTaskDelegate else { return completionHandler(request) }
    #if canImport(FoundationNetworking)
      delegate.urlSession(
        self, task: task, willPerformHTTPRedirection: response, newRequest: request,
        completionHandler: completionHandler)
    #else
      if delegate.urlSession?(
        self, task: task, willPerformHTTPRedirection: response, newRequest: request,
        completionHandler: completionHandler) == nil
      {
        completionHandler(request)
      }
    #endif
  }
}
