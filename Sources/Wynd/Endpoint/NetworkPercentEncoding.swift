import Foundation

/// Encodes text for a URL (RFC 3986 §2).
nonisolated enum NetworkPercentEncoding {
  /// Encodes everything except letters, digits and `-._~`.
  static func text(_ text: String, keeping kept: CharacterSet = Self.unreserved) -> String {
    // Foundation takes microseconds even if there is nothing to encode.
    if text.unicodeScalars.allSatisfy(kept.contains) { return text }
    return text.addingPercentEncoding(withAllowedCharacters: kept) ?? ""
  }
  /// A `?` is kept, so that `NetworkEndpointURL` rejects it, and says how to pass a query.
  static func path(_ path: String) -> String { text(path, keeping: pathCharacters) }
  static func query(_ items: [URLQueryItem]) -> String {
    items.map { text($0.name) + ($0.value.map { "=" + text($0) } ?? "") }.joined(separator: "&")
  }

  private static let unreserved = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
  /// “items:batchGet”, “Users(3)” and “@me” are not changed. `+` and `;` are encoded, because some servers interpret
  /// them as a space and as the end of the segment.
  private static let pathCharacters = unreserved.union(CharacterSet(charactersIn: "/!$&'()*,=:@?"))
}
