import Foundation
import LoopbackServer
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct NetworkBytesTests {
  let session = URLSession(configuration: .ephemeral)
  static let policy = RetryPolicy(backoff: .none, budget: nil)

  func bytes(_ server: LoopbackServer, policy: RetryPolicy = policy) async throws -> NetworkBytes {
    try await session.networkBytes(for: URLRequest(url: server.url()), policy: policy)
  }

  @Test func theStartIsRetriedLikeAnyCall() async throws {
    let server = try LoopbackServer(
      script: .reset, .status(503),
      // A head without a byte is no start yet.
      Answer([.send(Answer.head(200, [("Content-Length", "9")])), .close]),
      .status(200, [("X-One", "1")], body: "the bytes"))
    let bytes = try await bytes(server)
    #expect(bytes.response.value(forHTTPHeaderField: "X-One") == "1")
    var data = Data()
    for try await chunk in bytes { data += chunk }
    #expect(data == Data("the bytes".utf8) && server.requests.count == 4)
  }

  @Test func whatComesIsGivenAtOnceAndADropIsAnErrorAtItsPlace() async throws {
    let server = try LoopbackServer(
      script: Answer([
        .send(Answer.head(200, [("Content-Length", "100")])), Answer.text("first"), .pause(milliseconds: 50),
        Answer.text("second"), .pause(milliseconds: 50), .close,
      ]))
    let bytes = try await bytes(server)
    var iterator = bytes.makeAsyncIterator()
    #expect(try await iterator.next() == Data("first".utf8))
    #expect(try await iterator.next() == Data("second".utf8))
    let error = await #expect(throws: NetworkError.self) { try await iterator.next() }
    #expect(error?.urlError?.code == .networkConnectionLost && server.requests.count == 1)
  }

  @Test func anErrorIsThrownBeforeTheFirstByte() async throws {
    let server = try LoopbackServer(script: .status(404, body: "not here"))
    let error = await #expect(throws: NetworkError.self) { try await bytes(server) }
    #expect(error?.statusCode == 404 && error?.data == Data("not here".utf8))
    let empty = try LoopbackServer(script: .status(204))
    var count = 0
    for try await _ in try await bytes(empty) { count += 1 }
    #expect(count == 0)
  }

  @Test func whatWasReadToItsEndIsGone() async throws {
    let server = try LoopbackServer(script: .reset, .ok("all of it"))
    weak var buffer: ChunkBuffer?
    do {
      let bytes = try await bytes(server)
      buffer = bytes.storage.buffer
      for try await _ in bytes {}
      #expect(buffer != nil)
    }
    await until { [weak buffer] in buffer == nil }
  }

  @Test(arguments: [true, false]) func progressCountsWhatHasCome(hasLength: Bool) async throws {
    let body = [UInt8](repeating: 7, count: 1_000_000)
    let chunked = Answer([
      .send(Answer.head(200, [("Transfer-Encoding", "chunked")])), Answer.text("f4240\r\n"), .send(body),
      Answer.text("\r\n0\r\n\r\n"),
    ])
    let server = try LoopbackServer(script: .status(503), hasLength ? .ok(body) : chunked)
    let told = Box<[TransferProgress]>([])
    let bytes = try await session.networkBytes(
      for: URLRequest(url: server.url()), onProgress: { now in told.update { $0.append(now) } }, policy: Self.policy)
    for try await _ in bytes {}
    let all = told.value ?? []
    #expect(all.map(\.completed) == all.map(\.completed).sorted())
    #expect(all.last == TransferProgress(completed: 1_000_000, expected: 1_000_000))
    #expect(all.dropLast().allSatisfy { $0.expected == (hasLength ? 1_000_000 : nil) || $0 == all.last })
    await until { bytes.progress.isFinished }
    #expect(bytes.progress.completedUnitCount == 1_000_000)
  }

  @Test func cancellingItsProgressEndsIt() async throws {
    let server = try LoopbackServer(
      script: Answer([.send(Answer.head(200, [("Content-Length", "100")])), Answer.text("x"), .hang]))
    let bytes = try await bytes(server)
    bytes.progress.cancel()
    var iterator = bytes.makeAsyncIterator()
    // The closure of a Progress is called on a queue of the system's.
    let error = await #expect(throws: NetworkError.self) { while try await iterator.next() != nil {} }
    #expect(error?.isCancellation == true)
  }

  @Test func droppingItEndsTheTransfer() async throws {
    let server = try LoopbackServer(
      script: Answer([.send(Answer.head(200, [("Content-Length", "100")])), Answer.text("x"), .hang]))
    weak var buffer: ChunkBuffer?
    do {
      let bytes = try await bytes(server)
      buffer = bytes.storage.buffer
      #expect(buffer != nil)
    }
    await until { [weak buffer] in buffer == nil }
  }

  @Test func cancellingTheReaderIsACancellation() async throws {
    let server = try LoopbackServer(
      script: Answer([.send(Answer.head(200, [("Content-Length", "100")])), Answer.text("x"), .hang]))
    let bytes = try await bytes(server)
    let begun = Gate()
    let reader = Task {
      for try await _ in bytes { begun.open() }
    }
    await begun.wait()
    reader.cancel()
    guard case .failure(NetworkError.cancelled) = await reader.result else { Issue.record("not cancelled"); return }
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

  @Test func aTransferOf4MBArrivesWhole() async throws {
    let all = someBytes(4_000_000)
    let server = try LoopbackServer { .file(all, for: $0) }
    var data = Data()
    for try await chunk in try await bytes(server) { data += chunk }
    #expect(data == Data(all))
  }

  // MARK: Lines

  static let lines: [(String, [String])] = [
    ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\nb", ["a", "b"]), ("a\r\nb\r\n", ["a", "b"]), ("a\rb\r", ["a", "b"]),
    ("\n\n", ["", ""]), ("\r\n\r\n", ["", ""]), ("\n\r", ["", ""]), ("a\r\r\nb", ["a", "", "b"]),
    ("ä\u{2028}ö\u{85}\n", ["ä\u{2028}ö\u{85}"]),
  ]

  @Test(arguments: lines.indices) func linesAreLinesWhereverThePiecesEnd(_ row: Int) throws {
    let (text, expected) = Self.lines[row]
    for size in 1...3 {
      var splitter = LineSplitter()
      var lines: [String] = []
      let bytes = Array(text.utf8)
      for start in stride(from: 0, to: bytes.count, by: size) {
        lines += try splitter.feed(bytes[start..<min(start + size, bytes.count)])
      }
      lines += splitter.finish().map { [$0] } ?? []
      #expect(lines == expected)
    }
  }

  @Test func linesOfAnAnswer() async throws {
    let server = try LoopbackServer(script: .drip("one\ntwo\r\n\nlast", pieces: 8, every: 2))
    var lines: [String] = []
    for try await line in try await bytes(server).lines { lines.append(line) }
    #expect(lines == ["one", "two", "", "last"])
    var splitter = LineSplitter()
    #expect(try splitter.feed([0xff, 10]) == ["\u{FFFD}"])
    let endless = [UInt8](repeating: 65, count: LineSplitter.limit + 1)
    #expect(throws: NetworkError.self) { try splitter.feed(endless) }
  }
}
