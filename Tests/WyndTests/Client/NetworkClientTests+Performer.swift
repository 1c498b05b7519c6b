import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A client is made on any performer: a session, a script, another client, or one of the app.
extension NetworkClientTests {
  typealias Tracing = NetworkMiddlewareTests.Tracing

  /// A performer of an app.
  struct Counting: NetworkPerformer {
    let base: any NetworkPerformer
    let calls: Counter
    func perform(_ plan: NetworkCallPlan) async -> Result<NetworkResponse<Data>, NetworkError> {
      calls.add()
      return await base.perform(plan)
    }
  }

  @Test func runsOnAPerformerOfTheApp() async throws {
    let calls = Counter()
    let server = try LoopbackServer { $0.index == 0 ? .status(503) : .ok("x") }
    let performer = Counting(base: URLSession(configuration: .ephemeral), calls: calls)
    let client = NetworkClient(baseURL: server.url("/v2"), on: performer, policy: .quick())
    #expect(try await client.load(Item()) == "x")
    #expect(calls.value == 1 && server.requests.map(\.target) == ["/v2/items", "/v2/items"])
  }

  @Test func copyOfAClientCanHaveAnotherPerformer() async throws {
    let first = NetworkScript([.ok("first")])
    let second = NetworkScript([.ok("second")])
    let seen = Box<NetworkClient>()
    let client = NetworkClient(
      baseURL: Self.service, on: first,
      middleware: [
        .around { request, call, next in
          seen.value = call.client
          return try await next(request)
        }
      ])
    #expect(try await client.load(Item()) == "first")
    // Even a copy of the client that a middleware sees, which belongs to a call that has started.
    var copy = try #require(seen.value)
    // The client holds its middleware.
    seen.value = nil
    copy.middleware = []
    copy.performer = second
    #expect(try await copy.load(Item()) == "second")
  }
  static let service = URL(string: "https://a.example/v2")

  // MARK: On another client

  @Test func clientOnAClientAddsItsOwnSettings() async throws {
    let script = NetworkScript([.ok("x")])
    let inner = NetworkClient(
      baseURL: Self.service, on: script, headers: ["User-Agent": "App", "Accept": "text/plain"])
    let outer = NetworkClient(on: inner, headers: ["Accept": "text/html", "X-Part": "reports"])
    #expect(try await outer.load(Item()) == "x")
    #expect(try await outer.performNetworkRequest(try #require(URL(string: "/plain"))) == Data("x".utf8))
    let other = NetworkClient(baseURL: URL(string: "https://b.example"), on: inner)
    #expect(try await other.load(Item()) == "x")
    #expect(
      script.requests.compactMap { $0.url?.absoluteString }
        == ["https://a.example/v2/items", "https://a.example/v2/plain", "https://b.example/items"])
    let accepted = script.values(of: "Accept")
    #expect(accepted == ["text/html", "text/html", "text/plain"])
    #expect(script.values(of: "X-Part") == ["reports", "reports", nil])
    #expect(script.requests.allSatisfy { $0.value(forHTTPHeaderField: "User-Agent") == "App" })
  }

  @Test func clientOnAClientUsesItsCodersUnlessItHasItsOwn() async throws {
    struct Item: Codable { var firstName: String }
    let script = NetworkScript([.ok(#"{"first_name":"B"}"#)])
    let inner = NetworkClient(baseURL: Self.service, on: script, encoder: .snakeCase, decoder: .snakeCase)
    let body = RequestBody.json(Item(firstName: "A"))
    #expect(try await NetworkClient(on: inner).load(.post("/", body: body, as: Item.self)).firstName == "B")
    #expect(script.requests.last?.httpBody == Data(#"{"first_name":"A"}"#.utf8))
    let own = NetworkClient(on: inner, encoder: JSONEncoder(), decoder: JSONDecoder())
    await #expect(throws: NetworkError.self) { try await own.load(.post("/", body: body, as: Item.self)) }
    #expect(script.requests.last?.httpBody == Data(#"{"firstName":"A"}"#.utf8))
  }

  @Test func middlewareOfAClientOnAClientIsOutside() async throws {
    let trace = Box<[String]>([])
    let script = NetworkScript { request, number in
      number == 0 ? .status(503) : .ok(request.value(forHTTPHeaderField: "X-Way") ?? "")
    }
    let inner = NetworkClient(
      baseURL: Self.service, on: script, middleware: [Tracing(name: "b", trace: trace)])
    let outer = NetworkClient(on: inner, middleware: [Tracing(name: "a", trace: trace)])
    #expect(try await outer.load(Item()) == "abba")
    #expect(trace.value?.joined(separator: " ") == "a> b> <b <a a> b> <b <a b=ab! a=abb!")
  }
}
