import Foundation

nonisolated extension URL {
  /// The absolute URL that a server refers to, for example in Location; nil if the text is no reference (RFC 3986
  /// §4.1).
  ///
  /// Characters that a URL cannot have are encoded, and escapes remain as they are. `URL(string:)` encodes the `%` of
  /// an escape again if it stands beside such a character, and a signature in the URL would no longer be valid.
  static func networkReference(_ text: String, relativeTo base: URL?) -> URL? {
    let all = text.utf8[...]
    let scheme = all.prefix { !":/?#".utf8.contains($0) }
    let afterScheme = all.dropFirst(scheme.count)
    let rest = afterScheme.first == UInt8(ascii: ":") ? afterScheme.dropFirst() : all
    let hasHost = Array(rest.prefix(2)) == Array("//".utf8)
    // The host is left to Foundation, because an internationalized one is not percent-encoded.
    let path = hasHost ? rest.dropFirst(2).drop { !"/?#".utf8.contains($0) } : all
    // A later “#” belongs to the fragment, which cannot contain one.
    let beforeFragment = path.prefix { $0 != UInt8(ascii: "#") }
    let fragment = path[beforeFragment.endIndex...]
    var encoded = networkEncoded(Substring(beforeFragment))
    if !fragment.isEmpty { encoded += "#" + networkEncoded(Substring(fragment.dropFirst())) }
    return URL(string: Substring(all[..<path.startIndex]) + encoded, relativeTo: base)?.absoluteURL
  }

  /// Encodes what is neither a character of a path or a query nor an escape.
  private static func networkEncoded(_ text: Substring) -> String {
    let pieces = text.utf8.split(separator: UInt8(ascii: "%"), omittingEmptySubsequences: false).map {
      String(Substring($0)).addingPercentEncoding(withAllowedCharacters: networkCharacters) ?? ""
    }
    return pieces.dropFirst().reduce(into: pieces.first ?? "") { encoded, piece in
      let isEscape = piece.prefix(2).filter(\.isHexDigit).count == 2
      encoded += (isEscape ? "%" : "%25") + piece
    }
  }

  /// The characters of a path or a query (RFC 3986 §§3.3, 3.4), without `%`.
  private static let networkCharacters = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?@!$&'()*+,;=")
}
