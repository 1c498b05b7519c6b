#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// A line for each attempt that failed and one for how the attempts of a call ended, to wherever you like. What a cache
/// serves without asking makes no line.
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
  /// The request as a command for a shell, which runs as it is. See ``cURL(redacting:)``.
  public var cURL: String { cURL(redacting: []) }

  /// The request as a command for a shell, which runs as it is; a body stream is read from its input.
  ///
  /// A secret is left out: in its place stands a variable of that name, `$AUTHORIZATION`, to be set before. A body in which
  /// a word sounds like one is `$BODY` as a whole.
  ///
  /// - Parameter names: Further header fields and query items that are secrets.
  /// - Returns: One line.
  public func cURL(redacting names: Set<String>) -> String {
    // What a shell has set itself would be sent in place of the secret.
    var variables = ["PWD": "", "OLDPWD": "", "HOME": "", "PATH": "", "USER": "", "UID": "", "SHELL": ""]
    func variable(_ name: String) -> String {
      let letters = String(name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
      var variable = letters.first?.isNumber == false ? letters : "_" + letters
      while variables[variable, default: name] != name { variable += "_" }
      variables[variable] = name
      return "\"$\(variable)\""
    }
    func isSecret(_ name: String, _ value: String) -> Bool {
      SensitiveHeader.matches(name, value) || names.contains { $0.lowercased() == name.lowercased() }
    }
    var words = ["curl"]
    let method = httpMethod ?? "GET"
    let body = method == "HEAD" ? nil : httpBody.flatMap { $0.isEmpty ? nil : $0 }
    let hasBody = body != nil || httpBodyStream != nil
    if method == "HEAD" {
      words.append("--head")
    } else if method != "GET" || hasBody {
      words += ["-X", Self.quoted(method)]
    }
    for (name, value) in (allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
      let text = value.isEmpty ? name + ";" : "\(name): \(value)"
      words += ["-H", isSecret(name, value) ? Self.quoted(name + ": ") + variable(name) : Self.quoted(text)]
    }
    // It would add one of its own.
    if hasBody, value(forHTTPHeaderField: "Content-Type") == nil { words += ["-H", "'Content-Type:'"] }
    var source = ""
    if let body {
      let text = String(data: body, encoding: .utf8)
      let names = body.split { !($0 == 45 || $0 == 95 || 48...57 ~= $0 || 65...90 ~= $0 || 97...122 ~= $0) }
      if names.contains(where: { isSecret(String(decoding: $0, as: UTF8.self), "") }) {
        words += ["--data-raw", variable("body")]
      } else if let text, !text.utf8.contains(0), body.count < 100_000 {
        words += ["--data-raw", Self.quoted(text)]
      } else {
        // Linux takes no word of more than 128 KiB.
        source = "echo \(body.base64EncodedString()) | base64 -d | "
        words += ["--data-binary", "@-"]
      }
    } else if hasBody {
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
        guard item.contains("="), isSecret(name.removingPercentEncoding ?? name, "") else { return Self.quoted(item) }
        return Self.quoted(name + "=") + variable(name)
      }
      words += [
        "--url",
        Self.quoted(parts.string ?? "")
          + (query.isEmpty ? "" : Self.quoted("?") + query.joined(separator: Self.quoted("&"))),
      ]
    }
    return source + words.joined(separator: " ")
  }

  /// One word for any POSIX shell.
  private static func quoted(_ text: String) -> String {
    "'" + text.replacingOccurrences(of: "'", with: "'\\''") + "'"
  }
}
