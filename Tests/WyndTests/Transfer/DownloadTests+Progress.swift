import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension DownloadTests {
  // MARK: Progress

  /// The completion handler comes last: by then the progress is at its end.
  @Test(arguments: [0, 7, 300_000], [true, false])
  func reportsAllProgressBeforeTheResult(_ size: Int, hasLength: Bool) async throws {
    let bytes = someBytes(size)
    let server = try LoopbackServer { _ in
      if hasLength { return .ok(bytes) }
      let chunk = size > 0 ? ScriptedResponse.chunk(bytes) : []
      return ScriptedResponse([
        .send(ScriptedResponse.head(200, [("Transfer-Encoding", "chunked")]) + chunk),
        ScriptedResponse.text("0\r\n\r\n"),
      ])
    }
    let folder = try Folder()
    let reported = Box<[TransferProgress]>([])
    let (result, atTheEnd) = await handlerValue { end in
      session.performNetworkDownload(
        server.url(), to: folder.file(), policy: .quick(), onProgress: reported.append,
        completionHandler: { end(($0, reported.value)) })
    }
    #expect(result.error == nil)
    let all = try #require(atTheEnd)
    #expect(all.last?.completed == Int64(size) && all.last?.total == Int64(size) && all.last?.fraction == 1)
    #expect(all.dropLast().allSatisfy { $0.total == (hasLength ? Int64(size) : nil) || $0.completed == size })
  }

  /// URLSession delivers chunks of at most 16 KB.
  @Test func doesNotReportEachChunk() async throws {
    let bytes = someBytes(4_000_000)
    let server = try LoopbackServer { .file(bytes, for: $0) }
    let folder = try Folder()
    let count = Counter()
    _ = try await download(server, to: folder.file(), onProgress: { _ in count.add() }).get()
    #expect(1...64 ~= count.value)
  }

  @Test func reportsProgressOfAResumedDownloadFromItsOffset() async throws {
    let bytes = someBytes(300_000)
    let server = try LoopbackServer { .file(bytes, for: $0, cut: $0.index == 0 ? 200_000 : nil) }
    let folder = try Folder()
    let reported = Box<[TransferProgress]>([])
    #expect(await download(server, to: folder.file(), resumes: true, policy: .never).error != nil)
    _ = try await download(server, to: folder.file(), resumes: true, onProgress: reported.append)
      .get()
    let all = try #require(reported.value)
    #expect(all.allSatisfy { $0.completed > 200_000 && $0.total == 300_000 } && all.last?.completed == 300_000)
  }

  @Test func doesNotReportAFailedDownloadAsComplete() async throws {
    let server = try LoopbackServer { .file(Self.old, for: $0, cut: 20_000) }
    let folder = try Folder()
    let reported = Box<[TransferProgress]>([])
    let result = await handlerValue {
      session.performNetworkDownload(
        server.url(), to: folder.file(), policy: .never, onProgress: reported.append,
        completionHandler: $0)
    }
    #expect(result.error != nil)
    #expect(reported.value?.allSatisfy { $0.completed <= 20_000 && $0.total == 40_000 } == true)
  }

  // MARK: Errors, results and requests

  /// Errors come with their body, of which 1 MB is kept.
  @Test func keepsAMegabyteOfAnErrorBody() async throws {
    let body = someBytes(2_000_000)
    let server = try LoopbackServer { _ in
      ScriptedResponse([.send(ScriptedResponse.head(422, [("Content-Length", "2000000"), ("X-One", "1")]) + body)])
    }
    let folder = try Folder()
    let error = await download(server, to: folder.file()).error
    #expect(error?.data == Data(body[..<1_048_576]) && error?.statusCode == 422)
    #expect(error?.response?.value(forHTTPHeaderField: "X-One") == "1" && folder.names.isEmpty)
    // The progress of the last attempt alone.
    let twice = try LoopbackServer(script: .status(503, body: "not now"), .status(404, body: "never"))
    #expect(await download(twice, to: folder.file()).error?.data == Data("never".utf8))
    let other = await #expect(throws: NetworkError.self) {
      try await session.networkBytes(for: server.url(), policy: .quick())
    }
    #expect(other?.data == Data(body[..<1_048_576]) && other?.statusCode == 422)
  }

  /// A request with another method has no Range, and is repeated only where that is safe.
  @Test func restartsOtherMethodsWithoutARange() async throws {
    let server = try LoopbackServer { .file(Self.old, for: $0, cut: $0.index == 0 ? 20_000 : nil) }
    let folder = try Folder()
    _ = try await download(server, to: folder.file()) {
      $0.httpMethod = "POST"
      $0.httpBody = Data("query".utf8)
      $0.setValue("1", forHTTPHeaderField: "Idempotency-Key")
    }.get()
    #expect(try Data(contentsOf: folder.file()) == Data(Self.old))
    #expect(server.values(of: "Range") == [nil, nil])
    #expect(server.requests.map(\.text) == ["query", "query"] && server.requests.allSatisfy { $0.method == "POST" })
  }

  /// The received part is discarded before the new file begins.
  @Test func reportsZeroProgressBeforeARestart() async throws {
    let reported = Box<[TransferProgress]>([])
    let hasRestarted: @Sendable () -> Bool = {
      reported.value?.contains { $0.completed == 0 && $0.total == nil } == true
    }
    let server = try LoopbackServer { request in
      switch request.index {
      case 0: return .file(Self.old, for: request, cut: 20_000)
      case 1: return Self.part("bytes 20000-29999/30000", Array(Self.new[20_000...]), [("ETag", "\"2\"")])
      default:
        let limit = ContinuousClock.now + .seconds(20)
        while !hasRestarted(), ContinuousClock.now < limit { usleep(1_000) }
        return .file(Self.new, for: request, [("ETag", "\"2\"")])
      }
    }
    let folder = try Folder()
    _ = try await download(server, to: folder.file(), onProgress: reported.append)
      .get()
    #expect(hasRestarted())
  }

  /// Occasional errors do not end a download that makes progress between them.
  @Test func countsPersistentFailuresSinceTheLastProgress() async throws {
    let bytes = Data(someBytes(100_000))
    let script = Self.sendingParts(of: bytes) { number in !number.isMultiple(of: 2) }
    let url = URL.example.appending(path: "film")
    let folder = try Folder()
    let done = try await script.performNetworkDownload(url, to: folder.file())
    #expect(try Data(contentsOf: done.value) == bytes && done.attempts.count == 9)
  }

  /// From 16 KB on, the retries and the backoff begin again. The waits of a script are half of 50 ms.
  @Test(arguments: [(16_383, 2), (16_384, 7)])
  func attemptThatAddsSixteenKilobytesMakesProgress(_ size: Int, _ count: Int) async throws {
    let script = Self.sendingParts(of: Data(someBytes(100_000)), size: size)
    let folder = try Folder()
    _ = try? await script.performNetworkDownload(
      URL.example, to: folder.file(), policy: RetryPolicy(maxRetries: 1))
    #expect(script.requests.count == count && folder.names == (count == 7 ? ["file.bin"] : []))
    #expect(script.elapsed == .milliseconds(25) * (count - 1))
  }

  /// The time for retries is not longer because an earlier call has left bytes.
  @Test func bytesOfAnEarlierCallAreNoProgress() async throws {
    let fields = ["ETag": "\"1\"", "Content-Length": "100000"]
    let part = Data(someBytes(20_000))
    let script = NetworkScript([.chunks(200, headers: fields, [part], isCut: true), .silence])
    let folder = try Folder()
    for policy in [RetryPolicy.never, RetryPolicy(backoff: .immediate, maxRetryTime: .seconds(90))] {
      _ = try? await script.performNetworkDownload(URL.example, to: folder.file(), resumes: true, policy: policy)
    }
    #expect(script.values(of: "Range") == [nil, "bytes=20000-", "bytes=20000-"])
    #expect(script.elapsed == .seconds(120))
  }

  /// Sends `size` of 100,000 bytes to each request that it does not refuse, and then loses the connection.
  private static func sendingParts(
    of bytes: Data, size: Int = 20_000, refuses: @escaping @Sendable (_ number: Int) -> Bool = { _ in false }
  ) -> NetworkScript {
    NetworkScript { request, number in
      if refuses(number) { return .status(500) }
      let range = request.value(forHTTPHeaderField: "Range")?.dropFirst("bytes=".count).dropLast()
      let offset = range.flatMap { Int($0) } ?? 0
      let end = min(offset + size, bytes.count)
      var fields = [
        "ETag": "\"1\"", "Content-Range": "bytes \(offset)-99999/100000", "Content-Length": "\(100_000 - offset)",
      ]
      if offset == 0 { fields = ["ETag": "\"1\"", "Content-Length": "100000"] }
      return .chunks(offset == 0 ? 200 : 206, headers: fields, [bytes[offset..<end]], isCut: end < bytes.count)
    }
  }
}
