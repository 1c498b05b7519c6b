#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// A line for each attempt that failed and one for the outcome of each call, to wherever you like.
///
/// ```swift
/// let log = NetworkLog { print($0) }
/// policy.onEvent = log.onEvent
/// ```
///
/// URLs come without the values of their query. No credential and no cookie is in any line.
nonisolated public struct NetworkLog: Sendable {
  private let shownItems: Set<String>
  private let print: @Sendable (String) -> Void

  /// Makes a log.
  ///
  /// - Parameters:
  ///   - queryItems: Names of query items whose values are shown; none by default.
  ///   - print: Gets each line, on any thread; it must return quickly.
  public init(showing queryItems: Set<String> = [], print: @escaping @Sendable (String) -> Void) {
    shownItems = queryItems
    self.print = print
  }

  /// For ``RetryPolicy/onEvent``.
  public var onEvent: @Sendable (NetworkEvent) -> Void {
    { event in
      switch event.kind {
      case .attemptStarted, .willRetry: break
      case .attemptFailed, .succeeded, .gaveUp:
        print(event.text(url: event.request.url?.redactedForLog(showing: shownItems)))
      }
    }
  }
}

nonisolated extension URLRequest {
  /// The request as a command for a shell, which runs as it is.
  ///
  /// A secret is left out: in its place stands a variable of that name, `$AUTHORIZATION`, to be set before.
  public var cURL: String {
    var secrets: [String] = []
    func variable(_ name: String) -> String {
      let name = String(name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
      let variable = name.first?.isNumber == false ? name : "_" + name
      secrets.append(variable)
      return "\"$\(variable)\""
    }
    var words = ["curl"]
    let method = httpMethod ?? "GET"
    let hasBody = httpBody?.isEmpty == false || httpBodyStream != nil
    if method == "HEAD" {
      words.append("--head")
    } else if method != "GET" || hasBody {
      words += ["-X", Self.quoted(method)]
    }
    for (name, value) in (allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
      let isSecret = RedirectGuard.isCredential(name, value)
      words += ["-H", isSecret ? Self.quoted(name + ": ") + variable(name) : Self.quoted("\(name): \(value)")]
    }
    // It would add one of its own.
    if hasBody, value(forHTTPHeaderField: "Content-Type") == nil { words += ["-H", "'Content-Type:'"] }
    var source = ""
    if let body = httpBody, !body.isEmpty {
      if let text = String(data: body, encoding: .utf8), !text.utf8.contains(0) {
        words += ["--data-raw", Self.quoted(text)]
      } else {
        source = "echo \(body.base64EncodedString()) | base64 -d | "
        words += ["--data-binary", "@-"]
      }
    } else if httpBodyStream != nil {
      words += ["--data-binary", "@-"]
    }
    if var parts = url.flatMap({ URLComponents(url: $0, resolvingAgainstBaseURL: true) }) {
      if let user = parts.percentEncodedUser, !user.isEmpty { words += ["-u", variable("USER_PASSWORD")] }
      (parts.user, parts.password) = (nil, nil)
      let items = parts.percentEncodedQuery?.split(separator: "&").map(String.init) ?? []
      parts.percentEncodedQuery = nil
      parts.fragment = nil
      let query = items.map { item -> String in
        let name = String(item.prefix { $0 != "=" })
        guard item.contains("="), RedirectGuard.isCredential(name, "") else { return Self.quoted(item) }
        return Self.quoted(name + "=") + variable(name)
      }
      words.append(
        Self.quoted(parts.string ?? "")
          + (query.isEmpty ? "" : Self.quoted("?") + query.joined(separator: Self.quoted("&"))))
    }
    return source + words.joined(separator: " ")
  }

  /// One word for any POSIX shell.
  private static func quoted(_ text: String) -> String {
    "'" + text.replacingOccurrences(of: "'", with: "'\\''") + "'"
  }
}
