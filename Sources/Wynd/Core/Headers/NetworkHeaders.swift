// Headers: the header fields and URLs of requests and responses: which are valid, which are secret, what a redirect
// keeps (NetworkRedirect), and how dates and numbers are read (NetworkDigits, beside NetworkHTTPDate). Text of a server
// goes through one function for each kind.

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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

nonisolated extension HTTPURLResponse {
  /// The value of a header field that may occur once; nil if the response does not have it.
  ///
  /// Some servers and proxies send such a field twice, and URLSession joins the values with “, ”. Equal values count as
  /// one. Different values remain joined, because it is not known which of them is right.
  func networkValue(of field: String) -> String? { value(forHTTPHeaderField: field).map(Self.withoutRepetitions) }

  /// `a` for `a, a`. A value may contain “, ” itself, as a date does.
  private static func withoutRepetitions(_ joined: String) -> String {
    let bytes = Array((joined + ", ").utf8)
    for length in stride(from: 2, through: bytes.count / 2, by: 1) where bytes.count.isMultiple(of: length) {
      let isRepeated = bytes.dropFirst(length).elementsEqual(bytes.dropLast(length))
      if isRepeated { return String(decoding: bytes.prefix(length - 2), as: UTF8.self) }
    }
    return joined
  }
}

nonisolated extension [String] {
  /// All texts are sorted here: for each other call of `sorted`, the compiler makes 3 KB of code.
  @inline(never)
  var networkSorted: [String] { sorted() }
}

nonisolated extension Dictionary where Key == String {
  /// The members, sorted by name.
  var networkSorted: [(key: String, value: Value)] {
    Array(keys).networkSorted.compactMap { name in self[name].map { (name, $0) } }
  }
}
