import Foundation
import WyndLoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension DownloadTests {
  // MARK: Responses to a range request (RFC 9110 §§13–15)

  enum End: Equatable, Sendable {
    /// The file, after so many requests, of which the last asked for this range.
    case file(requests: Int, lastRange: String?)
    case invalid(String)
  }

  static let old = someBytes(40_000)
  static let new = someBytes(30_000, seed: 2)
  /// Name, headers of the first response (20,000 of 40,000 bytes), the responses after it, the end, and the file.
  struct Row: Sendable, CustomTestStringConvertible {
    var name: String
    var first: [(String, String)]
    var then: [@Sendable (LoopbackServer.Request) -> ScriptedResponse]
    var end: End
    var file: [UInt8]
    var testDescription: String { name }

    init(
      _ name: String, _ first: [(String, String)],
      _ then: [@Sendable (LoopbackServer.Request) -> ScriptedResponse], _ end: End, _ file: [UInt8]
    ) {
      self.name = name
      self.first = first
      self.then = then
      self.end = end
      self.file = file
    }
  }
  static let tag = [("ETag", "\"1\"")]
  static let longAgo = [("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"), ("Date", "Sun, 06 Nov 2022 08:49:37 GMT")]

  static func part(_ range: String, _ body: [UInt8], _ fields: [(String, String)] = tag) -> ScriptedResponse {
    ScriptedResponse([
      .send(
        ScriptedResponse.head(206, fields + [("Content-Range", range), ("Content-Length", "\(body.count)")]) + body)
    ])
  }
  static let rest = Array(old[20_000...])
  static let otherDate = [("Last-Modified", "Sun, 06 Nov 1994 08:49:38 GMT")]

  static let rows: [Row] = [
    Row("strong tag", tag, [{ .file(old, for: $0) }], .file(requests: 2, lastRange: "bytes=20000-"), old),
    Row("an old date", longAgo, [{ .file(old, for: $0, longAgo) }], .file(requests: 2, lastRange: "bytes=20000-"), old),
    Row("weak tag", [("ETag", "W/\"1\"")], [{ .file(old, for: $0) }], .file(requests: 2, lastRange: nil), old),
    Row(
      "a date of this very second", [("Last-Modified", longAgo[1].1), longAgo[1]], [{ .file(old, for: $0) }],
      .file(requests: 2, lastRange: nil), old
    ),
    Row("no validator", [], [{ .file(old, for: $0) }], .file(requests: 2, lastRange: nil), old),
    Row(
      "changed tag", tag, [{ .file(new, for: $0, [("ETag", "\"2\"")]) }], .file(requests: 2, lastRange: "bytes=20000-"),
      new
    ),
    Row(
      "200 instead of 206", tag, [{ _ in .ok(old, tag) }], .file(requests: 2, lastRange: "bytes=20000-"), old
    ),
    Row(
      "a part of another version", tag,
      [
        { _ in part("bytes 20000-29999/30000", Array(new[20_000...]), [("ETag", "\"2\"")]) },
        { .file(new, for: $0, [("ETag", "\"2\"")]) },
      ], .file(requests: 3, lastRange: nil), new
    ),
    Row(
      "a shorter part", tag,
      [{ _ in part("bytes 20000-29999/40000", Array(old[20_000..<30_000])) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: "bytes=30000-"), old
    ),
    Row(
      "the whole as a part", tag, [{ _ in part("bytes 0-39999/40000", old) }],
      .file(requests: 2, lastRange: "bytes=20000-"), old
    ),
    Row(
      "several parts", tag,
      [
        { _ in
          let body =
            Array("--x\r\nContent-Range: bytes 20000-39999/40000\r\n\r\n".utf8) + rest + Array("\r\n--x--".utf8)
          let fields = [("Content-Type", "multipart/byteranges; boundary=x"), ("Content-Length", "\(body.count)")]
          return ScriptedResponse([.send(ScriptedResponse.head(206, tag + fields) + body)])
        },
        { .file(old, for: $0) },
      ], .file(requests: 3, lastRange: nil), old
    ),
    Row(
      "416 for a file that became shorter", tag,
      [{ _ in .status(416, [("Content-Range", "bytes */10000")]) }, { _ in .ok(new) }],
      .file(requests: 3, lastRange: nil), new
    ),
    Row("neither error nor file", tag, [{ _ in .status(304) }], .invalid("status 304"), []),
    Row(
      "part with another Last-Modified", longAgo,
      [{ _ in part("bytes 20000-39999/40000", rest, otherDate) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: nil), old
    ),
    Row("tag without quotes", [("ETag", "1")], [{ .file(old, for: $0) }], .file(requests: 2, lastRange: nil), old),
    Row(
      "date later than the response",
      [("Last-Modified", "Sun, 06 Nov 2022 08:49:38 GMT"), longAgo[1]], [{ .file(old, for: $0) }],
      .file(requests: 2, lastRange: nil), old
    ),
    Row(
      "part that ends early", tag,
      [
        { _ in part("bytes 20000-39999/40000", Array(rest[..<17_000])) },
        { .file(old, for: $0) },
      ], .file(requests: 3, lastRange: nil), old
    ),
    Row(
      "part that is one byte longer than it says", tag,
      [{ _ in part("bytes 20000-29999/40000", Array(rest[...10_000])) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: nil), old
    ),
    Row("203", tag, [{ _ in file(203) }], .file(requests: 2, lastRange: "bytes=20000-"), new),
    Row("204", tag, [{ _ in .status(204) }], .invalid("status 204"), []),
  ]

  @Test(arguments: rows) func handlesEachResponseToARangeRequest(_ row: Row) async throws {
    let server = try LoopbackServer { request in
      if request.index > 0 { return row.then[min(request.index - 1, row.then.count - 1)](request) }
      let head = ScriptedResponse.head(200, row.first + [("Content-Length", "40000")])
      return ScriptedResponse([.send(head + Self.old[..<20_000]), .close])
    }
    let folder = try Folder()
    let result = await download(server, to: folder.file())
    switch row.end {
    case .file(let requests, let range):
      let done = try result.get()
      #expect(try Data(contentsOf: done.value) == Data(row.file), "\(row.name)")
      #expect(server.requests.count == requests, "\(row.name)")
      #expect(server.requests.last?.value("Range") == range, "\(row.name)")
      #expect(folder.names == ["file.bin"])
    case .invalid(let expected):
      guard case .invalidResponse(let reason)? = transferError(result) else {
        Issue.record("\(row.name): \(result)"); return
      }
      #expect(reason == expected, "\(row.name)")
      #expect(folder.names.isEmpty)
    }
    // A range is requested with the validator unchanged, or not at all.
    let validator = row.first.first { $0.0 == "ETag" || $0.0 == "Last-Modified" }?.1
    for request in server.requests {
      let hasRange = request.value("Range") != nil
      #expect(request.value("If-Range") == (hasRange ? validator : nil), "\(row.name)")
      #expect(request.value("Accept-Encoding") == "identity" && request.method == "GET", "\(row.name)")
    }
  }

  @Test func assemblesAFileFromUnrequestedRanges() async throws {
    let server = try LoopbackServer { request in
      let start = request.value("Range").map { Int($0.dropFirst(6).dropLast()) ?? 0 } ?? 0
      let end = min(start + 70_000, 200_000)
      return Self.part("bytes \(start)-\(end - 1)/200000", Array(someBytes(200_000)[start..<end]))
    }
    let folder = try Folder()
    let done = try await download(server, to: folder.file()).get()
    #expect(try Data(contentsOf: done.value) == Data(someBytes(200_000)))
    // Each part is an attempt that made progress.
    #expect(server.requests.count == 3 && done.attempts.count == 3)
    let policy = RetryPolicy.quick(maxRetries: 1)
    _ = try await download(server, to: folder.file("b"), policy: policy).get()
    let never = await download(server, to: folder.file("c"), policy: .never)
    #expect(never.error?.urlError?.code == .networkConnectionLost && folder.names == ["b", "file.bin"])
  }

  @Test func downloadsChunkedCompressedAndEmptyFiles() async throws {
    let folder = try Folder()
    let chunked = try LoopbackServer(
      script: ScriptedResponse([
        .send(ScriptedResponse.head(200, [("Transfer-Encoding", "chunked")])), ScriptedResponse.text("4\r\nabcd\r\n"),
        ScriptedResponse.text("3\r\nefg\r\n0\r\n\r\n"),
      ]))
    var file = try await download(chunked, to: folder.file()).get().value
    #expect(try String(contentsOf: file, encoding: .utf8) == "abcdefg")
    #expect(chunked.requests.first?.value("Accept-Encoding") == "identity")
    let gzip: [UInt8] = [
      31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 75, 76, 74, 78, 73, 77, 75, 7, 0, 166, 106, 42, 49, 7, 0, 0, 0,
    ]
    let stubborn = try LoopbackServer(script: .ok(gzip, [("Content-Encoding", "gzip")] + Self.tag))
    file = try await download(stubborn, to: folder.file("b")).get().value
    #expect(try String(contentsOf: file, encoding: .utf8) == "abcdefg")
    let empty = try LoopbackServer(script: .ok(""))
    file = try await download(empty, to: folder.file("c")).get().value
    #expect(try file.resourceValues(forKeys: [.fileSizeKey]).fileSize == 0)
  }

  static func file(_ status: Int) -> ScriptedResponse {
    ScriptedResponse([.send(ScriptedResponse.head(status, [("Content-Length", "\(new.count)")]) + new)])
  }
}
