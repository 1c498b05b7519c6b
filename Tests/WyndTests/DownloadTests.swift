import Foundation
import LoopbackServer
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A folder that goes with its test.
final class Folder: Sendable {
  let url: URL
  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "folder-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }
  deinit { try? FileManager.default.removeItem(at: url) }
  func file(_ name: String = "file.bin") -> URL { url.appending(path: name) }
  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted() }
}

/// Bytes that tell their place: a pattern whose length divides nothing, made once.
func someBytes(_ count: Int, seed: Int = 1) -> [UInt8] {
  var bytes: [UInt8] = []
  bytes.reserveCapacity(count)
  while bytes.count < count { bytes += pattern.prefix(count - bytes.count) }
  if seed != 1 { bytes = bytes.map { $0 &+ UInt8(truncatingIfNeeded: seed &* 101) } }
  return bytes
}
private let pattern = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ ($0 >> 8) &* 7) }

@Suite(.timeLimit(.minutes(1))) struct DownloadTests {
  let session = URLSession(configuration: .ephemeral)
  static let policy = RetryPolicy(backoff: .none, budget: nil)

  func download(
    _ server: LoopbackServer, to file: URL, _ options: DownloadOptions = DownloadOptions(),
    _ change: (inout URLRequest) -> Void = { _ in }, policy: RetryPolicy = policy
  ) async -> Result<NetworkDownload, NetworkError> {
    var request = URLRequest(url: server.url("/file"))
    change(&request)
    do throws(NetworkError) {
      return .success(
        try await session.performNetworkDownload(request, to: file, options: options, policy: policy))
    } catch {
      return .failure(error)
    }
  }

  func transferError(_ result: Result<NetworkDownload, NetworkError>) -> TransferError? {
    guard case .failure(.transferFailed(let error)) = result else { return nil }
    return error as? TransferError
  }

  // MARK: A line that drops

  @Test func aLineThatDropsCostsNothingButTheRest() async throws {
    let bytes = someBytes(1_000_000)
    let server = try LoopbackServer { .file(bytes, for: $0, cut: 100_000) }
    let folder = try Folder()
    let told = Box<[TransferProgress]>([])
    let done = try await download(
      server, to: folder.file(), DownloadOptions(onProgress: { p in told.update { $0.append(p) } })
    ).get()
    #expect(try Data(contentsOf: done.file) == Data(bytes))
    #expect(done.attempts.count == 10 && done.response.statusCode == 206)
    #expect(server.requests.map { $0.value("Range") } == [nil] + (1...9).map { "bytes=\($0)00000-" })
    #expect(server.requests.dropFirst().allSatisfy { $0.value("If-Range") == "\"1\"" })
    #expect(folder.names == ["file.bin"])
    let amounts = try #require(told.value).map(\.completed)
    #expect(amounts == amounts.sorted() && amounts.last == 1_000_000)
    #expect(told.value?.allSatisfy { $0.expected == 1_000_000 } == true)
  }

  /// Twenty drops, of which the policy allows three in a row.
  @Test func whatBringsSomethingIsNoRetryInVain() async throws {
    let bytes = someBytes(1_000_000)
    let server = try LoopbackServer { .file(bytes, for: $0, cut: 50_000) }
    let folder = try Folder()
    var policy = Self.policy
    policy.maxRetries = 3
    _ = try await download(server, to: folder.file(), policy: policy).get()
    #expect(server.requests.count == 20)
    // A server that gives a handful of bytes each time is asked four times.
    let stingy = try LoopbackServer { .file(bytes, for: $0, cut: 100) }
    let result = await download(stingy, to: folder.file("other.bin"), policy: policy)
    guard case .failure(.inaccessible(let failure)) = result else { Issue.record("\(result)"); return }
    #expect(failure.stopReason == .maxRetries && stingy.requests.count == 4)
    #expect(folder.names == ["file.bin"])
  }

  @Test func errorsOfTheServerAreRetriedAndWhatIsThereStays() async throws {
    let bytes = someBytes(300_000)
    let server = try LoopbackServer { request in
      switch request.index {
      case 0: .file(bytes, for: request, cut: 100_000)
      case 1: .status(503, [("Retry-After", "0")], body: "not now")
      case 2: .reset
      default: .file(bytes, for: request)
      }
    }
    let folder = try Folder()
    let done = try await download(server, to: folder.file()).get()
    #expect(try Data(contentsOf: done.file) == Data(bytes))
    #expect(server.requests.map { $0.value("Range") } == [nil, "bytes=100000-", "bytes=100000-", "bytes=100000-"])
    let missing = try LoopbackServer(script: .status(404, body: "no such file"))
    let error = await download(missing, to: folder.file("b")).error
    #expect(error?.statusCode == 404 && error?.data == Data("no such file".utf8))
    #expect(folder.names == ["file.bin"])
  }

  // MARK: What a server may answer to the second request (RFC 9110 §§13–15)

  enum End: Equatable, Sendable {
    /// The file, after so many requests, of which the last asked for this range.
    case file(requests: Int, lastRange: String?)
    case invalid(String)
  }

  static let old = someBytes(40_000)
  static let new = someBytes(30_000, seed: 2)
  /// Name, head of the first answer (20,000 of 40,000 bytes come), the answers after it, how it ends, with which file.
  typealias Row = (
    name: String, first: [(String, String)], then: [@Sendable (LoopbackServer.Request) -> Answer], end: End,
    file: [UInt8]
  )
  static let tag = [("ETag", "\"1\"")]
  static let longAgo = [("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"), ("Date", "Sun, 06 Nov 2022 08:49:37 GMT")]

  static func part(_ range: String, _ body: [UInt8], _ fields: [(String, String)] = tag) -> Answer {
    Answer([.send(Answer.head(206, fields + [("Content-Range", range), ("Content-Length", "\(body.count)")]) + body)])
  }
  static let rest = Array(old[20_000...])
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
      "wrong start", tag, [{ _ in part("bytes 0-39999/40000", old) }],
      .invalid("a part from byte 0, asked for was 20000"), []
    ),
    (
      "wrong total", tag, [{ _ in part("bytes 20000-39999/50000", rest) }],
      .invalid("a part of 50000 bytes, not of 40000"), []
    ),
    (
      "an end before the start", tag, [{ _ in part("bytes 20000-19999/40000", []) }],
      .invalid("a 206 without a usable Content-Range"), []
    ),
    (
      "beyond the end", tag, [{ _ in part("bytes 20000-49999/*", rest + rest) }],
      .invalid("a part beyond the end"), []
    ),
    (
      "no Content-Range", tag,
      [{ _ in Answer([.send(Answer.head(206, tag + [("Content-Length", "20000")]) + rest)]) }],
      .invalid("a 206 without a usable Content-Range"), []
    ),
    (
      "another unit", tag, [{ _ in part("lines 20000-39999/40000", rest) }],
      .invalid("a 206 without a usable Content-Range"), []
    ),
    (
      "several parts", tag,
      [
        { _ in
          let body =
            Array("--x\r\nContent-Range: bytes 20000-39999/40000\r\n\r\n".utf8) + rest + Array("\r\n--x--".utf8)
          let fields = [("Content-Type", "multipart/byteranges; boundary=x"), ("Content-Length", "\(body.count)")]
          return Answer([.send(Answer.head(206, tag + fields) + body)])
        }
      ], .invalid("a 206 without a usable Content-Range"), []
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
  ]

  @Test(arguments: rows.indices) func theSecondAnswerIsTakenForWhatItIs(_ index: Int) async throws {
    let row = Self.rows[index]
    let server = try LoopbackServer { request in
      if request.index > 0 { return row.then[min(request.index - 1, row.then.count - 1)](request) }
      let head = Answer.head(200, row.first + [("Content-Length", "40000")])
      return Answer([.send(head + Self.old[..<20_000]), .close])
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
      guard case .invalidAnswer(let reason)? = transferError(result) else {
        Issue.record("\(row.name): \(result)"); return
      }
      #expect(reason == expected, "\(row.name)")
      #expect(folder.names.isEmpty)
    }
  }

  /// The process was killed between the last byte and the move: `bytes=40000-` gives 416, and nothing is missing.
  @Test(arguments: [("bytes */40000", 1), ("bytes */39999", 2), ("bytes 0-1/40000", 2)])
  func aWholePartialFileIsWhole(_ range: String, _ requests: Int) async throws {
    let folder = try Folder()
    let token = ResumeToken("a token")
    try Data(Self.old).write(to: folder.url.appending(path: ".wynd-\(token.fileName).part"))
    let server = try LoopbackServer { request in
      request.value("Range") == nil ? .ok(Self.new) : .status(416, [("Content-Range", range)])
    }
    let state = DownloadState(
      source: "http://127.0.0.1:\(server.port)/file", validator: "\"1\"", total: 40_000)
    try JSONEncoder().encode(state).write(to: folder.url.appending(path: ".wynd-\(token.fileName).json"))
    let done = try await download(server, to: folder.file(), DownloadOptions(resumeToken: token)).get()
    #expect(try Data(contentsOf: done.file) == Data(requests == 1 ? Self.old : Self.new))
    #expect(server.requests.count == requests && folder.names == ["file.bin"])
  }

  @Test func aPartMayStartTheFile() async throws {
    let server = try LoopbackServer { request in
      let start = request.value("Range").map { Int($0.dropFirst(6).dropLast()) ?? 0 } ?? 0
      let end = min(start + 70_000, 200_000)
      return Self.part("bytes \(start)-\(end - 1)/200000", Array(someBytes(200_000)[start..<end]))
    }
    let folder = try Folder()
    let done = try await download(server, to: folder.file()).get()
    #expect(try Data(contentsOf: done.file) == Data(someBytes(200_000)))
    // Parts of a good size are no failures.
    #expect(server.requests.count == 3 && done.attempts.count == 1)
  }

  @Test func aServerThatChangesItsMindEachTimeEnds() async throws {
    let server = try LoopbackServer { request in
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

  @Test func compressedOnTheWayOrChunkedIsAFileToo() async throws {
    let folder = try Folder()
    let chunked = try LoopbackServer(
      script: Answer([
        .send(Answer.head(200, [("Transfer-Encoding", "chunked")])), Answer.text("4\r\nabcd\r\n"),
        Answer.text("3\r\nefg\r\n0\r\n\r\n"),
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

  // MARK: The file

  @Test func whatIsThereStaysOrGoesAsAsked() async throws {
    let server = try LoopbackServer { .file(Array("new".utf8), for: $0) }
    let folder = try Folder()
    let file = folder.file("a.tar.gz")
    try Data("old".utf8).write(to: file)
    guard case .destinationExists(file)? = transferError(await download(server, to: file)) else {
      Issue.record("not refused")
      return
    }
    #expect(server.requests.isEmpty)
    let second = try await download(server, to: file, DownloadOptions(ifExists: .number)).get().file
    #expect(second.lastPathComponent == "a 2.tar.gz")
    #expect(
      try await download(server, to: file, DownloadOptions(ifExists: .number)).get().file.lastPathComponent
        == "a 3.tar.gz")
    #expect(try String(contentsOf: file, encoding: .utf8) == "old")
    _ = try await download(server, to: file, DownloadOptions(ifExists: .replace)).get()
    #expect(try String(contentsOf: file, encoding: .utf8) == "new")
    #expect(folder.names == ["a 2.tar.gz", "a 3.tar.gz", "a.tar.gz"])
  }

  /// It appears while the download is under way.
  @Test func aFileThatAppearsMeanwhileStays() async throws {
    let folder = try Folder()
    let server = try LoopbackServer { request in
      try? Data("theirs".utf8).write(to: folder.file())
      return .file(Array("ours".utf8), for: request)
    }
    guard case .destinationExists? = transferError(await download(server, to: folder.file())) else {
      Issue.record("overwritten")
      return
    }
    #expect(try String(contentsOf: folder.file(), encoding: .utf8) == "theirs")
    #expect(folder.names == ["file.bin"])
  }

  @Test func placesWhereNoFileCanBeAreErrorsBeforeAnythingIsSent() async throws {
    let server = try LoopbackServer { .file([1], for: $0) }
    let folder = try Folder()
    try Data().write(to: folder.file("file"))
    for place in [
      folder.url, folder.file("no/such"), folder.file("file").appending(path: "below"),
      try #require(URL(string: "https://example.com/file")), URL(fileURLWithPath: "/"),
      URL(fileURLWithPath: "/dev/null/file"),
      folder.file(String(repeating: "x", count: 300)),
    ] {
      let error = transferError(await download(server, to: place))
      #expect(error != nil, "\(place)")
    }
    #expect(folder.names == ["file"])
    // The name is the file system's to refuse, at the end.
    #expect(server.requests.count == 1)
    #expect(await download(server, to: folder.file()) { $0.httpMethod = "HEAD" }.error != nil)
    #expect(
      await download(server, to: folder.file()) { $0.setValue("bytes=1-", forHTTPHeaderField: "Range") }.error != nil)
    #expect(server.requests.count == 1)
  }

  @Test func theChecksumIsChecked() async throws {
    let server = try LoopbackServer { .file(Array("abc".utf8), for: $0) }
    let folder = try Folder()
    let right = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    _ = try await download(server, to: folder.file("a"), DownloadOptions(sha256: right.uppercased())).get()
    let wrong = transferError(await download(server, to: folder.file("b"), DownloadOptions(sha256: "00")))
    guard case .checksumMismatch(right)? = wrong else { Issue.record("\(String(describing: wrong))"); return }
    #expect(folder.names == ["a"] && server.requests.count == 2)
  }

  // MARK: Resuming later

  @Test func aKeptPartIsGoneOnWith() async throws {
    let bytes = someBytes(300_000)
    let isUp = Box(false)
    let server = try LoopbackServer { request in
      isUp.value == true ? .file(bytes, for: request) : .file(bytes, for: request, cut: 100_000)
    }
    let folder = try Folder()
    let options = DownloadOptions(resumeToken: ResumeToken())
    var policy = Self.policy
    policy.maxRetries = 0
    #expect(await download(server, to: folder.file(), options, policy: policy).error != nil)
    #expect(folder.names.count == 2 && !folder.names.contains("file.bin"))
    isUp.value = true
    let done = try await download(server, to: folder.file(), options, policy: policy).get()
    #expect(try Data(contentsOf: done.file) == Data(bytes))
    #expect(server.requests.last?.value("Range") == "bytes=100000-")
    #expect(folder.names == ["file.bin"])
  }

  /// A part that was damaged on the disk, or belongs to another file.
  @Test(arguments: ["damaged", "other source", "no state", "too long", "nonsense"])
  func aPartThatCannotBeTrustedIsNotUsed(_ harm: String) async throws {
    let bytes = someBytes(100_000)
    let server = try LoopbackServer { .file(bytes, for: $0) }
    let folder = try Folder()
    let token = ResumeToken("../x")
    let (part, state) = (folder.file(".wynd-\(token.fileName).part"), folder.file(".wynd-\(token.fileName).json"))
    var known = DownloadState(source: "http://127.0.0.1:\(server.port)/file", validator: "\"1\"", total: 100_000)
    var begun = Array(bytes[..<50_000])
    switch harm {
    case "damaged": begun[7] &+= 1
    case "other source": known.source += "/other"
    case "too long": begun += bytes
    default: break
    }
    try Data(begun).write(to: part)
    try (harm == "nonsense" ? Data("{".utf8) : JSONEncoder().encode(known)).write(to: state)
    if harm == "no state" { try FileManager.default.removeItem(at: state) }
    var digest = SHA256Digest()
    digest.update(Data(bytes))
    let options = DownloadOptions(resumeToken: token, sha256: digest.finish())
    let done = try await download(server, to: folder.file(), options).get()
    #expect(try Data(contentsOf: done.file) == Data(bytes), "\(harm)")
    #expect(server.requests.map { $0.value("Range") == nil } == (harm == "damaged" ? [false, true] : [true]))
    #expect(folder.names == ["file.bin"])
  }

  @Test func twoDoNotWriteToOnePart() async throws {
    let server = try LoopbackServer { .file(someBytes(100), for: $0) }
    let slow = try LoopbackServer(script: .stall)
    let folder = try Folder()
    let options = DownloadOptions(resumeToken: ResumeToken())
    let log = EventLog()
    let first = Task { await download(slow, to: folder.file(), options, policy: RetryPolicy(onEvent: log.add)) }
    let part = options.resumeToken?.partial(in: folder.url) ?? folder.url
    await until { (try? URL(fileURLWithPath: part.path).resourceValues(forKeys: [.fileSizeKey]).fileSize) == 6 }
    guard case .inUse? = transferError(await download(server, to: folder.file(), options)) else {
      Issue.record("not refused")
      return
    }
    first.cancel()
    guard case .failure(.cancelled) = await first.value else { Issue.record("not cancelled"); return }
    // What it had is kept, and free for the next.
    #expect(folder.names.count == 2)
    _ = try await download(server, to: folder.file(), options).get()
    #expect(folder.names == ["file.bin"])
  }

  @Test func aCancelledDownloadLeavesNothing() async throws {
    let server = try LoopbackServer(script: .stall)
    let folder = try Folder()
    let result = Box<NetworkError>()
    let transfer = session.performNetworkDownload(URLRequest(url: server.url()), to: folder.file()) {
      result.value = $0.error
    }
    await until { transfer.progress.completedUnitCount == 6 }
    #expect(transfer.progress.totalUnitCount == 100)
    transfer.progress.cancel()
    await until { result.value != nil }
    guard case .cancelled? = result.value else { Issue.record("\(String(describing: result.value))"); return }
    #expect(folder.names.isEmpty)
  }

  @Test func aRedirectIsFollowedAndTheTokenStaysBehind() async throws {
    let bytes = someBytes(50_000)
    let other = try LoopbackServer { .file(bytes, for: $0, cut: 20_000) }
    let server = try LoopbackServer { _ in .redirect(307, to: other.url("/there").absoluteString) }
    let folder = try Folder()
    let done = try await download(server, to: folder.file()) {
      $0.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
    }.get()
    #expect(try Data(contentsOf: done.file) == Data(bytes))
    #expect(other.requests.map { $0.value("Range") } == [nil, "bytes=20000-", "bytes=40000-"])
    #expect(other.requests.allSatisfy { $0.value("Authorization") == nil })
  }

  @Test func aPOSTIsNotRepeated() async throws {
    let server = try LoopbackServer { .file(someBytes(50_000), for: $0, cut: 20_000) }
    let folder = try Folder()
    #expect(await download(server, to: folder.file()) { $0.httpMethod = "POST" }.error != nil)
    #expect(server.requests.count == 1 && folder.names.isEmpty)
  }

  /// Answered with a part, it would have to be sent again for the rest.
  @Test func aPOSTGetsNoParts() async throws {
    let server = try LoopbackServer { _ in Self.part("bytes 0-69999/200000", someBytes(70_000)) }
    let folder = try Folder()
    let result = await download(server, to: folder.file()) { $0.httpMethod = "POST" }
    guard case .invalidAnswer? = transferError(result) else { Issue.record("\(result)"); return }
    #expect(server.requests.count == 1 && folder.names.isEmpty)
  }

  /// Nobody says how long it is, until nothing is missing: 416.
  @Test func anUnknownLengthIsAskedForToItsEnd() async throws {
    let bytes = someBytes(40_000)
    let server = try LoopbackServer { request in
      guard let range = request.value("Range") else {
        let chunk = Array("4e20\r\n".utf8) + bytes[..<20_000] + Array("\r\n".utf8)
        return Answer([.send(Answer.head(200, Self.tag + [("Transfer-Encoding", "chunked")]) + chunk), .close])
      }
      let start = Int(range.dropFirst(6).dropLast()) ?? 0
      if start >= bytes.count { return .status(416, [("Content-Range", "bytes */40000")]) }
      let end = min(start + 10_000, bytes.count)
      return Self.part("bytes \(start)-\(end - 1)/*", Array(bytes[start..<end]))
    }
    let folder = try Folder()
    let done = try await download(server, to: folder.file()).get()
    #expect(try Data(contentsOf: done.file) == Data(bytes) && done.response.statusCode == 416)
  }

  /// A first answer without a validator drops; the second is a part that begins at 0.
  @Test func aPartFromTheBeginningReplacesWhatWasThere() async throws {
    let bytes = someBytes(40_000)
    let server = try LoopbackServer { request in
      switch request.index {
      case 0:
        let head = Answer.head(200, [("Content-Length", "40000")])
        return Answer([.send(head + someBytes(20_000, seed: 9)), .close])
      case 1:
        let head = Answer.head(206, Self.tag + [("Content-Range", "bytes 0-39999/40000"), ("Content-Length", "40000")])
        return Answer([.send(head + bytes[..<10_000]), .close])
      default: return .file(bytes, for: request)
      }
    }
    let folder = try Folder()
    let done = try await download(server, to: folder.file()).get()
    #expect(try Data(contentsOf: done.file) == Data(bytes))
    #expect(server.requests.map { $0.value("Range") } == [nil, nil, "bytes=10000-"])
  }

  /// Put together from pieces, and never what it should be: twice the whole is enough.
  @Test func aWrongChecksumOverALineThatDropsEnds() async throws {
    let bytes = someBytes(200_000)
    let server = try LoopbackServer { .file(bytes, for: $0, cut: 120_000) }
    let folder = try Folder()
    let token = ResumeToken()
    let options = DownloadOptions(resumeToken: token, sha256: String(repeating: "0", count: 64))
    let result = await download(server, to: folder.file(), options)
    guard case .checksumMismatch? = transferError(result) else { Issue.record("\(result)"); return }
    #expect(server.requests.count == 4 && folder.names.isEmpty)
    // And what is kept does not fail for ever.
    let right = DownloadOptions(resumeToken: token)
    _ = try await download(server, to: folder.file(), right).get()
  }

  @Test func whatIsUnderWayIsNotDiscarded() async throws {
    let server = try LoopbackServer(script: .stall)
    let folder = try Folder()
    let token = ResumeToken()
    let options = DownloadOptions(resumeToken: token)
    let task = Task { await download(server, to: folder.file(), options) }
    let part = token.partial(in: folder.url)
    await until { (try? URL(fileURLWithPath: part.path).resourceValues(forKeys: [.fileSizeKey]).fileSize) == 6 }
    token.discard(in: folder.url)
    #expect(token.isKept(in: folder.url))
    task.cancel()
    _ = await task.value
    token.discard(in: folder.url)
    #expect(folder.names.isEmpty)
  }

  /// At any moment of a short download: the answer and the folder agree.
  @Test func aCancellationAtAnyMomentLeavesTheFileOrNothing() async throws {
    let server = try LoopbackServer { .file(someBytes(50_000), for: $0) }
    for moment in 0..<60 {
      let folder = try Folder()
      let task = Task { await download(server, to: folder.file()) }
      try await Task.sleep(for: .microseconds(moment * 100))
      task.cancel()
      switch await task.value {
      case .success: #expect(folder.names == ["file.bin"])
      case .failure: #expect(folder.names.isEmpty)
      }
    }
  }

  /// A process was killed between the link and the removal: the part is the file, under its second name.
  @Test func aFileThatIsInPlaceIsNotEmptied() async throws {
    let folder = try Folder()
    let token = ResumeToken()
    try Data("whole".utf8).write(to: folder.file())
    try FileManager.default.linkItem(at: folder.file(), to: token.partial(in: folder.url))
    let server = try LoopbackServer { .file(Array("new".utf8), for: $0) }
    let options = DownloadOptions(ifExists: .number, resumeToken: token)
    let done = try await download(server, to: folder.file(), options).get()
    #expect(done.file.lastPathComponent == "file 2.bin")
    #expect(try String(contentsOf: folder.file(), encoding: .utf8) == "whole")
    #expect(folder.names == ["file 2.bin", "file.bin"])
  }

  @Test func aFullDiskIsAnErrorAndNothingIsLeft() async throws {
    let server = try LoopbackServer { .file(someBytes(500_000), for: $0) }
    let folder = try Folder()
    // Of 512 bytes each.
    let command = "ulimit -f 100; trap '' XFSZ; exec \"$0\" \"$@\""
    let arguments = ["-c", command, CommandTests.program, "\(server.url())", "-s", "-o", folder.file().path]
    let child = try ChildProcess("/bin/sh", arguments)
    #expect(await child.ended() == 23, "\(child.err)")
    #expect(child.err.contains("the file system refused"))
    ResumeToken("file.bin").discard(in: folder.url)
    #expect(folder.names.isEmpty)
  }

  @Test func contentRangesAreReadOrRefused() {
    let table: [(String, first: Int64?, last: Int64?, total: Int64?)] = [
      ("bytes 5-9/200", 5, 9, 200), ("bytes 5-9/*", 5, 9, nil), ("Bytes 0-0/1", 0, 0, 1),
      ("bytes */200", nil, nil, 200),
      (" bytes 5-9/200 ", 5, 9, 200),
    ]
    for row in table {
      let range = ContentRange(row.0)
      #expect(range?.first == row.first && range?.last == row.last && range?.total == row.total && range != nil)
    }
    for text in [
      "", "bytes", "bytes ", "bytes 5-9", "bytes 5-9/", "bytes -9/200", "bytes 5-/200", "bytes 9-5/200",
      "bytes 5-200/200",
      "bytes */*", "bytes=5-9/200", "bytes 5-9/200/200", "bytes +5-9/200", "bytes 5-9999999999999999999/*",
      "items 5-9/200",
      "bytes 5-9/-1", "bytes ٥-٩/200",
    ] {
      #expect(ContentRange(text) == nil, "\(text)")
    }
  }

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
}
