import Foundation

/// The directives of a Cache-Control field (RFC 9111 §5.2).
nonisolated struct CacheControl {
  private var directives: [String: String] = [:]

  init(_ field: String?) {
    let parts = (field ?? "").utf8.split(separator: 44)
    // Nobody reads that many: the last might forbid what the first allows.
    if parts.count > 64 { directives["no-store"] = "" }
    for part in parts.prefix(64) {
      let pair = (String(part) ?? "").split(separator: "=", maxSplits: 1).map {
        $0.trimmingCharacters(in: .whitespaces).lowercased()
      }
      guard let name = pair.first, directives[name] == nil else { continue }
      directives[name] = pair.count > 1 ? pair[1] : ""
    }
  }

  func has(_ name: String) -> Bool { directives[name] != nil }

  /// Seconds. What cannot be read is 0 (RFC 9111 §4.2.1); nil if nothing is said.
  var maxAge: Int? {
    directives["max-age"].map { text in
      let digits =
        text.hasPrefix("\"") && text.hasSuffix("\"") && text.count > 1 ? String(text.dropFirst().dropLast()) : text
      guard !digits.isEmpty, digits.utf8.allSatisfy({ 48...57 ~= $0 }) else { return 0 }
      return min(Int(digits) ?? .max, 1 << 31)
    }
  }
}
