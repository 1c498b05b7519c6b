#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

nonisolated extension URLRequest {
  /// The request as a command for a shell that sends the same. See ``cURL(redacting:)``.
  public var cURL: String { cURL(redacting: []) }

  /// The request as a command for a shell that sends the same; the body of a stream is read from its standard input.
  ///
  /// A secret is replaced by a shell variable of its name, such as `$AUTHORIZATION`, to be set before. A body with a word
  /// that sounds like a secret is `$BODY` as a whole.
  ///
  /// - Parameter names: Further header fields and query items that are secrets.
  /// - Returns: One line.
  public func cURL(redacting names: Set<String>) -> String {
    let names = Set(names.map { $0.lowercased() })
    // The shell sets these itself, so they cannot stand for a secret.
    var variables = ["PWD": "", "OLDPWD": "", "HOME": "", "PATH": "", "USER": "", "UID": "", "SHELL": ""]
    func quoted(_ text: String) -> String { "'" + text.replacingOccurrences(of: "'", with: "'\\''") + "'" }
    func isSecret(_ name: String, _ value: String = "") -> Bool {
      SensitiveHeader.matches(name, value) || names.contains(name.lowercased())
    }
    func variable(_ name: String) -> String {
      var variable = String(name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
      if variable.first?.isNumber != false { variable = "_" + variable }
      while variables[variable, default: name] != name { variable += "_" }
      variables[variable] = name
      return "\"$\(variable)\""
    }
    let body = httpBody ?? Data()
    let method = httpMethod ?? "GET"
    let hasBody = method != "HEAD" && (!body.isEmpty || httpBodyStream != nil)
    var words = ["curl", method == "HEAD" ? "--head" : "-X " + quoted(method)]
    if method == "GET", !hasBody { words.removeLast() }
    for (name, value) in (allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
      let text = value.isEmpty ? name + ";" : "\(name): \(value)"
      words += ["-H", isSecret(name, value) ? quoted(name + ": ") + variable(name) : quoted(text)]
    }
    if hasBody {
      // curl would add a Content-Type of its own.
      if value(forHTTPHeaderField: "Content-Type") == nil { words += ["-H", "'Content-Type:'"] }
      let bodyWords = body.split { !($0 == 45 || $0 == 95 || 48...57 ~= $0 || 65...90 ~= $0 || 97...122 ~= $0) }
      if bodyWords.contains(where: { isSecret(String(decoding: $0, as: UTF8.self)) }) {
        words += ["--data-raw", variable("body")]
      } else if let text = String(data: body, encoding: .utf8), !body.contains(0), 1..<100_000 ~= body.count {
        words += ["--data-raw", quoted(text)]
      } else {
        words += ["--data-binary", "@-"]
        // Linux takes no argument of more than 128 KiB.
        if !body.isEmpty { words.insert("echo \(body.base64EncodedString()) | base64 -d |", at: 0) }
      }
    }
    if var parts = url.flatMap({ URLComponents(url: $0, resolvingAgainstBaseURL: true) }) {
      if parts.percentEncodedUser?.isEmpty == false { words += ["-u", variable("USER_PASSWORD")] }
      let items = parts.percentEncodedQuery?.split(separator: "&", omittingEmptySubsequences: false).map { item in
        let name = String(item.prefix { $0 != "=" })
        let isShown = name == item || !isSecret(name.removingPercentEncoding ?? name)
        return isShown ? quoted(String(item)) : quoted(name + "=") + variable(name)
      }
      (parts.user, parts.password, parts.percentEncodedQuery, parts.fragment) = (nil, nil, nil, nil)
      let query = items.map { quoted("?") + $0.joined(separator: quoted("&")) } ?? ""
      words += ["--url", quoted(parts.string ?? "") + query]
    }
    return words.joined(separator: " ")
  }
}
