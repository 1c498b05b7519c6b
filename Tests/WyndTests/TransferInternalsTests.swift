import Foundation
import LoopbackServer
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How the transfers work inside: these tests go with the parts that they drive.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct TransferInternalsTests {
  private let downloads = DownloadTests()
  private let streams = NetworkBytesTests()

  @Test func checksumsOfKnownTexts() {
    let million = Data(repeating: UInt8(ascii: "a"), count: 1_000_000)
    for (text, expected) in [
      (Data(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      (
        Data("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8),
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
      (million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ] {
      for size in [1_000_000, 63, 64, 65] where text.count < 1_000 || size == 1_000_000 {
        var digest = SHA256Digest()
        for start in stride(from: 0, to: max(text.count, 1), by: size) {
          digest.update(text[start..<min(start + size, text.count)])
        }
        #expect(digest.finish() == expected)
      }
    }
  }

  @Test func tokensStayInTheirFolderAndApart() {
    #expect(ResumeToken("a-1").fileName == "a-1")
    let names = ["", "/", "..", "../a", "a/b", "a_b", "ä", String(repeating: "a", count: 300)].map {
      ResumeToken($0).fileName
    }
    #expect(Set(names).count == names.count)
    #expect(names.allSatisfy { !$0.contains("/") && !$0.contains(".") && $0.utf8.count < 130 })
    #expect(ResumeToken() != ResumeToken())
  }

  /// A process was killed between the link and the removal: the part is the file, under its second name.
  @Test func aFileThatIsInPlaceIsNotEmptied() async throws {
    let folder = try Folder()
    let token = ResumeToken()
    try Data("whole".utf8).write(to: folder.file())
    try FileManager.default.linkItem(at: folder.file(), to: token.partial(in: folder.url))
    let server = try LoopbackServer { .file(Array("new".utf8), for: $0) }
    let options = DownloadOptions(ifExists: .number, resumeToken: token)
    let done = try await downloads.download(server, to: folder.file(), options).get()
    #expect(done.file.lastPathComponent == "file 2.bin")
    #expect(try String(contentsOf: folder.file(), encoding: .utf8) == "whole")
    #expect(folder.names == ["file 2.bin", "file.bin"])
  }

  @Test func whatWasReadToItsEndIsGone() async throws {
    let server = try LoopbackServer(script: .reset, .ok("all of it"))
    weak var buffer: ChunkBuffer?
    do {
      let bytes = try await streams.bytes(server)
      buffer = bytes.storage.buffer
      for try await _ in bytes {}
      #expect(buffer != nil)
    }
    await until { [weak buffer] in buffer == nil }
  }

  /// 4 MB for a reader that begins when all has come: 1 MB lies in memory, and every byte is there, in order.
  @Test func aSlowReaderCostsNoMemoryAndLosesNothing() async throws {
    let all = someBytes(4_000_000)
    let buffer = ChunkBuffer()
    for start in stride(from: 0, to: all.count, by: 16_000) {
      try buffer.append(Data(all[start..<min(start + 16_000, all.count)]))
    }
    buffer.finish(.success(()))
    #expect(buffer.bytesInMemory <= 1_048_576)
    var data = Data()
    while let piece = try await buffer.next() {
      #expect(piece.count <= 262_144)
      data += piece
    }
    #expect(data == Data(all))
    #expect(try await buffer.next() == nil)
  }

  @Test func aReaderAndAWriterAtOnceLoseNothing() async throws {
    let all = someBytes(1_500_000)
    let pressure = Box<[Bool]>([])
    let buffer = ChunkBuffer(limit: 100_000) { now in pressure.update { $0.append(now) } }
    let reader = Task {
      var data = Data()
      while let piece = try await buffer.next() { data += piece }
      return data
    }
    for start in stride(from: 0, to: all.count, by: 1_000) {
      try buffer.append(Data(all[start..<start + 1_000]))
      if start % 300_000 == 0 { await Task.yield() }
    }
    buffer.finish(.success(()))
    #expect(try await reader.value == Data(all))
    // Full, room, full, room: each is said once.
    let said = try #require(pressure.value)
    #expect(zip(said, said.dropFirst()).allSatisfy { $0 != $1 } && said.first ?? true)
  }
}
