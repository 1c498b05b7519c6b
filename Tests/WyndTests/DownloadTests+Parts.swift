import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension DownloadTests {
  // MARK: More second responses

  static let modified = [longAgo[0]]
  static let otherDate = [("Last-Modified", "Sun, 06 Nov 1994 08:49:38 GMT")]
  static let unusable = "a 206 without a usable Content-Range"
  static let moreRows: [Row] = [
    (
      "part with another Last-Modified", longAgo,
      [{ _ in part("bytes 20000-39999/40000", rest, otherDate) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: nil), old
    ),
    (
      "part that does not repeat the date", longAgo, [{ _ in part("bytes 20000-39999/40000", rest, []) }],
      .file(requests: 2, lastRange: "bytes=20000-"), old
    ),
    // Finding E12: a server that has changed may answer with a tag and no date.
    (
      "part with a tag in place of the date", longAgo,
      [{ _ in part("bytes 20000-39999/40000", rest) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: nil), old
    ),
    (
      "part with the date and a new tag", longAgo, [{ _ in part("bytes 20000-39999/40000", rest, modified + tag) }],
      .file(requests: 2, lastRange: "bytes=20000-"), old
    ),
    (
      "tag in another case", [("ETag", "\"A\"")],
      [{ _ in part("bytes 20000-39999/40000", rest, [("ETag", "\"a\"")]) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: nil), old
    ),
    ("tag without quotes", [("ETag", "1")], [{ .file(old, for: $0) }], .file(requests: 2, lastRange: nil), old),
    ("one quote", [("ETag", "\"")], [{ .file(old, for: $0) }], .file(requests: 2, lastRange: nil), old),
    ("tag without its end", [("ETag", "\"1")], [{ .file(old, for: $0) }], .file(requests: 2, lastRange: nil), old),
    (
      "date later than the response",
      [("Last-Modified", "Sun, 06 Nov 2022 08:49:38 GMT"), longAgo[1]], [{ .file(old, for: $0) }],
      .file(requests: 2, lastRange: nil), old
    ),
    (
      "date a second before the response",
      [("Last-Modified", "Sun, 06 Nov 2022 08:49:36 GMT"), longAgo[1]],
      [{ .file(old, for: $0, [("Last-Modified", "Sun, 06 Nov 2022 08:49:36 GMT"), longAgo[1]]) }],
      .file(requests: 2, lastRange: "bytes=20000-"), old
    ),
    (
      "date that is none", [("Last-Modified", "yesterday"), longAgo[1]], [{ .file(old, for: $0) }],
      .file(requests: 2, lastRange: nil), old
    ),
    (
      "416 with the length of the part", tag,
      [{ _ in .status(416, tag + [("Content-Range", "bytes */20000")]) }, { .file(new, for: $0) }],
      .file(requests: 3, lastRange: nil), new
    ),
    (
      "part that ends early", tag,
      [
        { _ in part("bytes 20000-39999/40000", Array(rest[..<17_000])) },
        { .file(old, for: $0) },
      ], .file(requests: 3, lastRange: "bytes=37000-"), old
    ),
    (
      "part that is longer than it says", tag, [{ _ in part("bytes 20000-29999/40000", rest) }],
      .invalid("it is too long"), []
    ),
    (
      "part that is one byte longer than it says", tag,
      [{ _ in part("bytes 20000-29999/40000", Array(rest[...10_000])) }], .invalid("it is too long"), []
    ),
    (
      "start one byte early", tag, [{ _ in part("bytes 19999-39999/40000", [0] + rest) }],
      .invalid("a part from byte 19999, requested was 20000"), []
    ),
    (
      "start one byte late", tag, [{ _ in part("bytes 20001-39999/40000", Array(rest[1...])) }],
      .invalid("a part from byte 20001, requested was 20000"), []
    ),
    (
      "smaller total", tag, [{ _ in part("bytes 20000-29999/30000", Array(rest[..<10_000])) }],
      .invalid("a part of 30000 bytes, not of 40000"), []
    ),
    (
      "last byte beyond the known end", tag, [{ _ in part("bytes 20000-40000/*", rest + [0]) }],
      .invalid("a part beyond the end"), []
    ),
    ("416 in a part's place", tag, [{ _ in part("bytes */40000", []) }], .invalid(unusable), []),
    (
      "encoding identity", tag,
      [{ _ in part("bytes 20000-39999/40000", rest, tag + [("Content-Encoding", "Identity")]) }],
      .file(requests: 2, lastRange: "bytes=20000-"), old
    ),
    ("203", tag, [{ _ in file(203) }], .file(requests: 2, lastRange: "bytes=20000-"), new),
    ("204", tag, [{ _ in .status(204) }], .invalid("status 204"), []),
    ("205", tag, [{ _ in .status(205) }], .invalid("status 205"), []),
    ("201", tag, [{ _ in file(201) }], .invalid("status 201"), []),
    ("207", tag, [{ _ in file(207) }], .invalid("status 207"), []),
    ("226", tag, [{ _ in file(226) }], .invalid("status 226"), []),
  ]

  static func file(_ status: Int) -> ScriptedResponse {
    ScriptedResponse([.send(ScriptedResponse.head(status, [("Content-Length", "\(new.count)")]) + new)])
  }

  @Test(arguments: moreRows.indices) func secondResponseCompletesTheFileOrFails(_ index: Int) async throws {
    try await expectEnd(of: Self.moreRows[index])
  }

  // MARK: The first response

  /// Finding E4: what is not the file never takes its place.
  @Test(arguments: [201, 202, 204, 205, 207, 226, 299])
  func otherSuccessCodesDoNotBringTheFile(_ status: Int) async throws {
    let server = try LoopbackServer { _ in status == 204 ? .status(204) : .status(status, body: "not the file") }
    let folder = try Folder()
    try Data("old".utf8).write(to: folder.file())
    let result = await download(server, to: folder.file(), DownloadOptions(overwrites: true))
    guard case .invalidResponse("status \(status)")? = transferError(result) else { Issue.record("\(result)"); return }
    #expect(folder.text() == "old" && folder.names == ["file.bin"] && server.requests.count == 1)
  }

  @Test(arguments: [
    ("bytes 0-6/7", "abcdefg"), ("bytes 0-6/*", nil), ("bytes 1-7/8", nil), ("bytes 0-5/6", nil), ("bytes 0-6/6", nil),
  ])
  func unrequestedPartMustBeTheWholeFile(_ range: String, _ expected: String?) async throws {
    let server = try LoopbackServer { _ in Self.part(range, Array("abcdefg".utf8)) }
    let folder = try Folder()
    let result = await download(server, to: folder.file(), policy: .never)
    #expect(folder.text() == expected && (result.error == nil) == (expected != nil), "\(result)")
    #expect(folder.names.count == (expected == nil ? 0 : 1))
  }

  /// Bytes on the disk are those after decompression, and a range counts those before.
  @Test func compressedBodyIsNeverResumed() async throws {
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
    #expect(server.requests.map { $0.value("Range") } == [nil, nil])
  }

  /// The response is wrong from its headers on: nobody waits for its body.
  @Test func wrongPartEndsAtOnce() async throws {
    let server = try LoopbackServer { request in
      if request.index == 0 { return .file(Self.old, for: request, cut: 20_000) }
      return ScriptedResponse([.send(ScriptedResponse.head(206, Self.tag + [("Content-Range", "bytes 0-1/2")])), .hang])
    }
    let folder = try Folder()
    let result = await download(server, to: folder.file()) { $0.timeoutInterval = 3_600 }
    #expect(transferError(result) != nil && folder.names.isEmpty)
  }

  /// The first response comes in chunks, and only the second says how long the file is, also for a later process.
  @Test func lengthThatAPartTellsIsKept() async throws {
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
    let options = DownloadOptions(resumes: true)
    for _ in 0..<2 { #expect(await download(server, to: folder.file(), options, policy: .never).error != nil) }
    _ = try await download(server, to: folder.file(), options, policy: .never).get()
    #expect(try Data(contentsOf: folder.file()) == Data(Self.old))
    #expect(server.requests.map { $0.value("Range") } == [nil, "bytes=20000-", "bytes=30000-"])
  }
}
