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

  /// The fields, with “…” in place of a sensitive value, and of one that may have the user information, the query or the
  /// fragment of a URL, such as Location.
  public var description: String {
    map { name, value in
      let mayBeSecret = NetworkSensitiveHeader.matches(name, value) || value.utf8.contains(where: "?#@".utf8.contains)
      return "\(name): \(mayBeSecret ? "…" : value)"
    }.joined(separator: ", ")
  }
}
