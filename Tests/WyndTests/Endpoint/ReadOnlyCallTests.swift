import Foundation
import Testing
import WyndLoopbackServer

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A POST that only reads, such as a query in GraphQL, is retried like a GET.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct ReadOnlyCallTests {
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
  static let quick = RetryPolicy(maxRetries: 3, backoff: .immediate, budget: .unlimited)

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
      var request = URLRequest(url: try #require(URL(string: "https://a.example/")))
      request.httpMethod = method
      let policy = RetryPolicy(onEvent: log.add)
      let result = await script.perform(NetworkCallPlan(request, policy: policy, isReadOnly: true))
      #expect(try result.get().data == Data("x".utf8) && script.requests.count == 3)
      #expect(log.safeties == [safety, safety])
    }
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
}
