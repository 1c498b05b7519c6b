import Foundation
import LoopbackServer
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What an app sets once is there in every call: address, fields, coders, rule and middleware, in the order that is
/// written where the client is made.
@Suite(.timeLimit(.minutes(1))) struct NetworkClientTests {
  static let quick = RetryPolicy(backoff: .none, budget: nil)

  struct Item: Endpoint {
    typealias Response = String
    var path = "/items"
    var host = ""
    var scheme = "https"
    var port: Int?
    var headers: [URLRequest.Header] = []
    var queryItems: [URLQueryItem] = []
    var policy: RetryPolicy?
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

  @Test(arguments: addresses.indices) func anEndpointWithoutAHostIsResolvedAgainstTheBaseURL(_ row: Int) async throws {
    let (base, path, sent) = Self.addresses[row]
    let script = NetworkScript.scripted([.ok("x")])
    let client = NetworkClient(transport: script, baseURL: base.flatMap { URL(string: $0) })
    do throws(NetworkError) {
      _ = try await client.load(Item(path: path))
      #expect(script.requests.first?.url?.absoluteString == sent)
    } catch {
      guard case .invalidRequest = error else { Issue.record("\(error)"); return }
      #expect(sent == nil)
    }
  }

  @Test func aBaseURLIsMadeOfItsParts() throws {
    #expect(try NetworkClient.baseURL(host: "a.example").absoluteString == "https://a.example/")
    #expect(
      try NetworkClient.baseURL(scheme: "http", host: "::1", port: 8080, path: "/v 2").absoluteString
        == "http://[::1]:8080/v%202")
    #expect(throws: NetworkError.self) { try NetworkClient.baseURL(host: "a b") }
    #expect(throws: NetworkError.self) { try NetworkClient.baseURL(host: "a.example", port: 0) }
  }

  @Test func anEndpointWithAHostKeepsIt() async throws {
    let script = NetworkScript.scripted([.ok("x")])
    let client = NetworkClient(transport: script, baseURL: URL(string: "https://a.example/v2"))
    _ = try await client.load(Item(host: "b.example"))
    #expect(script.requests.first?.url?.absoluteString == "https://b.example/items")
  }

  @Test func aRequestWithoutAHostIsResolvedToo() async throws {
    let script = NetworkScript.scripted([.ok("x")])
    var client = NetworkClient(transport: script, baseURL: URL(string: "https://a.example/v2/"))
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

  // MARK: Fields, coders, rule

  @Test func fieldsOfTheClientGoWithEveryRequestThatHasNoneOfItsOwn() async throws {
    let server = try LoopbackServer { .ok($0.value("X-App") ?? "none") }
    var client = NetworkClient(baseURL: server.url(), headers: [.init("X-App", "ours")], policy: Self.quick)
    #expect(try await client.load(Item()) == "ours")
    #expect(try await client.load(Item(headers: [.init("x-app", "own")])) == "own")
    client.headers = [.init("X-App", "a\r\nX-Evil: 1")]
    await #expect(throws: NetworkError.self) { try await client.load(Item()) }
    #expect(server.requests.count == 2)
  }

  @Test func aKeyOfTheClientGoesToNoOtherOrigin() async throws {
    let script = NetworkScript.scripted([.ok("x")])
    var client = NetworkClient(transport: script, baseURL: URL(string: "https://a.example"))
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
    var method: URLRequest.Method { .post }
    var body: URLRequest.Body? { .json(value) }
  }
  struct OwnDecoder: Endpoint {
    typealias Response = Dated
    var path: String { "/" }
    var decoder: any EndpointDecoder { JSONDecoder() }
  }

  @Test func codersOfTheClientServeEndpointsThatNameNone() async throws {
    let script = NetworkScript { request, _ in
      .answer(200, headers: [:], body: request.httpBody ?? Data(#"{"at":0}"#.utf8))
    }
    var client = NetworkClient(transport: script, baseURL: URL(string: "https://a.example"))
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

  @Test func theRuleOfTheCallWinsOverTheEndpointsAndThatOverTheClients() async throws {
    let script = NetworkScript.scripted([.status(503)])
    let client = NetworkClient(
      transport: script, baseURL: URL(string: "https://a.example"), policy: RetryPolicy(maxRetries: 1))
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
    #expect(await sends { _ = try await client.load(Item(), maxRetries: 0) } == 1)
  }

  // MARK: Middleware

  struct Tracing: NetworkMiddleware {
    let name: String
    let trace: Trace
    func respond(
      to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
    ) async throws -> NetworkResponse {
      trace.add("\(name)>")
      defer { trace.add("<\(name)") }
      var request = request
      request.setValue((request.value(forHTTPHeaderField: "X-Way") ?? "") + name, forHTTPHeaderField: "X-Way")
      return try await next(request)
    }
    func parsed<Value: Sendable>(_ value: Value, from response: NetworkResponse, in call: NetworkCall) async throws
      -> Value
    {
      trace.add("\(name)=\(value)\(call.endpoint is Item ? "!" : "")")
      return (value as? String).flatMap { $0 + name as? Value } ?? value
    }
  }
  final class Trace: @unchecked Sendable {
    private let lock = NSLock()
    private var list: [String] = []
    func add(_ text: String) { lock.withLock { list.append(text) } }
    var text: String { lock.withLock { list }.joined(separator: " ") }
  }

  @Test func theOrderIsTheOneThatIsWritten() async throws {
    let trace = Trace()
    let server = try LoopbackServer { $0.index == 0 ? .status(503) : .ok($0.value("X-Way") ?? "") }
    let client = NetworkClient(
      baseURL: server.url(), policy: Self.quick,
      middleware: [Tracing(name: "a", trace: trace), Tracing(name: "b", trace: trace)],
      attemptMiddleware: [Tracing(name: "c", trace: trace), Tracing(name: "d", trace: trace)])
    #expect(try await client.load(Item()) == "abcddcba")
    #expect(trace.text == "a> b> c> d> <d <c c> d> <d <c <b <a d=abcd! c=abcdd! b=abcddc! a=abcddcb!")
  }

  struct Closure: NetworkMiddleware {
    let work: @Sendable (URLRequest, NetworkMiddlewareNext) async throws -> NetworkResponse
    func respond(
      to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
    ) async throws -> NetworkResponse { try await work(request, next) }
  }
  struct Refusal: Error, Equatable {}

  static func client(_ script: NetworkScript, _ middleware: Closure, attempt: Bool) -> NetworkClient {
    NetworkClient(
      transport: script, baseURL: URL(string: "https://a.example"), middleware: attempt ? [] : [middleware],
      attemptMiddleware: attempt ? [middleware] : [])
  }

  @Test(arguments: [false, true]) func whatAMiddlewareThrowsArrivesAsItIs(_ attempt: Bool) async throws {
    let script = NetworkScript.scripted([.ok("x")])
    let client = Self.client(script, Closure { _, _ in throw Refusal() }, attempt: attempt)
    do throws(NetworkError) {
      _ = try await client.load(Item())
      Issue.record("not thrown")
    } catch {
      guard case .middlewareError(let error) = error else { Issue.record("\(error)"); return }
      #expect(error as? Refusal == Refusal())
    }
    #expect(script.requests.isEmpty)
  }

  @Test(arguments: [false, true]) func aMiddlewareMayAnswerByItself(_ attempt: Bool) async throws {
    let script = NetworkScript.scripted([])
    let client = Self.client(
      script,
      Closure { request, _ in
        let url = try #require(request.url)
        let head = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
        return NetworkResponse(data: Data("mine".utf8), response: head)
      }, attempt: attempt)
    #expect(try await client.load(Item()) == "mine")
    #expect(script.requests.isEmpty)
  }

  @Test(arguments: [false, true]) func aMiddlewareMayTakeAnErrorForAnAnswer(_ attempt: Bool) async throws {
    let script = NetworkScript.scripted([.status(404, "gone")])
    let client = Self.client(
      script,
      Closure { request, next in
        do {
          return try await next(request)
        } catch NetworkError.endpointError(let response, let data) where response.statusCode == 404 {
          return NetworkResponse(data: data ?? Data(), response: response)
        }
      }, attempt: attempt)
    #expect(try await client.load(Item()) == "gone")
  }

  @Test func aMiddlewareMayGoOnAgain() async throws {
    let script = NetworkScript.scripted([.status(401), .ok("second")])
    let client = Self.client(
      script,
      Closure { request, next in do { return try await next(request) } catch { return try await next(request) } },
      attempt: true)
    let response = try await client.loadResponse(Item())
    #expect(response.value == "second")
    #expect(response.attempts.count == 1)
  }

  // MARK: Callbacks and cancellation

  @Test func theCallbackFormAnswersOnTheDelegateQueue() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
    let server = try LoopbackServer(script: .status(503), .ok("x"), .status(404))
    let client = NetworkClient(baseURL: server.url(), session: session, policy: Self.quick)
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

  @Test func cancellingReachesIntoTheAttempt() async throws {
    let server = try LoopbackServer(script: .hang)
    let client = NetworkClient(
      baseURL: server.url(), policy: Self.quick, attemptMiddleware: [Closure { try await $1($0) }])
    let ended = Gate()
    let result = Box<NetworkError>()
    let task = client.load(Item()) {
      result.value = $0.error
      ended.open()
    }
    await until { server.requests.count == 1 }
    task.cancel()
    await ended.wait()
    guard case .cancelled = result.value else { Issue.record("\(String(describing: result.value))"); return }
    let early = Task { try await client.load(Item()) }
    early.cancel()
    await #expect(throws: NetworkError.self) { try await early.value }
    #expect(server.requests.count == 1)
  }

  @Test func theDeadlineReachesIntoTheAttempt() async throws {
    let server = try LoopbackServer(script: .hang)
    let client = NetworkClient(
      baseURL: server.url(), policy: RetryPolicy(deadline: .milliseconds(200), budget: nil),
      attemptMiddleware: [Closure { try await $1($0) }])
    do throws(NetworkError) { _ = try await client.load(Item()) } catch { #expect(error.stopReason == .deadline) }
  }

  @Test func aPOSTThatMayHaveBeenAppliedIsNotRepeatedBehindAMiddlewareEither() async throws {
    let server = try LoopbackServer(script: .reset)
    let client = NetworkClient(
      baseURL: server.url(), policy: Self.quick, attemptMiddleware: [Closure { try await $1($0) }])
    var request = URLRequest(url: server.url(), method: "POST")
    request.httpBody = Data("order".utf8)
    do throws(NetworkError) {
      _ = try await client.performNetworkRequest(request)
      Issue.record("repeated")
    } catch {
      #expect(error.urlError?.code == .networkConnectionLost)
    }
    #expect(server.requests.count == 1)
  }

  /// Who sends an order and then asks how it is, and is told that he asks too often, has ordered.
  @Test(arguments: [429, 421, 425]) func aRefusedPollOrdersNothingTwice(_ status: Int) async throws {
    let script = NetworkScript.scripted([.status(202, "x"), .status(status), .status(202, "x"), .ok("done")])
    let poll = URLRequest(url: try #require(URL(string: "https://a.example/status")))
    let client = NetworkClient(
      transport: script,
      attemptMiddleware: [
        Closure { request, next in
          _ = try await next(request)
          return try await next(poll)
        }
      ])
    let order = URLRequest(url: try #require(URL(string: "https://a.example/order")), method: "POST")
    await #expect(throws: NetworkError.self) { try await client.performNetworkRequest(order) }
    #expect(script.requests.map(\.httpMethod) == ["POST", "GET"])
    // Without the order, that refusal is one to try again after.
    let refused = NetworkScript.scripted([.status(status), .ok("done")])
    let plain = NetworkClient(transport: refused, attemptMiddleware: [Closure { try await $1($0) }])
    _ = try? await plain.performNetworkRequest(order)
    #expect(refused.requests.count == 2)
  }
}
