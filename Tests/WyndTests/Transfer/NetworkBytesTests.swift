import Foundation
import WyndLoopbackServer
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct NetworkBytesTests {
  let session = URLSession(configuration: .ephemeral)

  func bytes(_ server: LoopbackServer, policy: RetryPolicy = .quick()) async throws -> NetworkBytes {
    try await session.networkBytes(for: server.url(), policy: policy)
  }

  static let url = URL(fileURLWithPath: "/")

  @Test func retriesUntilTheHead() async throws {
    let server = try LoopbackServer(
      script: .reset, .status(503), .status(200, [("X-One", "1")], body: "the bytes"))
    let bytes = try await bytes(server)
    #expect(bytes.statusCode == 200 && bytes.headers["x-one"] == "1")
    #expect(try await Data(bytes.collected().joined()) == Data("the bytes".utf8) && server.requests.count == 3)
  }

  /// The reader may have acted on the head already.
  @Test func failsWhenTheConnectionIsLostAfterTheHead() async throws {
    let head = ScriptedResponse.head(200, [("Content-Length", "9")])
    let server = try LoopbackServer(script: ScriptedResponse([.send(head), .close]), .status(200, body: "the bytes"))
    let bytes = try await bytes(server)
    let error = await #expect(throws: NetworkError.self) { for try await _ in bytes {} }
    #expect(error?.urlError?.code == .networkConnectionLost && server.requests.count == 1)
  }

  @Test func returnsWithTheHead() async throws {
    let head = ScriptedResponse.head(200, [("Content-Length", "9")])
    let server = try LoopbackServer(script: ScriptedResponse([.send(head), .hang]))
    #expect(try await bytes(server).total == 9)
  }

  @Test func deliversDataWhileTheConnectionIsOpen() async throws {
    let server = try LoopbackServer(
      script: ScriptedResponse([
        .send(ScriptedResponse.head(200, [("Content-Length", "100")])), ScriptedResponse.text("first"), .hang,
      ]))
    let bytes = try await bytes(server)
    var iterator = bytes.makeAsyncIterator()
    #expect(try await iterator.next() == Data("first".utf8))
  }

  @Test func throwsAnHTTPErrorInPlaceOfTheBody() async throws {
    let server = try LoopbackServer(script: .status(404, body: "not here"))
    let error = await #expect(throws: NetworkError.self) { try await bytes(server) }
    #expect(error?.statusCode == 404 && error?.data == Data("not here".utf8))
    let empty = try LoopbackServer(script: .status(204))
    #expect(try await bytes(empty).collected().isEmpty)
  }

  /// Without sending the request, or in place of its response.
  @Test(arguments: [true, false]) func aMiddlewareMayRespondItself(_ sendsRequest: Bool) async throws {
    let server = try LoopbackServer(script: .ok("of the server"))
    let url = server.url()
    for status in sendsRequest ? [404] : [200, 404] {
      let own = try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: nil))
      let middleware: any NetworkMiddleware = .around { request, next in
        if sendsRequest { _ = try await next(request) }
        return NetworkResponse(data: Data("own".utf8), response: own)
      }
      let client = NetworkClient(on: session, middleware: [middleware])
      var data = Data()
      let bytes = try await client.networkBytes(for: url)
      for try await chunk in bytes { data += chunk }
      #expect(bytes.statusCode == status && data == Data("own".utf8))
    }
    #expect(server.requests.count == (sendsRequest ? 1 : 0))
  }

  /// Even if the rest never comes.
  @Test(arguments: [true, false]) func returnsWithOneMegabyteOfTheBodyOfAnError(_ acceptsAnyStatus: Bool) async throws {
    let head = ScriptedResponse.head(404, [("Content-Length", "9000000")])
    let server = try LoopbackServer(script: ScriptedResponse([.send(head + someBytes(1_200_000)), .hang]))
    let size: Int?
    do {
      var count = 0
      let bytes = try await session.networkBytes(for: server.url(), acceptsAnyStatus: acceptsAnyStatus)
      for try await chunk in bytes { count += chunk.count }
      size = bytes.statusCode == 404 && acceptsAnyStatus ? count : nil
    } catch let error as NetworkError {
      size = error.statusCode == 404 && !acceptsAnyStatus ? error.data?.count : nil
    }
    #expect(size == 1_048_576 && server.requests.count == 1)
    // The rest is not received.
    await until { server.openRequests == 0 }
  }

  @Test func keepsOneMegabyteOfTheBodyOfAnError() async throws {
    let chunk = Data(count: 700_000)
    let script = NetworkScript([.chunks(404, headers: [:], [chunk, chunk], isCut: false)])
    let url = URL.example
    let error = await #expect(throws: NetworkError.self) { try await script.networkBytes(for: url) }
    #expect(error?.data?.count == 1_048_576)
  }

  @Test func totalIsTheContentLength() async throws {
    let chunked = ScriptedResponse([
      .send(ScriptedResponse.head(200, [("Transfer-Encoding", "chunked")])),
      ScriptedResponse.text("1\r\na\r\n0\r\n\r\n"),
    ])
    for (response, total) in [(ScriptedResponse.ok("abc"), Int64(3)), (chunked, nil)] {
      #expect(try await bytes(try LoopbackServer(script: .status(503), response)).total == total)
    }
  }

  /// 6 MB for a reader that begins when all has come. On Apple's platforms the server has to wait for the reader.
  @Test func slowReaderReceivesAllData() async throws {
    let all = someBytes(6_000_000)
    let server = try LoopbackServer { .file(all, for: $0) }
    let bytes = try await bytes(server)
    if !isOnApplePlatforms { await until { server.openRequests == 0 } }
    var data = Data()
    for try await chunk in bytes {
      #expect(chunk.count <= 1_048_576)
      data += chunk
    }
    #expect(data == Data(all))
  }

  /// On Linux, 64 MB are kept for a reader that does not read. The server hangs there, so that its request ends only
  /// when Wynd closes the connection: what the buffers of the two sockets hold (tens of MB) is not kept for the reader.
  @Test func readerMayBe64MBBehind() async throws {
    let head = ScriptedResponse.head(200, [("Content-Length", isOnApplePlatforms ? "80000000" : "80000001")])
    let body = [UInt8](repeating: 7, count: 80_000_000)
    let server = try LoopbackServer { _ in
      .init([.send(head), .send(body)] + (isOnApplePlatforms ? [] : [.hang]))
    }
    let bytes = try await bytes(server)
    if !isOnApplePlatforms { await until { server.openRequests == 0 } }
    var size = 0
    do {
      for try await chunk in bytes { size += chunk.count }
      #expect(isOnApplePlatforms && size == 80_000_000)
    } catch NetworkError.generalError(TransferError.responseTooLarge(67_108_864)) {
      #expect(!isOnApplePlatforms && 66_000_000...67_108_864 ~= size)
    }
  }

  /// The limit applies to unread data. A stream that is read as it arrives can be of any length.
  @Test func readerThatKeepsUpReceivesMoreThan64MB() async throws {
    // Not through a socket, because nothing makes a server wait for a reader on Linux.
    let started = NetworkLock<NetworkBytes?>(nil)
    let head = try HTTPURLResponse.made(200, url: Self.url)
    let hasRead = Gate()
    let outcome = await NetworkByteStream.attempt(NetworkOutgoing(request: URLRequest(url: Self.url)), started) {
      outgoing in
      do {
        try outgoing.bodies?.onHead(head)
        try outgoing.bodies?.onData(Data(count: 40_000_000))
        await hasRead.wait()
        try outgoing.bodies?.onData(Data(count: 40_000_000))
        return NetworkOutcome(response: head)
      } catch { return NetworkOutcome(error: error) }
    }
    #expect(outcome.error == nil)
    var size = 0
    for try await chunk in try #require(started.withLock { $0.take() }) {
      size += chunk.count
      hasRead.open()
    }
    #expect(size == 80_000_000)
  }

  /// What small chunks take beside their bytes no longer counts when they have been read.
  @Test func readerThatKeepsUpWithSmallChunksHasRoomForALargeOne() async throws {
    let started = NetworkLock<NetworkBytes?>(nil)
    let head = try HTTPURLResponse.made(200, url: Self.url)
    let hasRead = Gate()
    _ = await NetworkByteStream.attempt(NetworkOutgoing(request: URLRequest(url: Self.url)), started) { outgoing in
      do {
        try outgoing.bodies?.onHead(head)
        for _ in 0..<1_000 { try outgoing.bodies?.onData(Data([1])) }
        await hasRead.wait()
        try outgoing.bodies?.onData(Data(count: NetworkByteStream.maxUnread - 1_000))
        return NetworkOutcome(response: head)
      } catch { return NetworkOutcome(error: error) }
    }
    var size = 0
    for try await chunk in try #require(started.withLock { $0.take() }) {
      size += chunk.count
      if size == 1_000 { hasRead.open() }
    }
    #expect(size == NetworkByteStream.maxUnread)
  }

  /// When the connection is lost, more has been received than the reader has read.
  @Test func deliversUnreadDataBeforeTheError() async throws {
    let chunks = (0..<1_000).map { Data(repeating: UInt8($0 % 251), count: 2_000) }
    let script = NetworkScript([.chunks(200, headers: [:], chunks, isCut: true)])
    let request = URLRequest(url: .example)
    var data = Data()
    do {
      for try await chunk in try await script.networkBytes(for: request) { data += chunk }
      Issue.record("no error")
    } catch {
      #expect((error as? NetworkError)?.urlError?.code == .networkConnectionLost)
    }
    #expect(data == Data(chunks.joined()))
  }

  /// A slow reader must not block other transfers of its session, because it may wait for one of them.
  @Test func slowReaderDoesNotBlockOtherTransfers() async throws {
    let film = someBytes(40_000_000)
    let server = try LoopbackServer { $0.method == "PUT" ? .ok("\($0.body.count)") : .ok(film) }
    var size = 0
    for try await chunk in try await bytes(server) {
      var request = URLRequest(url: server.url())
      request.timeoutInterval = 20
      let response = try await session.performNetworkUpload(request, from: .data(chunk))
      size += Int(response.data.text) ?? 0
    }
    #expect(size == film.count)
  }

  static let firstByteOnly = ScriptedResponse([
    .send(ScriptedResponse.head(200, [("Content-Length", "100")])), ScriptedResponse.text("x"), .hang,
  ])

  /// A body, and a task that has read its first byte and waits for the next.
  private func waitingReader(_ server: LoopbackServer) async throws -> (NetworkBytes, Task<Void, any Error>) {
    let bytes = try await bytes(server)
    let hasBegun = Gate()
    let reader = Task {
      for try await _ in bytes { hasBegun.open() }
    }
    await hasBegun.wait()
    return (bytes, reader)
  }

  @Test func throwsCancelledWhenTheReaderIsCanceled() async throws {
    let server = try LoopbackServer(script: Self.firstByteOnly)
    let (_, reader) = try await waitingReader(server)
    reader.cancel()
    #expect(await reader.result.isCancelled)
  }

  // MARK: Lines

  static let lines: [(String, [String])] = [
    ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\nb", ["a", "b"]), ("a\r\nb\r\n", ["a", "b"]), ("a\rb\r", ["a", "b"]),
    ("\n\n", ["", ""]), ("\r\n\r\n", ["", ""]), ("\n\r", ["", ""]), ("a\r\r\nb", ["a", "", "b"]),
    ("ä\u{2028}ö\u{85}\n", ["ä\u{2028}ö\u{85}"]), ("\u{FEFF}a\n", ["\u{FEFF}a"]),
    ("a\u{0}b\n \t\n", ["a\u{0}b", " \t"]),
    ("a\n\rb", ["a", "", "b"]), ("\na", ["", "a"]), ("\r\na", ["", "a"]),
  ]

  @Test(arguments: lines) func splitsLinesAcrossChunks(_ text: String, _ expected: [String]) async throws {
    let server = try LoopbackServer { request in
      .pieces(Array(text.utf8), of: request.target.last?.wholeNumberValue ?? 1)
    }
    for size in 1...3 {
      let bytes = try await session.networkBytes(for: server.url("/\(size)"), policy: .quick())
      #expect(try await bytes.lines.collected() == expected, "in pieces of \(size)")
    }
  }

  @Test func replacesInvalidUTF8() async throws {
    let server = try LoopbackServer(script: .ok([0xff, 10, 0xc3, 10, 0x61, 0xe2, 0x82]))
    #expect(try await bytes(server).lines.collected() == ["\u{FFFD}", "\u{FFFD}", "a\u{FFFD}"])
  }

  @Test func doesNotDeliverALineCutOffByALostConnection() async throws {
    let server = try LoopbackServer(
      script: ScriptedResponse([
        .send(ScriptedResponse.head(200, [("Content-Length", "100")])), ScriptedResponse.text("one\ntwo"),
        .pause(milliseconds: 20), .close,
      ]))
    var iterator = try await bytes(server).lines.makeAsyncIterator()
    #expect(try await iterator.next() == "one")
    await #expect(throws: NetworkError.self) { try await iterator.next() }
  }

  /// 16 MB fit, a byte more would fill the memory.
  @Test(arguments: [0, 1]) func failsForALineOverTheLimit(_ more: Int) async throws {
    let limit = 16 * 1_048_576
    let server = try LoopbackServer { _ in .ok([UInt8](repeating: 65, count: limit + more) + [10, 66]) }
    var lengths: [Int] = []
    do {
      for try await line in try await bytes(server).lines { lengths.append(line.utf8.count) }
      #expect(more == 0 && lengths == [limit, 1])
    } catch NetworkError.generalError(TransferError.responseTooLarge(limit)) {
      #expect(more == 1 && lengths.isEmpty)
    }
  }

  /// Received data is not delivered after a cancellation, even if it is complete.
  @Test(arguments: [true, false]) func canceledReaderGetsNoBufferedData(readsLines: Bool) async throws {
    let chunks = readsLines ? [Data("a\nb\nc\n".utf8)] : [Data("a".utf8), Data("b".utf8), Data("c".utf8)]
    let script = NetworkScript([.chunks(200, headers: [:], chunks, isCut: false)])
    let request = URLRequest(url: .example)
    let reader = Task {
      let bytes = try await script.networkBytes(for: request)
      var lines = bytes.lines.makeAsyncIterator()
      if readsLines { #expect(try await lines.next() == "a") }
      withUnsafeCurrentTask { $0?.cancel() }
      if readsLines { _ = try await lines.next() } else { for try await _ in bytes {} }
    }
    #expect(await reader.result.isCancelled)
  }
}
