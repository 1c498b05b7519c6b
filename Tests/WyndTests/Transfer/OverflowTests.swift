import Foundation
import Testing

@testable import Wynd

/// What a slow reader has not read yet is kept on the disk, and only that.
@Suite(.timeLimit(.minutes(5))) struct OverflowTests {
  private func bytesOnDisk(_ overflow: NetworkOverflow) throws -> UInt64 {
    try overflow.parts.reduce(0) { try $0 + $1.file.handle.seekToEnd() }
  }

  /// The reader never catches up, and the files that it has read are removed nevertheless.
  @Test func removesReadFilesWhileTheReaderIsBehind() throws {
    var overflow = NetworkOverflow()
    let chunk = Data(someBytes(1_048_576))
    var unread = 0
    func read(until limit: Int) throws {
      while unread > limit { unread -= try overflow.readNext().count }
    }
    for _ in 0..<10 {
      for _ in 0..<8 {
        try overflow.append(chunk)
        unread += chunk.count
      }
      try read(until: 4 * chunk.count)
      #expect(!overflow.isEmpty)
      #expect(try bytesOnDisk(overflow) <= UInt64(unread + NetworkOverflow.fileSize))
    }
    try read(until: 0)
    #expect(try overflow.isEmpty && bytesOnDisk(overflow) == 0)
  }

  @Test func keepsTheOrderOfBytes() throws {
    var overflow = NetworkOverflow()
    let bytes = Data(someBytes(3 * NetworkOverflow.fileSize + 12_345))
    var rest = bytes[...]
    var read = Data()
    var size = 1
    while !rest.isEmpty {
      try overflow.append(Data(rest.prefix(size)))
      rest = rest.dropFirst(size)
      size = size * 3 + 1
      if size > 3_000_000 { size = 1_000_003 }
      read += try overflow.readNext()
    }
    while !overflow.isEmpty { read += try overflow.readNext() }
    #expect(read == bytes)
    #expect(try overflow.readNext().isEmpty)
  }
}
