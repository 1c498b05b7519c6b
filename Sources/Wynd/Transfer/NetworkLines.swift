import Foundation

/// The lines of a response as they arrive.
nonisolated public struct NetworkLines: AsyncSequence, Sendable {
  /// A line without its line ending.
  public typealias Element = String
  let bytes: NetworkBytes

  /// Iterates over the lines.
  nonisolated public struct AsyncIterator: AsyncIteratorProtocol, Sendable, CustomStringConvertible {
    var bytes: NetworkBytes.AsyncIterator
    /// Whether a last line without a line ending is returned.
    var keepsLast = true
    var splitter = NetworkLineSplitter()
    var lines: ArraySlice<String> = []
    /// Nothing of the body.
    public var description: String { "an iterator over lines" }

    /// The next line, or nil at the end of the body.
    ///
    /// - Returns: A line without its line ending.
    /// - Throws: ``NetworkError``; ``TransferError/responseTooLarge(limit:)`` inside `.generalError` for a line of more
    ///   than 16 MB.
    public mutating func next() async throws -> String? {
      if _Concurrency.Task.isCancelled { throw NetworkError.cancelled }
      while lines.isEmpty {
        guard let data = try await bytes.next() else { return keepsLast ? splitter.finish() : nil }
        lines = try splitter.feed(data)[...]
      }
      return lines.popFirst()
    }
  }

  /// Makes an iterator.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes: bytes.makeAsyncIterator()) }
}

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
