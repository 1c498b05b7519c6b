import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Base URL, headers, coders and policy of a client apply to all of its calls.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct NetworkClientTests {
  static let quick = RetryPolicy(backoff: .immediate, budget: .unlimited)

  struct Item: Endpoint {
    typealias Response = String
    var path = "/items"
    var host = ""
    var scheme = "https"
    var port: Int?
    var headers: [NetworkHeader] = []
    var queryItems: [URLQueryItem] = []
    var policy: RetryPolicy = .default
  }

  // MARK: The address

  static let addresses: [(base: String?, path: String, sent: String?)] = [
    ("https://a.example", "/items", "https://a.example/items"),
    ("https://a.example/", "items", "https://a.example/items"),
    ("https://a.example/v2", "/items", "https://a.example/v2/items"),
    ("https://a.example/v2/", "/items/", "https://a.example/v2/items/"),
    ("https://a.example:8443/v2", "", "https://a.example:8443/v2"), ("http://a.example", "", "http://a.example/"),
    ("https://a.example/v%202", "/ä", "https://a.example/v%202/%C3%A4"), (nil, "/items", nil),
    ("https://a.example/?q=1", "/items", nil), ("ftp://a.example", "/items", nil),
  ]

  @Test(arguments: addresses.indices) func resolvesAnEndpointAgainstTheBaseURL(_ row: Int) async throws {
    let (base, path, sent) = Self.addresses[row]
    let script = NetworkScript([.ok("x")])
    let client = NetworkClient(baseURL: base.flatMap { URL(string: $0) }, on: script)
    do throws(NetworkError) {
      _ = try await client.load(Item(path: path))
      #expect(script.requests.first?.url?.absoluteString == sent)
    } catch {
      guard case .invalidRequest = error else { Issue.record("\(error)"); return }
      #expect(sent == nil)
    }
  }

  @Test func buildsABaseURLFromItsParts() throws {
    #expect(try NetworkClient.baseURL(host: "a.example").absoluteString == "https://a.example/")
    #expect(
      try NetworkClient.baseURL(scheme: "http", host: "::1", port: 8080, path: "/v 2").absoluteString
        == "http://[::1]:8080/v%202")
    #expect(throws: NetworkError.self) { try NetworkClient.baseURL(host: "a b") }
    #expect(throws: NetworkError.self) { try NetworkClient.baseURL(host: "a.example", port: 0) }
  }

  @Test func keepsTheHostOfAnEndpoint() async throws {
    let script = NetworkScript([.ok("x")])
    let client = NetworkClient(baseURL: URL(string: "https://a.example/v2"), on: script)
    _ = try await client.load(Item(host: "b.example"))
    #expect(script.requests.first?.url?.absoluteString == "https://b.example/items")
  }

  @Test func resolvesARequestAgainstTheBaseURL() async throws {
    let script = NetworkScript([.ok("x")])
    var client = NetworkClient(baseURL: URL(string: "https://a.example/v2/"), on: script)
    for path in ["/items?page=2", "items?page=2", "https://b.example/items"] {
      _ = try await client.performNetworkRequest(URLRequest(url: try #require(URL(string: path))))
    }
    #expect(
      script.requests.map { $0.url?.absoluteString } == [
        "https://a.example/v2/items?page=2", "https://a.example/v2/items?page=2", "https://b.example/items",
      ])
    client.baseURL = nil
    await #expect(throws: NetworkError.self) {
      _ = try await client.performNetworkRequest(URLRequest(url: try #require(URL(string: "/items"))))
    }
    #expect(script.requests.count == 3)
  }

  // MARK: Headers, coders, policy

  @Test func addsHeadersOfTheClient() async throws {
    let server = try LoopbackServer { .ok($0.value("X-App") ?? "none") }
    var client = NetworkClient(baseURL: server.url(), headers: [.init("X-App", "ours")], policy: Self.quick)
    #expect(try await client.load(Item()) == "ours")
    #expect(try await client.load(Item(headers: [.init("x-app", "own")])) == "own")
    client.headers = [.init("X-App", "a\r\nX-Evil: 1")]
    await #expect(throws: NetworkError.self) { try await client.load(Item()) }
    #expect(server.requests.count == 2)
  }

  @Test func doesNotSendAnAPIKeyToAnotherOrigin() async throws {
    let script = NetworkScript([.ok("x")])
    var client = NetworkClient(baseURL: URL(string: "https://a.example"), on: script)
    client.headers = [.init("X-Api-Key", "secret"), .userAgent("App")]
    for host in ["", "b.example"] { _ = try await client.load(Item(host: host)) }
    #expect(script.requests.map { $0.value(forHTTPHeaderField: "X-Api-Key") } == ["secret", nil])
    #expect(script.requests.map { $0.value(forHTTPHeaderField: "User-Agent") } == ["App", "App"])
  }

  struct Dated: Codable, Equatable { var at: Date }
  struct Echo: Endpoint {
    typealias Response = Dated
    var value: Dated
    var path: String { "/" }
    var method: NetworkMethod { .post }
    var body: RequestBody { .json(value) }
  }
  struct OwnDecoder: Endpoint {
    typealias Response = Dated
    var path: String { "/" }
    let decoder = JSONDecoder()
  }

  @Test func usesTheCodersOfTheClientForEndpointsWithoutTheirOwn() async throws {
    let script = NetworkScript { request, _ in
      .response(200, headers: [:], body: request.httpBody ?? Data(#"{"at":0}"#.utf8))
    }
    var client = NetworkClient(baseURL: URL(string: "https://a.example"), on: script)
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    encoder.dateEncodingStrategy = .iso8601
    decoder.dateDecodingStrategy = .iso8601
    (client.encoder, client.decoder) = (encoder, decoder)
    let value = Dated(at: Date(timeIntervalSince1970: 0))
    #expect(try await client.load(Echo(value: value)) == value)
    let sent = String(decoding: script.requests.first?.httpBody ?? Data(), as: UTF8.self)
    #expect(sent == #"{"at":"1970-01-01T00:00:00Z"}"#)
    #expect(try await client.load(OwnDecoder()).at == Date(timeIntervalSinceReferenceDate: 0))
  }

  @Test func prefersThePolicyOfTheCallThenTheEndpointThenTheClient() async throws {
    let script = NetworkScript([.status(503)])
    let client = NetworkClient(
      baseURL: URL(string: "https://a.example"), on: script, policy: RetryPolicy(maxRetries: 1))
    func sends(_ work: () async throws -> Void) async -> Int {
      let before = script.requests.count
      try? await work()
      return script.requests.count - before
    }
    #expect(await sends { _ = try await client.load(Item()) } == 2)
    #expect(await sends { _ = try await client.load(Item(policy: RetryPolicy(maxRetries: 2))) } == 3)
    #expect(
      await sends {
        _ = try await client.load(Item(policy: RetryPolicy(maxRetries: 2)), policy: RetryPolicy(maxRetries: 3))
      } == 4)
    #expect(await sends { _ = try await client.load(Item(), policy: .never) } == 1)
  }

  // MARK: The session

  @Test func callsHandlerOnTheDelegateQueue() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
    let server = try LoopbackServer(script: .status(503), .ok("x"), .status(404))
    let client = NetworkClient(baseURL: server.url(), on: session, policy: Self.quick)
    let (value, isOnQueue) = await withCheckedContinuation { continuation in
      client.load(Item()) { continuation.resume(returning: (try? $0.get(), OperationQueue.current === queue)) }
    }
    #expect(value == "x")
    #expect(isOnQueue)
    let error = await withCheckedContinuation { continuation in
      client.performNetworkRequest(URLRequest(url: server.url())) { continuation.resume(returning: $0.error) }
    }
    #expect(error?.statusCode == 404)
  }

  /// Not `URLError.cancelled`, which an app would show.
  @Test func reportsCancellationOnAnInvalidatedSession() async throws {
    let (session, mayStart) = (URLSession(configuration: .ephemeral), Gate())
    let request = try NetworkMiddlewareTests.order()
    let task = Task {
      await mayStart.wait()
      return try await NetworkClient(on: session).performNetworkRequest(request)
    }
    task.cancel()
    session.invalidateAndCancel()
    mayStart.open()
    guard case .failure(NetworkError.cancelled) = await task.result else { Issue.record("not canceled"); return }
  }

  @Test func sessionCanBeFinishedRightAfterACall() async throws {
    let server = try LoopbackServer(script: .ok("x"))
    for _ in 0..<20 {
      let session = URLSession(configuration: .ephemeral)
      let client = NetworkClient(baseURL: server.url(), on: session)
      let result = await withCheckedContinuation { continuation in
        client.performNetworkRequest(URLRequest(url: server.url())) { continuation.resume(returning: $0) }
        session.finishTasksAndInvalidate()
      }
      #expect(try result.get() == Data("x".utf8))
    }
  }
}
