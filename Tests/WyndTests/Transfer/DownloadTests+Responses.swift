import Foundation
import WyndLoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension DownloadTests {
  @Test(arguments: [
    ("bytes 0-6/7", "abcdefg"), ("bytes 0-6/*", nil), ("bytes 1-7/8", nil), ("bytes 0-5/6", nil), ("bytes 0-6/6", nil),
  ])
  func acceptsAnUnrequestedRangeOnlyIfItIsTheWholeFile(_ range: String, _ expected: String?) async throws {
    let server = try LoopbackServer { _ in Self.part(range, Array("abcdefg".utf8)) }
    let folder = try Folder()
    let result = await download(server, to: folder.file(), policy: .never)
    #expect(folder.text() == expected && (result.error == nil) == (expected != nil), "\(result)")
    #expect(folder.names.count == (expected == nil ? 0 : 1))
  }

  /// Bytes on the disk are those after decompression, and a range counts those before.
  @Test func doesNotResumeACompressedBody() async throws {
    let server = try LoopbackServer { request in
      if request.index > 0 { return .file(Self.old, for: request) }
      // gzip, one block that is stored as it is, of which half comes.
      let start: [UInt8] = [31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 1, 0x40, 0x9c, 0xbf, 0x63]
      let fields = Self.tag + [("Content-Encoding", "gzip"), ("Content-Length", "40023")]
      return ScriptedResponse([
        .send(ScriptedResponse.head(200, fields) + start + Self.old[..<20_000]), .pause(milliseconds: 20), .close,
      ])
    }
    let folder = try Folder()
    _ = try await download(server, to: folder.file()).get()
    #expect(try Data(contentsOf: folder.file()) == Data(Self.old))
    #expect(server.values(of: "Range") == [nil, nil])
  }

  /// The headers are wrong, so the call ends without waiting for the body.
  @Test func doesNotWaitForTheBodyOfAWrongContentRange() async throws {
    let server = try LoopbackServer { request in
      if request.index == 0 { return .file(Self.old, for: request, cut: 20_000) }
      if request.index > 1 { return .file(Self.old, for: request) }
      return ScriptedResponse([.send(ScriptedResponse.head(206, Self.tag + [("Content-Range", "bytes 0-1/2")])), .hang])
    }
    let folder = try Folder()
    _ = try await download(server, to: folder.file(), { $0.timeoutInterval = 3_600 }).get()
    #expect(try Data(contentsOf: folder.file()) == Data(Self.old) && server.requests.count == 3)
  }

  /// The first response comes in chunks, and only the second says how long the file is, even for a later process.
  @Test func remembersTheFileLengthFromAContentRange() async throws {
    let chunk = Array("4e20\r\n".utf8) + Self.old[..<20_000] + Array("\r\n5\r\n".utf8)
    let head = ScriptedResponse.head(
      206, Self.tag + [("Content-Range", "bytes 20000-39999/40000"), ("Content-Length", "20000")])
    let server = try LoopbackServer(
      script: ScriptedResponse([
        .send(ScriptedResponse.head(200, Self.tag + [("Transfer-Encoding", "chunked")]) + chunk), .close,
      ]),
      ScriptedResponse([.send(head + Self.old[20_000..<30_000]), .close]),
      Self.part("bytes 30000-39999/*", Array(Self.old[30_000...])))
    let folder = try Folder()
    for _ in 0..<2 { #expect(await download(server, to: folder.file(), resumes: true, policy: .never).error != nil) }
    _ = try await download(server, to: folder.file(), resumes: true, policy: .never).get()
    #expect(try Data(contentsOf: folder.file()) == Data(Self.old))
    #expect(server.values(of: "Range") == [nil, "bytes=20000-", "bytes=30000-"])
  }
}
