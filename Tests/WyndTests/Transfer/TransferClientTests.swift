import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A client's transfers use its base URL, headers, middleware, policy and script, like any call.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct TransferClientTests {
  static func authentication(_ server: LoopbackServer, _ renewals: Counter) -> Authentication<BearerToken> {
    Authentication(for: server.url(), BearerToken("old")) { _, _ in
      renewals.add()
      return BearerToken("new")
    }
  }

  static func request(_ path: String, _ method: String = "GET") throws -> URLRequest {
    URLRequest(url: try #require(URL(string: path)), method: method)
  }

  static func isSigned(_ request: LoopbackServer.Request) -> Bool { request.value("Authorization") == "Bearer new" }

  @Test func signsAndRetriesEveryTransfer() async throws {
    let server = try LoopbackServer { request in
      switch (request.target, Self.isSigned(request)) {
      case (_, false): .status(401)
      case ("/v1/events", _): ServerSentEventsTests.stream("data: a\n\n")
      case ("/v1/file", _): .file(someBytes(100_000), for: request, cut: 60_000)
      default: .ok(request.body)
      }
    }
    let renewals = Counter()
    let client = NetworkClient(
      baseURL: server.url("/v1"), headers: ["X-App": "1"], policy: .quick(),
      middleware: [Self.authentication(server, renewals)])
    let folder = try Folder()

    let upload = try await client.performNetworkUpload(Self.request("/up", "POST"), from: .multipart([.text("a", "b")]))
    #expect(upload.data.text.contains("\r\n\r\nb\r\n"))
    #expect(try await client.networkBytes(for: Self.request("/bytes")).collected().isEmpty)
    let events = try await client.serverSentEvents(for: try Self.request("/events"), reconnects: false).collected()
    #expect(events.map(\.data) == ["a"])
    let done = try await client.performNetworkDownload(Self.request("/file"), to: folder.file())
    #expect(try Data(contentsOf: done.value) == Data(someBytes(100_000)))
    #expect(renewals.value == 1 && server.requests.allSatisfy { $0.value("X-App") == "1" })
    #expect(
      server.requests.map(\.target) == ["/v1/up", "/v1/up", "/v1/bytes", "/v1/events", "/v1/file", "/v1/file"])
  }

  /// The session's redirect handling applies to a client's transfers too.
  @Test(arguments: ["download", "upload", "stream", "events"])
  func doesNotSendCredentialsToARedirect(_ kind: String) async throws {
    let other = try LoopbackServer { _ in ServerSentEventsTests.stream("data: a\n\n") }
    let server = try LoopbackServer { _ in .redirect(307, to: other.url("/there").absoluteString) }
    let client = NetworkClient(
      baseURL: server.url(), headers: ["X-Api-Key": "K"], policy: .never,
      middleware: [Self.authentication(server, Counter())])
    let folder = try Folder()
    switch kind {
    case "download": _ = try await client.performNetworkDownload(Self.request("/a"), to: folder.file())
    case "upload": try await client.performNetworkUpload(Self.request("/a", "PUT"), from: .data(Data("x".utf8)))
    case "stream": for try await _ in try await client.networkBytes(for: Self.request("/a")) {}
    default: for try await _ in client.serverSentEvents(for: try Self.request("/a")) { break }
    }
    let sent = try #require(server.requests.first)
    let got = try #require(other.requests.first)
    #expect(sent.value("Authorization") == "Bearer old" && sent.value("X-Api-Key") == "K")
    #expect(got.value("Authorization") == nil && got.value("X-Api-Key") == nil)
  }

  // MARK: A script

  @Test func scriptSimulatesAnInterruptedDownload() async throws {
    let bytes = someBytes(60_000)
    let length = ["ETag": "\"1\"", "Content-Length": "60000"]
    let script = NetworkScript([
      .status(503, headers: ["Retry-After": "40"]),
      .chunks(200, headers: length, [Data(bytes[..<20_000]), Data(bytes[20_000..<40_000])], isCut: true),
      .chunks(
        206, headers: ["ETag": "\"1\"", "Content-Range": "bytes 40000-59999/60000"], [Data(bytes[40_000...])],
        isCut: false),
    ])
    let client = NetworkClient(on: script)
    let folder = try Folder()
    let reported = Box<[TransferProgress]>([])
    let done = try await client.performNetworkDownload(
      Self.request("https://example.com/file"), to: folder.file(),
      onProgress: reported.append)
    #expect(try Data(contentsOf: done.value) == Data(bytes) && done.attempts.count == 3)
    #expect(script.values(of: "Range") == [nil, nil, "bytes=40000-"])
    #expect(
      script.elapsed >= .seconds(40) && reported.value?.last == TransferProgress(completed: 60_000, total: 60_000))
  }

  /// The time of an attempt that made progress does not count, nor any time before it.
  @Test func countsMaxRetryTimeFromTheLastProgress() async throws {
    let bytes = someBytes(60_000)
    let script = NetworkScript([
      .status(503, headers: ["Retry-After": "80"]),
      .chunks(200, headers: ["ETag": "\"1\"", "Content-Length": "60000"], [Data(bytes[..<40_000])], isCut: true),
      .silence,
      .chunks(
        206, headers: ["ETag": "\"1\"", "Content-Range": "bytes 40000-59999/60000"], [Data(bytes[40_000...])],
        isCut: false),
    ])
    let folder = try Folder()
    let policy = RetryPolicy(maxRetryAfter: .seconds(120), maxRetryTime: .seconds(100))
    let done = try await script.performNetworkDownload(
      Self.request("https://example.com/file"), to: folder.file(), policy: policy)
    #expect(try Data(contentsOf: done.value) == Data(bytes) && done.attempts.count == 4)
    #expect(script.elapsed > .seconds(140))
  }

  @Test func middlewareDoesNotHideTheProgressOfADownload() async throws {
    let bytes = someBytes(100_000)
    func part(_ number: Int) -> NetworkScript.Step {
      let (first, end) = (number * 20_000, number * 20_000 + 20_000)
      let fields = [
        "ETag": "\"1\"", "Content-Range": "bytes \(first)-99999/100000", "Content-Length": "\(100_000 - first)",
      ]
      return .chunks(206, headers: fields, [Data(bytes[first..<end])], isCut: end < 100_000)
    }
    let whole = ["ETag": "\"1\"", "Content-Length": "100000"]
    let steps = [.chunks(200, headers: whole, [Data(bytes[..<20_000])], isCut: true)] + (1..<5).map(part)
    let script = NetworkScript(steps)
    let client = NetworkClient(on: script, middleware: [.around { request, next in try await next(request) }])
    let folder = try Folder()
    let done = try await client.performNetworkDownload(
      Self.request("https://example.com/file"), to: folder.file(),
      policy: RetryPolicy(maxRetries: 1, backoff: .immediate))
    #expect(try Data(contentsOf: done.value) == Data(bytes) && done.attempts.count == 5)
  }

  @Test func scriptSimulatesUploadsStreamsAndEvents() async throws {
    let events = ["Content-Type": "text/event-stream"]
    let script = NetworkScript { request, number in
      switch (request.url?.path, number) {
      case ("/up", 0): .dropped
      case ("/up", _): .ok("thanks")
      case ("/bytes", _): .chunks(200, headers: [:], [Data("one\ntw".utf8), Data("o\nthree".utf8)], isCut: true)
      case (_, 3): .chunks(200, headers: events, [Data("id: 1\nretry: 100000\ndata: a\n\n".utf8)], isCut: false)
      case (_, 4): .chunks(200, headers: events, [Data("data: b\n".utf8), Data("\n".utf8)], isCut: true)
      default: .status(204)
      }
    }
    let reported = Box<[TransferProgress]>([])
    let response = try await script.performNetworkUpload(
      Self.request("https://example.com/up", "PUT"),
      from: .stream(length: 4) { InputStream(data: Data("body".utf8)) },
      onProgress: reported.append)
    #expect(response.data == Data("thanks".utf8) && reported.value?.last == TransferProgress(completed: 4, total: 4))
    var lines: [String] = []
    await #expect(throws: NetworkError.self) {
      for try await line in try await script.networkBytes(for: Self.request("https://example.com/bytes")).lines {
        lines.append(line)
      }
    }
    #expect(lines == ["one", "two"])
    // The waits between connections pass in the time of the script.
    let began = ContinuousClock.now
    let before = script.elapsed
    let got = try await script.serverSentEvents(for: try Self.request("https://example.com/events")).collected()
    #expect(got.map(\.data) == ["a", "b"] && script.elapsed - before >= .seconds(200))
    #expect(script.values(of: "Last-Event-ID").suffix(3) == [nil, "1", "1"])
    #expect(ContinuousClock.now - began < .seconds(60))
  }
}
