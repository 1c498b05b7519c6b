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
  typealias Row = (
    name: String, first: [(String, String)], then: [@Sendable (LoopbackServer.Request) -> ScriptedResponse], end: End,
    file: [UInt8]
  )
  static let tag = [("ETag", "\"1\"")]
  static let longAgo = [("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"), ("Date", "Sun, 06 Nov 2022 08:49:37 GMT")]

  static func part(_ range: String, _ body: [UInt8], _ fields: [(String, String)] = tag) -> ScriptedResponse {
    ScriptedResponse([
      .send(
        ScriptedResponse.head(206, fields + [("Content-Range", range), ("Content-Length", "\(body.count)")]) + body)
    ])
  }
  static let rest = Array(old[20_000...])
  static let modified = [longAgo[0]]
  static let otherDate = [("Last-Modified", "Sun, 06 Nov 1994 08:49:38 GMT")]

  static let rows: [Row] = [
    ("strong tag", tag, [{ .file(old, for: $0) }], .file(requests: 2, lastRange: "bytes=20000-"), old),
    ("an old date", longAgo, [{ .file(old, for: $0, longAgo) }], .file(requests: 2, lastRange: "bytes=20000-"), old),
    ("weak tag", [("ETag", "W/\"1\"")], [{ .file(old, for: $0) }], .file(requests: 2, lastRange: nil), old),
    (
      "weak tag with a date", [("ETag", "W/\"1\"")] + longAgo, [{ .file(old, for: $0) }],
      .file(requests: 2, lastRange: nil), old
    ),
    (
      "a date of this very second", [("Last-Modified", longAgo[1].1), longAgo[1]], [{ .file(old, for: $0) }],
      .file(requests: 2, lastRange: nil), old
    ),
    ("a date without Date", [longAgo[0]], [{ .file(old, for: $0) }], .file(requests: 2, lastRange: nil), old),
    ("no validator", [], [{ .file(old, for: $0) }], .file(requests: 2, lastRange: nil), old),
    (
      "changed tag", tag, [{ .file(new, for: $0, [("ETag", "\"2\"")]) }], .file(requests: 2, lastRange: "bytes=20000-"),
      new
    ),
    (
      "200 instead of 206", tag, [{ _ in .ok(old, tag) }], .file(requests: 2, lastRange: "bytes=20000-"), old
    ),
    (
      "a part of another version", tag,
      [
        { _ in part("bytes 20000-29999/30000", Array(new[20_000...]), [("ETag", "\"2\"")]) },
        { .file(new, for: $0, [("ETag", "\"2\"")]) },
      ], .file(requests: 3, lastRange: nil), new
    ),
    (
      "a tag that became weak", tag,
      [{ _ in part("bytes 20000-39999/40000", rest, [("ETag", "W/\"1\"")]) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: nil), old
    ),
    (
      "a part without validator", tag, [{ _ in part("bytes 20000-39999/40000", rest, []) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: nil), old
    ),
    (
      "an unknown length", tag, [{ _ in part("bytes 20000-39999/*", rest) }],
      .file(requests: 2, lastRange: "bytes=20000-"), old
    ),
    (
      "a shorter part", tag,
      [{ _ in part("bytes 20000-29999/40000", Array(old[20_000..<30_000])) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: "bytes=30000-"), old
    ),
    (
      "the whole as a part", tag, [{ _ in part("bytes 0-39999/40000", old) }],
      .file(requests: 2, lastRange: "bytes=20000-"), old
    ),
    (
      "wrong total", tag, [{ _ in part("bytes 20000-39999/50000", rest) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: nil), old
    ),
    (
      "an end before the start", tag, [{ _ in part("bytes 20000-19999/40000", []) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: nil), old
    ),
    (
      "beyond the end", tag, [{ _ in part("bytes 20000-49999/*", rest + rest) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: nil), old
    ),
    (
      "no Content-Range", tag,
      [
        { _ in ScriptedResponse([.send(ScriptedResponse.head(206, tag + [("Content-Length", "20000")]) + rest)]) },
        { .file(old, for: $0) },
      ], .file(requests: 3, lastRange: nil), old
    ),
    (
      "another unit", tag, [{ _ in part("lines 20000-39999/40000", rest) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: nil), old
    ),
    (
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
    (
      "a compressed part", tag,
      [
        { _ in part("bytes 20000-39999/40000", rest, tag + [("Content-Encoding", "x-other")]) },
        { .file(old, for: $0) },
      ], .file(requests: 3, lastRange: nil), old
    ),
    (
      "416 for a file that became shorter", tag,
      [{ _ in .status(416, [("Content-Range", "bytes */10000")]) }, { _ in .ok(new) }],
      .file(requests: 3, lastRange: nil), new
    ),
    (
      "416 without a length", tag, [{ _ in .status(416) }, { _ in .ok(new) }], .file(requests: 3, lastRange: nil), new
    ),
    ("neither error nor file", tag, [{ _ in .status(304) }], .invalid("status 304"), []),
    (
      "part with another Last-Modified", longAgo,
      [{ _ in part("bytes 20000-39999/40000", rest, otherDate) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: nil), old
    ),
    (
      "part that does not repeat the date", longAgo, [{ _ in part("bytes 20000-39999/40000", rest, []) }],
      .file(requests: 2, lastRange: "bytes=20000-"), old
    ),
    // A changed server may respond with a tag and no date.
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
      [
        { _ in .status(416, tag + [("Content-Range", "bytes */20000")]) }, { .file(new, for: $0, [("ETag", "\"2\"")]) },
      ],
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
      "part that is longer than it says", tag,
      [{ _ in part("bytes 20000-29999/40000", rest) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: nil), old
    ),
    (
      "part that is one byte longer than it says", tag,
      [{ _ in part("bytes 20000-29999/40000", Array(rest[...10_000])) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: nil), old
    ),
    (
      "start one byte early", tag, [{ _ in part("bytes 19999-39999/40000", Array(old[19_999...])) }],
      .file(requests: 2, lastRange: "bytes=20000-"), old
    ),
    (
      "start one byte late", tag,
      [{ _ in part("bytes 20001-39999/40000", Array(rest[1...])) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: nil), old
    ),
    (
      "smaller total", tag,
      [{ _ in part("bytes 20000-29999/30000", Array(rest[..<10_000])) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: nil), old
    ),
    (
      "last byte beyond the known end", tag,
      [{ _ in part("bytes 20000-40000/*", rest + [0]) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: nil), old
    ),
    (
      "416 in a part's place", tag, [{ _ in part("bytes */40000", []) }, { .file(old, for: $0) }],
      .file(requests: 3, lastRange: nil), old
    ),
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

  @Test(arguments: rows.indices) func handlesEachResponseToARangeRequest(_ index: Int) async throws {
    try await expectEnd(of: Self.rows[index])
  }

  func expectEnd(of row: Row) async throws {
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
      #expect(try Data(contentsOf: done.file) == Data(row.file), "\(row.name)")
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

  /// A process was killed between the last byte and the move: `bytes=40000-` gives a 416, and nothing is missing.
  @Test(arguments: [
    ("bytes */40000", tag, 1), ("bytes */40000", [], 1), ("bytes */40000", [("ETag", "\"2\"")], 2),
    ("bytes */39999", tag, 2), ("bytes */40001", tag, 2), ("bytes 0-1/40000", tag, 2),
  ])
  func acceptsACompletePartialFileConfirmedBy416(_ range: String, _ fields: [(String, String)], _ requests: Int)
    async throws
  {
    let folder = try Folder()
    let server = try LoopbackServer { request in
      if request.value("Range") != nil { return .status(416, fields + [("Content-Range", range)]) }
      if request.index > 0 { return .ok(Self.new) }
      // All of it, and a chunk that does not come.
      let head = ScriptedResponse.head(200, Self.tag + [("Transfer-Encoding", "chunked")])
      return ScriptedResponse([.send(head + Array("9c40\r\n".utf8) + Self.old + Array("\r\n5\r\n".utf8)), .close])
    }
    let options = DownloadOptions(resumes: true)
    #expect(await download(server, to: folder.file(), options, policy: .never).error != nil)
    #expect(folder.partialSize == 40_000)
    let done = try await download(server, to: folder.file(), options).get()
    #expect(try Data(contentsOf: done.file) == Data(requests == 1 ? Self.old : Self.new))
    #expect(server.requests.count == requests + 1 && folder.names == ["file.bin"])
    #expect(server.requests[1].value("Range") == "bytes=40000-")
  }

  @Test func assemblesAFileFromUnrequestedRanges() async throws {
    let server = try LoopbackServer { request in
      let start = request.value("Range").map { Int($0.dropFirst(6).dropLast()) ?? 0 } ?? 0
      let end = min(start + 70_000, 200_000)
      return Self.part("bytes \(start)-\(end - 1)/200000", Array(someBytes(200_000)[start..<end]))
    }
    let folder = try Folder()
    let done = try await download(server, to: folder.file()).get()
    #expect(try Data(contentsOf: done.file) == Data(someBytes(200_000)))
    // Each part is an attempt that made progress.
    #expect(server.requests.count == 3 && done.attempts.count == 3)
    var policy = Self.policy
    policy.maxRetries = 1
    _ = try await download(server, to: folder.file("b"), policy: policy).get()
    let never = await download(server, to: folder.file("c"), policy: .never)
    #expect(never.error?.urlError?.code == .networkConnectionLost && folder.names == ["b", "file.bin"])
  }

  @Test func failsWhenTheValidatorChangesEachTime() async throws {
    let server = try LoopbackServer { request in
      // Ends a call that the policy does not end.
      if request.index == 50 { return .status(404) }
      let start = request.value("Range").map { Int($0.dropFirst(6).dropLast()) ?? 0 } ?? 0
      let body = Array(someBytes(200_000)[start..<start + 70_000])
      return Self.part("bytes \(start)-\(start + 69_999)/200000", body, [("ETag", "\"\(request.index)\"")])
    }
    let folder = try Folder()
    var policy = Self.policy
    policy.maxRetries = 2
    #expect(await download(server, to: folder.file(), policy: policy).error != nil)
    #expect(server.requests.count < 20 && folder.names.isEmpty)
  }

  @Test func downloadsChunkedCompressedAndEmptyFiles() async throws {
    let folder = try Folder()
    let chunked = try LoopbackServer(
      script: ScriptedResponse([
        .send(ScriptedResponse.head(200, [("Transfer-Encoding", "chunked")])), ScriptedResponse.text("4\r\nabcd\r\n"),
        ScriptedResponse.text("3\r\nefg\r\n0\r\n\r\n"),
      ]))
    var file = try await download(chunked, to: folder.file()).get().file
    #expect(try String(contentsOf: file, encoding: .utf8) == "abcdefg")
    #expect(chunked.requests.first?.value("Accept-Encoding") == "identity")
    let gzip: [UInt8] = [
      31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 75, 76, 74, 78, 73, 77, 75, 7, 0, 166, 106, 42, 49, 7, 0, 0, 0,
    ]
    let stubborn = try LoopbackServer(script: .ok(gzip, [("Content-Encoding", "gzip")] + Self.tag))
    file = try await download(stubborn, to: folder.file("b")).get().file
    #expect(try String(contentsOf: file, encoding: .utf8) == "abcdefg")
    let empty = try LoopbackServer(script: .ok(""))
    file = try await download(empty, to: folder.file("c")).get().file
    #expect(try file.resourceValues(forKeys: [.fileSizeKey]).fileSize == 0)
  }

  static func file(_ status: Int) -> ScriptedResponse {
    ScriptedResponse([.send(ScriptedResponse.head(status, [("Content-Length", "\(new.count)")]) + new)])
  }
}
