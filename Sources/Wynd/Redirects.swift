/// Scheme, host and port (RFC 9110 §4.3.1), with the scheme's own port where the URL has none.
nonisolated struct NetworkOrigin: Hashable, Sendable {
  let scheme, host: String
  let port: Int

  init(_ url: URL?) {
    scheme = url?.scheme?.lowercased() ?? ""
    host = url?.host?.lowercased() ?? ""
    port = url?.port ?? (scheme == "https" ? 443 : 80)
  }
}

/// The header fields that must not be sent to another origin, and must not be logged.
nonisolated enum SensitiveHeader {
  /// Whether a field probably holds a secret: a word of its name says so, or its value begins with an authentication
  /// scheme.
  static func matches(_ name: String, _ value: String = "") -> Bool {
    let lowercased = name.lowercased()
    if ["idempotency-key", "x-idempotency-key"].contains(lowercased) { return false }
    // "accessToken" and "APIKey" become "access-Token" and "API-Key". Whole words are compared, so X-Author and
    // X-Keyboard are ordinary fields.
    let separated = name.replacingOccurrences(
      of: "(?<=[a-z])(?=[A-Z])|(?=[A-Z][a-z])", with: "-", options: .regularExpression)
    let words = separated.lowercased().components(separatedBy: .letters.inverted).map { "-\($0)" }
    return words.contains { word in secrets.contains { word.hasSuffix($0) || word.hasSuffix($0 + "s") } }
      || ["basic ", "bearer ", "digest "].contains { value.lowercased().hasPrefix($0) }
      || added.withLock { $0.contains(lowercased) }
  }

  /// Makes a field sensitive, whatever its name. The last 64 such names are kept.
  static func add(_ name: String) {
    added.withLock { $0 = $0.filter { $0 != name.lowercased() }.suffix(63) + [name.lowercased()] }
  }
  private static let added = NetworkLock<[String]>([])

  // With a hyphen, only the whole word matches; without, also the end of a word (authtoken).
  private static let secrets = [
    "-authorization", "-authentication", "-authenticate", "-key", "-sig", "-sid", "-pin", "-pwd", "-otp", "-assertion",
    "auth", "cookie", "token", "secret", "password", "passwd", "passphrase", "passcode", "credential", "session",
    "sessionid", "sessid", "signature", "jwt", "apikey", "accesskey", "authkey", "secretkey", "privatekey",
  ]
}

/// Decides which header fields the request after a redirect has.
///
/// URLSession sends custom header fields (X-Api-Key) to any host that a redirect names. On Apple's platforms it drops
/// `Authorization` even if the host stays the same.
nonisolated enum Redirects {
  /// `next` with the credentials of `previous` if both have the same origin, otherwise without any (RFC 9110 §15.4).
  /// http and https are different origins. `additional` are the fields that the session adds to every request.
  static func request(_ next: URLRequest, after previous: URLRequest, additional: [AnyHashable: Any]?) -> URLRequest {
    var next = next
    if NetworkOrigin(next.url) == NetworkOrigin(previous.url) {
      for name in ["Authorization", "Proxy-Authorization"] where next.value(forHTTPHeaderField: name) == nil {
        let own = additional?.first { ($0.key as? String)?.lowercased() == name.lowercased() }?.value as? String
        next.setValue(previous.value(forHTTPHeaderField: name) ?? own, forHTTPHeaderField: name)
      }
      return next
    }
    for (name, value) in next.allHTTPHeaderFields ?? [:]
    where SensitiveHeader.matches(name, value) || name.lowercased() == "host" {
      next.setValue(nil, forHTTPHeaderField: name)
    }
    // The session would add these again to a request without them; a blank value is not sent.
    for case (let name as String, let value as String) in additional ?? [:] where SensitiveHeader.matches(name, value) {
      next.setValue(" ", forHTTPHeaderField: name)
    }
    return next
  }

  /// A method that the delegate of a task implements is no longer called on the session's delegate.
  static func askDelegate(
    of session: URLSession, task: URLSessionTask, redirect response: HTTPURLResponse, to request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    // An optional method on Apple's platforms.
    let ask = (session.delegate as? any URLSessionTaskDelegate)?
      .urlSession(_:task:willPerformHTTPRedirection:newRequest:completionHandler:)
    if let ask { ask(session, task, response, request, completionHandler) } else { completionHandler(request) }
  }
}

/// The delegate of a task. It rewrites the requests of redirects.
nonisolated final class RedirectHandler: NSObject, URLSessionTaskDelegate, Sendable {
  /// The request after the latest redirect.
  private let latest: NetworkLock<(request: URLRequest, hasFollowed: Bool)>

  init(_ request: URLRequest) { latest = NetworkLock((request, false)) }

  var hasFollowed: Bool { latest.withLock { $0.hasFollowed } }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    let previous = latest.withLock { $0.request }
    let next = Redirects.request(request, after: previous, additional: session.configuration.httpAdditionalHeaders)
    Redirects.askDelegate(of: session, task: task, redirect: response, to: next) { [latest] chosen in
      if let chosen { latest.withLock { $0 = (chosen, true) } }
      completionHandler(chosen)
    }
  }
}
