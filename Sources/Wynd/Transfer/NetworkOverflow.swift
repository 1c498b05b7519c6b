import Foundation

/// What has arrived and does not fit into memory, in the order in which it arrived. It is kept in temporary files of a
/// limited size, each of which is removed when it has been read, so that the disk does not fill with what was read.
nonisolated struct NetworkOverflow: Sendable {
  struct Part: Sendable {
    let file: NetworkTemporaryFile
    let reader: FileHandle
    var written = 0
    var read = 0

    init() throws {
      file = try NetworkTemporaryFile()
      reader = try FileHandle(forReadingFrom: file.url)
      // An open file can be used after its name is removed, and does not remain on the disk if the process crashes.
      try FileManager.default.removeItem(at: file.url)
    }
  }

  /// After this number of bytes, the next file begins.
  static let fileSize = 8_388_608

  private(set) var parts: [Part] = []

  var isEmpty: Bool { parts.isEmpty }

  mutating func append(_ data: Data) throws {
    let isFull = (parts.last?.written ?? Self.fileSize) >= Self.fileSize
    if isFull { parts.append(try Part()) }
    try parts[parts.count - 1].file.handle.write(contentsOf: data)
    parts[parts.count - 1].written += data.count
  }

  /// Returns some of the next bytes, at most 256 KB. They are empty only if there are none.
  mutating func readNext() throws -> Data {
    guard let first = parts.first else { return Data() }
    let unread = first.written - first.read
    let data = try first.reader.read(upToCount: min(unread, 262_144)) ?? Data()
    if data.isEmpty { throw CocoaError(.fileReadCorruptFile) }
    parts[0].read += data.count
    if parts[0].read == parts[0].written { parts.removeFirst() }
    return data
  }
}
