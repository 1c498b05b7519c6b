import Foundation

/// The header fields of a response. The case of a name does not matter: HTTP/2 sends names in lowercase.
///
/// ```swift
/// let response = try await session.networkResponse(for: url)
/// let total = response.headers["X-Total"]
/// for (name, value) in response.headers { print(name, value) }
/// ```
nonisolated public struct NetworkHeaders: Sendable, Equatable, Sequence, CustomStringConvertible {
  /// The names, as they were received, and the values.
  public let dictionary: [String: String]

  /// The fields of a response, or those that a session adds to its requests.
  init(_ fields: [AnyHashable: Any]?) {
    dictionary = fields?.reduce(into: [:]) { $0["\($1.key)"] = $1.value as? String } ?? [:]
  }

  /// The value of a field; nil if there is none.
  public subscript(name: String) -> String? {
    dictionary[name] ?? dictionary.first { $0.key.lowercased() == name.lowercased() }?.value
  }

  /// Iterates over names and values, sorted by name.
  public func makeIterator() -> IndexingIterator<[(name: String, value: String)]> {
    dictionary.networkSorted.map { (name: $0.key, value: $0.value) }.makeIterator()
  }

  /// The fields, with “…” in place of a sensitive value, and of user information, query and fragment of each URL in a
  /// value.
  public var description: String {
    map { name, value in
      "\(name): \(NetworkSensitiveHeader.matches(name, value) ? "…" : Self.withoutSecretsOfURLs(value))"
    }.joined(separator: ", ")
  }

  /// A field such as Location or Link contains URLs. White space, a quote or an angle bracket ends one.
  private static func withoutSecretsOfURLs(_ value: String) -> String {
    var shown: [UInt8] = []
    var isHidden = false
    /// Where the host begins, or the user information before it.
    var authority: Int?
    for byte in value.utf8 {
      if " \t<>\"".utf8.contains(byte) {
        isHidden = false
        authority = nil
      }
      if isHidden { continue }
      if byte == UInt8(ascii: "@"), let authority { shown.replaceSubrange(authority..., with: "…".utf8) }
      shown.append(byte)
      if byte == UInt8(ascii: "/") { authority = Array(shown.suffix(2)) == Array("//".utf8) ? shown.count : nil }
      if "?#".utf8.contains(byte) {
        isHidden = true
        shown += "…".utf8
      }
    }
    return String(decoding: shown, as: UTF8.self)
  }
}
