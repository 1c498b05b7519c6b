/// An FNV-1a hash of 64 bits, the same in every process. It identifies text without storing it, but is not
/// cryptographic.
nonisolated enum NetworkHash {
  private static let offset: UInt64 = 0xcbf2_9ce4_8422_2325
  private static let prime: UInt64 = 0x0000_0100_0000_01b3

  /// 16 hexadecimal digits.
  static func text(of bytes: some Sequence<UInt8>) -> String {
    var hash = offset
    for byte in bytes {
      hash ^= UInt64(byte)
      hash &*= prime
    }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  static func text(of text: String) -> String { Self.text(of: text.utf8) }
}
