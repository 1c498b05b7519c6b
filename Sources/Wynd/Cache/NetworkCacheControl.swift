// Cache: a performer that stores responses and revalidates them (RFC 9111), with a store in memory and one on disk.
// It needs Core, Body, Endpoint and Client.
// Read ResponseCache, NetworkCachedCall (what happens in a call, from top to bottom), StoredResponse (what a response
// says about itself), ResponseStore and ResponseFolder, in this order: none of them uses one before it.

/// The directives of a Cache-Control field (RFC 9111 §5.2).
nonisolated struct NetworkCacheControl: Sendable {
  let noStore, noCache, mustRevalidate: Bool
  /// In seconds, at most 2³¹. An invalid value is 0 (RFC 9111 §4.2.1); nil means that there is no max-age.
  let maxAge: Int64?

  init(_ field: String?) {
    let elements = NetworkListField.elements(of: field)
    // No key path: this file is compiled with an Int of 32 bits, in Embedded Swift.
    let names = elements.map { $0.name }
    // Nothing in such a field may make a response fresh, and it may have been meant as a restriction.
    let isMalformed = elements.contains { $0.isMalformed }
    noStore = names.contains("no-store") || (isMalformed && Self.namesNoStore(field ?? ""))
    noCache = names.contains("no-cache") || isMalformed
    mustRevalidate = names.contains("must-revalidate")
    // If a directive is repeated, the first one is used (RFC 9111 §4.2.1).
    maxAge = elements.first { $0.name == "max-age" }.map { Self.seconds($0.value ?? "") }
  }

  /// By its bytes: a mark after it would make another character of its last letter.
  private static func namesNoStore(_ field: String) -> Bool {
    String(field.lowercased().unicodeScalars.filter { $0.isASCII }).contains("no-store")
  }

  private static func seconds(_ value: String) -> Int64 {
    // White space inside the quotes is not part of a number.
    let hasSpace = value.utf8.contains { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    return hasSpace ? 0 : min(NetworkDigits.clamped(value) ?? 0, 1 << 31)
  }
}
