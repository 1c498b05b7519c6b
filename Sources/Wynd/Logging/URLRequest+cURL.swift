#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

nonisolated extension URLRequest {
  /// A `curl` command that sends the same request.
  ///
  /// Secrets are replaced by shell variables, which have to be set first: `$HEADER_AUTHORIZATION`, `$QUERY_TOKEN`, or
  /// `$USER_PASSWORD` for the user name and password in the URL. So is a value that contains a word that looks like the
  /// name of a secret, such as a URL with a token in its query. The body is read from standard input (`… < body`) if it
  /// is a stream, is not text, has 100,000 bytes or more, or contains such a word.
  ///
  /// - Parameter names: Additional header fields and query items that are secrets.
  /// - Returns: The command, on one line.
  public func cURL(redacting names: Set<String> = []) -> String {
    func quoted(_ text: String) -> String { "'" + text.replacingOccurrences(of: "'", with: "'\\''") + "'" }
    func isSecret(_ name: String, _ value: String = "") -> Bool {
      NetworkSensitiveHeader.matches(name, value) || names.contains { $0.lowercased() == name.lowercased() }
    }
    /// Whether a word of the text looks like the name of a secret. The text may be a URL with a query of its own.
    func mentionsSecret(_ text: String) -> Bool {
      let words = Set(text.split { !$0.isLetter && !$0.isNumber && $0 != "-" && $0 != "_" })
      return words.contains { isSecret(String($0)) }
    }
    func pair(_ name: String, _ separator: String, _ value: String, _ place: String) -> String {
      let text = value.replacingOccurrences(of: "+", with: " ")
      let readable = text.removingPercentEncoding ?? text
      let isShown = !isSecret(name.removingPercentEncoding ?? name, readable) && !mentionsSecret(readable)
      if isShown { return quoted(name + separator + value) }
      let variable = (place + name.uppercased()).map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }
      return quoted(name + separator) + "\"$\(String(variable))\""
    }
    var words = ["curl", httpMethod == "HEAD" ? "--head" : "-X " + quoted(httpMethod ?? "GET")]
    for (name, value) in (allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
      words += ["-H", value.isEmpty ? quoted(name + ";") : pair(name, ": ", value, "HEADER_")]
    }
    if httpMethod != "HEAD", httpBody?.isEmpty == false || httpBodyStream != nil {
      // Without this, curl would add its own Content-Type.
      if value(forHTTPHeaderField: "Content-Type") == nil { words += ["-H", "'Content-Type:'"] }
      // On Linux, an argument is limited to 128 KiB.
      let text = httpBody.flatMap { $0.count < 100_000 ? String(data: $0, encoding: .utf8) : nil } ?? "\0"
      let isShown = !text.utf8.contains(0) && !mentionsSecret(text)
      words += isShown ? ["--data-raw", quoted(text)] : ["--data-binary", "@-"]
    }
    if url?.user?.isEmpty == false { words += ["-u", "\"$USER_PASSWORD\""] }
    let items = url?.query(percentEncoded: true)?.split(separator: "&", omittingEmptySubsequences: false).map { item in
      let halves = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      return halves.count == 1 ? quoted(halves[0]) : pair(halves[0], "=", halves[1], "QUERY_")
    }
    let address = url?.networkAddress?.absoluteString.prefix { $0 != "?" } ?? ""
    words += ["--url", quoted(String(address)) + (items.map { quoted("?") + $0.joined(separator: quoted("&")) } ?? "")]
    return words.joined(separator: " ")
  }
}
