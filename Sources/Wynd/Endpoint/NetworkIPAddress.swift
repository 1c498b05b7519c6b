import Foundation

/// The system's own parser of IP addresses.
nonisolated enum NetworkIPAddress {
  /// Whether the text is an address of this family, `AF_INET` or `AF_INET6`.
  static func isValid(_ text: String, _ family: Int32) -> Bool {
    // A C string ends at NUL.
    if text.utf8.contains(0) { return false }
    // The size of an IPv6 address.
    return withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { address in
      inet_pton(family, text, address.baseAddress) == 1
    }
  }
}
