import Foundation
import Testing
import WyndLoopbackServer

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A POST that only reads, such as a query in GraphQL, is retried like a GET.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct ReadOnlyCallTests {
  struct Film: Decodable, Equatable { var title: String }
  struct Reply<Data: Decodable & Sendable>: Decodable { var data: Data }
  struct Films: Decodable { var films: [Film] }
  struct FilmQuery: Endpoint {
    typealias Response = Reply<Films>
    var search: String
    var path: String { "/graphql" }
    var method: NetworkMethod { .post }
    var isReadOnly: Bool { true }
    var body: RequestBody { .json(["query": "query($s: String) { films(search: $s) { title } }", "s": search]) }
  }
  static let filmsText = #"{"data":{"films":[{"title":"Heat"}]}}"#
  static let quick = RetryPolicy.quick(maxRetries: 3)

  /// Even if the server has read the first request.
  @Test func readOnlyPOSTIsRepeatedAfterAnyFailure() async throws {
    let log = EventLog()
    let server = try LoopbackServer(script: .reset, .status(503), .truncated, .ok(Self.filmsText))
    let client = NetworkClient(
      baseURL: server.url(), on: URLSession(configuration: .ephemeral),
      policy: RetryPolicy(backoff: .immediate, onEvent: log.add))
    let reply = try await client.load(FilmQuery(search: "he"))
    #expect(reply.data.films == [Film(title: "Heat")])
    #expect(server.requests.count == 4 && Set(server.requests.map(\.text)).count == 1)
    #expect(log.safeties == [.readOnly, .readOnly, .readOnly])
  }

  @Test func errorOfAReadOnlyPOSTDoesNotAskToCheckWhetherItWasReceived() async throws {
    let client = NetworkClient(
      baseURL: URL(string: "https://a.example"), on: NetworkScript([.status(503)]), policy: Self.quick)
    for isReadOnly in [true, false] {
      do throws(NetworkError) {
        try await client.load(.post("/search", isReadOnly: isReadOnly))
        Issue.record("no error")
      } catch {
        #expect(error.localizedDescription.contains("Please check") == !isReadOnly)
        #expect(error.stopReason == (isReadOnly ? .maxRetries : .notSafeToRepeat(method: "POST")))
      }
    }
  }

  @Test func readOnlyCallOfAnyMethodIsRepeated() async throws {
    let script = NetworkScript { _, number in number.isMultiple(of: 2) ? .dropped : .ok("1") }
    try await script.load(.request(.patch, "/search", isReadOnly: true))
    #expect(try await script.load(.request(.patch, "/search", isReadOnly: true, as: Int.self)) == 1)
    try await script.load(.post("/search", isReadOnly: true))
    #expect(try await script.load(.post("/search", isReadOnly: true, as: Int.self)) == 1)
    #expect(script.requests.count == 8)
  }

  static let plans: [(String, RepeatSafety)] = [("POST", .readOnly), ("PATCH", .readOnly), ("GET", .idempotentMethod)]

  @Test func readOnlyPlanOfAPlainRequestIsRepeated() async throws {
    for (method, safety) in Self.plans {
      let log = EventLog()
      let script = NetworkScript([.dropped, .silence, .ok("x")])
      let request = URLRequest(url: .example, method: method)
      let policy = RetryPolicy(onEvent: log.add)
      let result = await script.perform(NetworkCallPlan(request, policy: policy, isReadOnly: true))
      #expect(try result.get().data == Data("x".utf8) && script.requests.count == 3)
      #expect(log.safeties == [safety, safety])
    }
  }

  /// A request whose effect is the opposite of what its method says.
  @Test func declaredRequestIsRepeatedByWhatItDoes() async throws {
    let search = URLRequest(url: .example.appending(path: "search"), method: "POST")
    let clear = URLRequest(url: .example.appending(path: "clear"))
    let added: any NetworkMiddleware = .around { request, next in
      var request = request
      request.setValue("1", forHTTPHeaderField: "X-Added")
      return try await next(request)
    }
    for middleware in [[], [added]] {
      let script = NetworkScript([.dropped, .status(502), .status(529), .ok("x")])
      let client = NetworkClient(on: script, policy: Self.quick, middleware: middleware)
      #expect(try await client.networkData(for: search.declared(isReadOnly: true)).0 == Data("x".utf8))
      #expect(script.requests.count == 4)
      #expect(script.requests.allSatisfy { $0.allHTTPHeaderFields?.keys.contains { $0.contains("ead") } != true })
      let other = NetworkScript([.dropped, .ok("x")])
      let error = await #expect(throws: NetworkError.self) {
        try await NetworkClient(on: other, policy: Self.quick, middleware: middleware)
          .performNetworkRequest(clear.declared(isReadOnly: false))
      }
      #expect(error?.stopReason == .notSafeToRepeat(method: "GET") && other.requests.count == 1)
    }
    // What is proven safe is repeated: nothing was sent, or the server refused it.
    for step in [NetworkScript.Step.failure(.cannotConnectToHost), .status(429)] {
      let script = NetworkScript([step, .ok("x")])
      _ = try await script.networkData(for: clear.declared(isReadOnly: false), policy: Self.quick)
      #expect(script.requests.count == 2)
    }
    // A PUT is idempotent, whatever it does, and a request with a key is recognized.
    var put = clear
    put.httpMethod = "PUT"
    var keyed = clear
    keyed.idempotencyKey = UUID()
    for request in [put, keyed, search.declared(isReadOnly: true).request] where request.httpMethod != "POST" {
      let script = NetworkScript([.dropped, .ok("x")])
      _ = try await script.networkData(for: request.declared(isReadOnly: false), policy: Self.quick)
      #expect(script.requests.count == 2)
    }
  }

  /// On a socket: after a connection that libcurl would repeat a GET on, and with each kind of call.
  @Test func declaredGETIsSentOnce() async throws {
    let server = try LoopbackServer { request in
      switch request.target {
      case "/lost": .reset
      case "/busy": .status(503)
      case let target: .ok(target)
      }
    }
    let session = URLSession(configuration: .ephemeral)
    func call(_ path: String) -> NetworkCallPlan {
      URLRequest(url: server.url(path)).declared(isReadOnly: false)
    }
    // On Apple's platforms, URLSession sends a GET again if a kept-alive connection is lost.
    for _ in 1...3 where !isOnApplePlatforms {
      _ = try await session.networkData(for: server.url("/warm"))
      let error = await #expect(throws: URLError.self) { try await session.networkData(for: call("/lost")) }
      #expect(error?.code == .networkConnectionLost)
    }
    #expect(server.requests.filter { $0.target == "/lost" }.count == (isOnApplePlatforms ? 0 : 3))
    #expect(try await session.networkData(for: call("/a")).0 == Data("/a".utf8))
    #expect(try await session.networkData(for: call("/busy")).1.statusCode == 503)
    var text = ""
    for try await line in try await session.networkBytes(for: call("/b")).lines { text += line }
    #expect(text == "/b")
    let folder = try Folder()
    try await session.performNetworkDownload(call("/c"), to: folder.file())
    #expect(folder.text() == "/c")
    #expect(server.requests.filter { $0.target != "/warm" && $0.target != "/lost" }.count == 4)
    // Nothing is declared.
    let plain = URLRequest(url: server.url("/busy")).declared(isReadOnly: nil)
    _ = try await session.networkData(for: plain, policy: Self.quick)
    #expect(server.requests.filter { $0.target == "/busy" }.count == 5)
  }

  /// Nothing was sent, so it may be.
  @Test(arguments: ["GET", "HEAD", "OPTIONS"]) func declaredRequestIsRetriedWhileConnectionsAreRefused(_ method: String)
    async throws
  {
    let server = try LoopbackServer(isListening: false) { _ in .ok("") }
    let policy = RetryPolicy(
      backoff: .constant(.milliseconds(50)), budget: .unlimited,
      onEvent: { if case .willRetry = $0.kind, $0.attempt == 2 { server.listen() } })
    let request = URLRequest(url: server.url(), method: method).declared(isReadOnly: false)
    let response = try await URLSession(configuration: .ephemeral).networkResponse(for: request, policy: policy)
    #expect(response.statusCode == 200 && server.requests.count == 1)
  }

  /// Each is a call of its own.
  @Test func declaredRequestHasANewNumberInEachCall() async throws {
    let (log, script) = (EventLog(), NetworkScript([.ok("x")]))
    let call = URLRequest(url: .example).declared(isReadOnly: true)
    for _ in 1...2 { _ = try await script.networkData(for: call, policy: RetryPolicy(onEvent: log.add)) }
    #expect(Set(log.events.map(\.callID)).count == 2)
  }

  struct Clearing: Endpoint {
    typealias Response = Void
    let path = "/clear"
    let isReadOnly = false
  }
  struct Listing: Endpoint {
    typealias Response = Void
    let path = "/clear"
  }

  /// A GET that changes something, as an endpoint, ad hoc, and with a cache.
  @Test func endpointWhoseGETChangesSomethingIsNotRepeated() async throws {
    let url = URL.example
    func requests(_ call: (NetworkClient) async throws -> Void) async -> Int {
      let script = NetworkScript([.dropped, .ok("")])
      try? await call(NetworkClient(baseURL: url, on: script, policy: Self.quick))
      return script.requests.count
    }
    #expect(await requests { try await $0.load(Clearing()) } == 1)
    #expect(await requests { try await $0.load(Listing()) } == 2)
    #expect(await requests { try await $0.load(.request(.get, "/clear", isReadOnly: false)) } == 1)
    #expect(await requests { try await $0.load(.request(.get, "/clear")) } == 2)
    #expect(await requests { try await $0.load(.request(.post, "/clear")) } == 1)
    #expect(await requests { try await $0.load(.post("/clear")) } == 1)

    let script = NetworkScript { _, index in .ok("\(index)", headers: ["Cache-Control": "max-age=60"]) }
    let cached = NetworkClient(baseURL: url, on: ResponseCache(on: script))
    let paths = ["/clear", "/clear"]
    for path in paths { #expect(try await cached.load(.get(path, as: String.self)) == "0") }
    #expect(try await cached.load(.request(.get, "/clear", isReadOnly: false, as: String.self)) == "1")
    // It has changed what is stored.
    for path in paths { #expect(try await cached.load(.get(path, as: String.self)) == "2") }
  }

  /// After a redirect a rejected POST is sent again only if that is safe.
  @Test(arguments: [true, false]) func onlyAReadOnlyPOSTIsSentAgainAfterARedirectAndA401(_ isReadOnly: Bool)
    async throws
  {
    let server = try LoopbackServer { request in
      if request.target == "/start" { return .redirect(307, to: "/page") }
      return request.value("Authorization") == "Bearer new" ? .ok("page") : .status(401)
    }
    let authentication = Authentication(for: server.url(), BearerToken("old")) { _, _ in BearerToken("new") }
    let client = NetworkClient(
      baseURL: server.url(), on: URLSession(configuration: .ephemeral), policy: Self.quick,
      middleware: [authentication])
    let page = try? await client.load(.post("/start", isReadOnly: isReadOnly, as: String.self))
    #expect(page == (isReadOnly ? "page" : nil))
  }

  struct Prepared: Endpoint {
    typealias Response = Void
    let path = "/orders"
    let method: NetworkMethod
    let preparedMethod: String
    func prepare(request: inout URLRequest) { request.httpMethod = preparedMethod }
  }

  /// What the method of the endpoint says is not declared for the one that `prepare` sets.
  @Test func methodThatPrepareSetsDecides() async throws {
    for (method, prepared, requests) in [(.get, "POST", 1), (.post, "GET", 2)] as [(NetworkMethod, String, Int)] {
      let script = NetworkScript([.dropped, .ok("")])
      let client = NetworkClient(baseURL: URL(string: "https://a.example"), on: script, policy: Self.quick)
      try? await client.load(Prepared(method: method, preparedMethod: prepared))
      #expect(script.requests.count == requests, "\(prepared)")
    }
  }
}
