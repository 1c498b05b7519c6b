import Foundation
import WyndLoopbackServer
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A field that a response may have only once, and that a server or a proxy sends twice.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct RepeatedFieldTests {
  let session = URLSession(configuration: .ephemeral)

  static func twice(_ name: String, _ value: String) -> [(String, String)] { [(name, value), (name, value)] }

  static let values: [(field: String, joined: String, value: String)] = [
    ("Retry-After", "1, 1", "1"),
    ("Retry-After", "1, 2", "1, 2"), ("Retry-After", "1, 1, 2", "1, 1, 2"), ("Retry-After", "", ""),
    ("Retry-After", ", ", ""),
    (
      "Date", "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT"
    ),
    ("ETag", #""a, b", "a, b""#, #""a, b""#), ("ETag", #""a", W/"a""#, #""a", W/"a""#), ("Location", "/ü, /ü", "/ü"),
  ]
  static let types: [(field: String, joined: String, value: String)] = [
    ("content-type", "a/b;c=d, a/b;c=d", "a/b;c=d"), ("Content-Type", "a/b, c/d ; e=f", "c/d ; e=f"),
    ("Content-Type", "a/b, c/d/e", "a/b"),
    ("Content-Type", #"a/b; c="d, e/f""#, #"a/b; c="d, e/f""#), ("Content-Type", #"a/b; c="\\", e/f"#, "e/f"),
    ("Content-Type", #"a/b; c="\", e/f"#, #"a/b; c="\", e/f"#), ("Content-Type", "json, json", "json"),
  ]
  @Test(arguments: values) func takesEqualValuesForOne(_ field: String, _ joined: String, _ value: String) throws {
    let response = try HTTPURLResponse.made(200, [field: joined])
    #expect(response.networkValue(of: field) == value)
    #expect(response.networkValue(of: "X-Other") == nil)
  }
  @Test(arguments: types) func takesTheLastContentType(_ field: String, _ joined: String, _ value: String) throws {
    let response = try HTTPURLResponse.made(200, [field: joined])
    #expect(response.networkContentType == value)
  }

  #if canImport(FoundationNetworking)
    /// On Apple's platforms, URLSession itself reads Location.
    @Test(arguments: ["/echo", "echo?a,b", "/a, b"]) func followsALocationThatIsSentTwice(_ location: String)
      async throws
    {
      let server = try LoopbackServer { request in
        request.target == "/start" ? .status(302, Self.twice("Location", location)) : .ok()
      }
      _ = try await session.networkResponse(for: server.url("/start"))
      let encoded = location.replacingOccurrences(of: " ", with: "%20")
      #expect(server.requests.map(\.target) == ["/start", encoded.hasPrefix("/") ? encoded : "/" + encoded])
    }
  #endif

  /// Of different types, the last valid one counts, as in a browser.
  @Test(arguments: [
    ["text/event-stream", "text/event-stream"],
    ["text/event-stream; charset=utf-8", "text/event-stream; charset=utf-8"],
    ["text/event-stream", "text/event-stream", "text/event-stream"],
    ["text/html", "text/event-stream"], ["text/event-stream", "none"],
    ["text/html; a=\"b, c/d\"", "text/event-stream"],
  ])
  func readsAnEventStreamWithSeveralContentTypes(_ types: [String]) async throws {
    let head = ScriptedResponse.head(200, types.map { ("Content-Type", $0) })
    let server = try LoopbackServer(
      script: ScriptedResponse([.send(head), ScriptedResponse.text("data: a\n\n"), .close]))
    var texts: [String] = []
    for try await event in session.serverSentEvents(for: server.url(), reconnects: false, policy: .never) {
      texts.append(event.data)
    }
    #expect(texts == ["a"])
  }

  @Test func rejectsAStreamWhoseLastContentTypeIsAnother() async throws {
    let types = [("Content-Type", "text/event-stream"), ("Content-Type", "text/html; a=\"b, text/event-stream\"")]
    let server = try LoopbackServer(script: .status(200, types, body: "data: a\n\n"))
    await #expect(throws: NetworkError.self) {
      for try await event in session.serverSentEvents(for: server.url(), reconnects: false, policy: .never) {
        Issue.record("\(event)")
      }
    }
  }

  // MARK: Waits

  static let waits: [(status: Int, fields: [(String, String)])] = [
    (503, twice("Retry-After", "3600")),
    (
      503,
      [("Retry-After", "Sun, 06 Nov 1994 09:49:37 GMT")] + twice("Date", "Sun, 06 Nov 1994 08:49:37 GMT")
    ),
  ]
  @Test(arguments: waits) func waitsAsLongAsAFieldThatIsSentTwiceSays(_ status: Int, _ fields: [(String, String)])
    async throws
  {
    let server = try LoopbackServer(script: .status(status, fields))
    let result = await session.result(of: server.url())
    #expect(result.error?.stopReason == .retryAfterTooLong(.seconds(3600)))
  }

  // MARK: Transfers

  private static let modified = "Wed, 01 Jan 2025 00:00:00 GMT"
  static let validators: [(fields: [(String, String)], sent: String?)] = [
    (twice("ETag", "\"a, b\""), "\"a, b\""),
    (twice("Last-Modified", modified) + [("Date", "Wed, 01 Oct 2025 00:00:00 GMT")], modified),
    // Which of them is right is not known.
    ([("ETag", "\"1\""), ("ETag", "\"2\"")], nil),
  ]
  @Test(arguments: validators) func resumesADownloadWithAValidatorThatIsSentTwice(
    _ fields: [(String, String)], _ sent: String?
  ) async throws {
    let bytes = someBytes(100_000)
    let server = try LoopbackServer { .file(bytes, for: $0, fields, cut: $0.index == 0 ? 50_000 : nil) }
    let folder = try Folder()
    let download = try await download(server, to: folder.file())
    #expect(try Data(contentsOf: download.value) == Data(bytes))
    #expect(download.response.statusCode == (sent == nil ? 200 : 206))
    #expect(server.values(of: "If-Range") == [nil, sent])
  }

  private func download(_ server: LoopbackServer, to file: URL) async throws -> NetworkResponse<URL> {
    let policy = RetryPolicy.quick()
    return try await session.performNetworkDownload(server.url("/file"), to: file, policy: policy)
  }

  // MARK: Cache

  @Test func servesAStoredResponseWhoseDatesAreSentTwice() async throws {
    let fields =
      Self.twice("Date", "Sun, 06 Nov 1994 08:49:37 GMT") + Self.twice("Expires", "Sun, 06 Nov 2094 08:49:37 GMT")
    let server = try LoopbackServer(script: .status(200, fields, body: "one"), .status(500))
    let client = NetworkClient(on: ResponseCache(), policy: .never)
    for source in [NetworkResponseSource.network, .cache] {
      #expect(try await client.networkResponse(for: server.url()).source == source)
    }
  }

  @Test func acceptsAContentTypeThatIsSentTwice() async throws {
    let server = try LoopbackServer(script: .status(200, Self.twice("Content-Type", "application/json"), body: "{}"))
    let response = try await session.networkResponse(for: server.url(), policy: .never)
    #expect(response.headers["Content-Type"] == "application/json, application/json")
    #expect(response.response.networkMediaType == "application/json")
  }

  @Test func appendsAPartWhoseContentRangeIsSentTwice() async throws {
    let bytes = someBytes(100_000)
    let server = try LoopbackServer { request in
      if request.index == 0 { return .file(bytes, for: request, cut: 50_000) }
      let fields =
        Self.twice("Content-Range", "bytes 50000-99999/100000") + [("ETag", "\"1\""), ("Content-Length", "50000")]
      return ScriptedResponse([.send(ScriptedResponse.head(206, fields) + bytes.suffix(50_000))])
    }
    let folder = try Folder()
    #expect(try Data(contentsOf: await download(server, to: folder.file()).value) == Data(bytes))
    #expect(server.requests.count == 2)
  }

  @Test func knowsTheLengthThatIsSentTwice() async throws {
    let server = try LoopbackServer(script: .status(200, [("Content-Length", "3")], body: "abc"))
    let bytes = try await session.networkBytes(for: server.url(), policy: .never)
    #expect(bytes.total == 3)
  }
}
