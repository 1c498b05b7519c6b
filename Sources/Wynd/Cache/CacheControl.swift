// Cache: a performer that stores responses and revalidates them (RFC 9111), with a store in memory and one on disk.
// It needs Core, Body, Endpoint and Client.
// Start with ResponseCache.swift.

/// The directives of a Cache-Control field (RFC 9111 §5.2).
nonisolated struct NetworkCacheControl: Sendable {
  private var directives: [String: String] = [:]

  init(_ field: String?) {
    let elements = NetworkListField.elements(of: field)
    for element in elements where directives[element.name] == nil {
      // If a directive is repeated, the first one is used (RFC 9111 §4.2.1).
      directives[element.name] = element.value ?? ""
    }
    if elements.contains(where: \.isMalformed) {
      // Nothing in such a field may make a response fresh, and it may have been meant as a restriction.
      directives = ["no-cache": "", "max-age": ""]
      if field?.lowercased().contains("no-store") == true { directives["no-store"] = "" }
    }
  }

  func has(_ name: String) -> Bool { directives[name] != nil }

  /// The max-age in seconds, at most 2³¹. An invalid value is 0 (RFC 9111 §4.2.1); nil means that there is no max-age.
  var maxAge: Int? {
    guard let value = directives["max-age"] else { return nil }
    // White space inside the quotes is not part of a number.
    let hasSpace = value.utf8.contains { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    guard !hasSpace, let seconds = NetworkDigits.clamped(value) else { return 0 }
    return min(seconds, 1 << 31)
  }
}
