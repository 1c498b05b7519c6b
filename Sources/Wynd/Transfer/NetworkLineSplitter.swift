import Foundation

/// Splits bytes into lines. A line can be spread over several chunks.
nonisolated struct NetworkLineSplitter: Sendable {
  private var line: [UInt8] = []
  private var hasSeenCR = false
  /// The longest line, in bytes: an endless one would fill the memory.
  static let limit = 16_777_216

  mutating func feed(_ data: some Sequence<UInt8>) throws(NetworkError) -> [String] {
    var lines: [String] = []
    for byte in data {
      defer { hasSeenCR = byte == UInt8(ascii: "\r") }
      switch byte {
      case UInt8(ascii: "\n") where hasSeenCR: continue
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"): lines.append(finish() ?? "")
      default:
        if line.count >= Self.limit { throw .generalError(TransferError.responseTooLarge(limit: Self.limit)) }
        line.append(byte)
      }
    }
    return lines
  }

  /// The last line, if it has no line ending.
  mutating func finish() -> String? {
    defer { line.removeAll(keepingCapacity: true) }
    return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
  }
}
