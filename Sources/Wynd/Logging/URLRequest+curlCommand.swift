#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

nonisolated extension URLRequest {
  /// A `curl` command that sends the same request.
  ///
  /// The values of header fields and query items whose names say that they are secret are replaced by shell variables,
  /// which have to be set first: `$HEADER_AUTHORIZATION`, `$QUERY_TOKEN`, or `$USER_PASSWORD` for the user name and
  /// password in the URL. So are values with control characters. The body is read from standard input (`… < body`) if it
  /// is a stream, is not text, has line breaks, other control characters or 100,000 bytes and more, or contains the name
  /// of a secret, such as “password”.
  ///
  /// - Parameter names: Additional header fields and query items that are secrets.
  /// - Returns: The command, on one line.
  public func curlCommand(redacting names: Set<String> = []) -> String {
    let command = NetworkCURLCommand(request: self, secretNames: names)
    return command.words.joined(separator: " ")
  }
}

/// The parts of a `curl` command.
nonisolated private struct NetworkCURLCommand {
  let request: URLRequest
  let secretNames: Set<String>

  var words: [String] { ["curl"] + method + headers + body + user + ["--url", url] }

  // MARK: The parts of the request

  private var method: [String] {
    if request.httpMethod == "HEAD" { return ["--head"] }
    return ["-X", quoted(request.networkMethod)]
  }

  private var headers: [String] {
    let fields = (request.allHTTPHeaderFields ?? [:]).networkSorted
    return fields.flatMap { name, value in
      // curl sends an empty field if its name is followed by a semicolon.
      let field = value.isEmpty ? quoted(name + ";") : pair(name, ": ", value, place: "HEADER_")
      return ["-H", field]
    }
  }

  private var body: [String] {
    let hasBody = request.httpBody?.isEmpty == false || request.httpBodyStream != nil
    if request.httpMethod == "HEAD" { return [] }
    if !hasBody { return lengthOfNoBody }
    let hasType = request.value(forHTTPHeaderField: "Content-Type") != nil
    // curl adds the same type to a POST as URLSession does, but also to any other method.
    let type = hasType || request.httpMethod == "POST" ? [] : ["-H", "'Content-Type:'"]
    guard let text = shownBody else { return type + ["--data-binary", "@-"] }
    return type + ["--data-raw", quoted(text)]
  }

  /// URLSession sends the length of an empty body, which a server may require (RFC 9110 §8.6).
  private var lengthOfNoBody: [String] {
    let isExpected = ["POST", "PUT", "PATCH"].contains(request.httpMethod)
    let isSet = request.value(forHTTPHeaderField: "Content-Length") != nil
    return isExpected && !isSet ? ["-H", "'Content-Length: 0'"] : []
  }

  /// The body as an argument of the command; nil if it cannot or must not be one.
  private var shownBody: String? {
    // On Linux, an argument is limited to 128 KiB.
    guard let data = request.httpBody, data.count < 100_000 else { return nil }
    guard let text = String(data: data, encoding: .utf8), isPrintable(text) else { return nil }
    return namesSecret(text) ? nil : text
  }

  private var user: [String] {
    let hasUser = request.url?.user?.isEmpty == false
    return hasUser ? ["-u", "\"$USER_PASSWORD\""] : []
  }

  private var url: String {
    let address = request.url?.redactedForLog.prefix { $0 != "?" } ?? ""
    guard let query = request.url?.query(percentEncoded: true) else { return quoted(String(address)) }
    let items = query.components(separatedBy: "&").map(queryItem)
    return quoted(String(address)) + quoted("?") + items.joined(separator: quoted("&"))
  }

  private func queryItem(_ item: String) -> String {
    guard let equals = item.firstIndex(of: "=") else { return quoted(item) }
    return pair(String(item[..<equals]), "=", String(item[equals...].dropFirst()), place: "QUERY_")
  }

  // MARK: Quotes and secrets

  /// Scalar by scalar, because a shell does not know that a combining mark belongs to the quote before it. A control
  /// character, which only an invalid method or name can have, would act on the terminal, or begin another command.
  private func quoted(_ text: String) -> String {
    let scalars = NetworkError.oneLine(text, .max).unicodeScalars.map { $0 == "'" ? "'\\''" : String($0) }
    return "'" + scalars.joined() + "'"
  }

  private func isPrintable(_ text: String) -> Bool { NetworkError.oneLine(text, .max) == text }

  /// A name and its value, or a shell variable in place of a value that is secret.
  private func pair(_ name: String, _ separator: String, _ value: String, place: String) -> String {
    let text = value.replacingOccurrences(of: "+", with: " ")
    let readableValue = text.removingPercentEncoding ?? text
    let isShown = isPrintable(value) && !isSecret(name.removingPercentEncoding ?? name, readableValue)
    if isShown { return quoted(name + separator + value) }
    let variable = (place + name.uppercased()).map { isOfVariable($0) ? $0 : "_" }
    return quoted(name + separator) + "\"$\(String(variable))\""
  }

  private func isOfVariable(_ character: Character) -> Bool {
    character.isASCII && (character.isLetter || character.isNumber)
  }

  private func isSecret(_ name: String, _ value: String = "") -> Bool {
    if NetworkSensitiveHeader.matches(name, value) { return true }
    return secretNames.contains { $0.lowercased() == name.lowercased() }
  }

  /// Whether a word of the text is the name of a secret.
  private func namesSecret(_ text: String) -> Bool {
    text.split { !isOfWord($0) }.contains { isSecret(String($0)) }
  }

  private func isOfWord(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "-" || character == "_"
  }
}
