import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What is served from the store, when the server is asked, and what is never stored or never shared.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct ResponseCacheTests {
  typealias Step = NetworkScript.Step

  static let tagged = ["ETag": "\"1\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"]

  @Test func theServerIsAskedWithTheValidatorsAndA304IsServedFromTheStore() async throws {
    let world = World([.ok("one", headers: Self.tagged), .status(304), .ok("two", headers: ["ETag": "\"2\""])])
    let first = try await world.get()
    #expect(first.text == "one" && first.source == .network)
    let second = try await world.get()
    #expect(second.text == "one" && second.source == .revalidated)
    let third = try await world.get()
    #expect(third.text == "two" && third.source == .network)
    let asked = world.script.requests
    #expect(asked.map { $0.value(forHTTPHeaderField: "If-None-Match") } == [nil, "\"1\"", "\"1\""])
    #expect(asked[1].value(forHTTPHeaderField: "If-Modified-Since") == "Sun, 06 Nov 1994 08:49:37 GMT")
  }

  /// It has no body to look at, and is no answer to the caller.
  @Test func aValidationLetsA304ToTheCachePass() async throws {
    for validation in [
      ResponseValidation(statusCodes: 200..<300), ResponseValidation { $0.data.isEmpty ? "empty" : nil },
    ] {
      var world = World([.ok("one", headers: Self.tagged), .status(304)])
      world.client.middleware = world.client.middleware.filter { $0.stage == .call } + [validation]
      _ = try await world.get()
      #expect(try await world.get().source == .revalidated)
      world = World([.status(304)])
      world.client.middleware = world.client.middleware.filter { $0.stage == .call } + [validation]
      await #expect(throws: NetworkError.self) { try await world.get() }
    }
  }

  @Test func whatTheSessionAddsCountsForVary() async throws {
    let server = try LoopbackServer { request in
      .status(200, [("Cache-Control", "max-age=600"), ("Vary", "X-Tenant")], body: request.value("X-Tenant") ?? "")
    }
    let cache = ResponseCache(MemoryStore())
    for tenant in ["red", "blue", "red"] {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpAdditionalHeaders = ["X-Tenant": tenant]
      let client = NetworkClient(session: URLSession(configuration: configuration), middleware: [cache])
      #expect(try await client.performNetworkRequest(URLRequest(url: server.url())) == Data(tenant.utf8))
    }
  }

  /// Also where nobody knows what became of the change, and where it carried a token against forgery.
  @Test(arguments: [[:], ["X-CSRF-Token": "abc"]], [Step.status(201), .status(500), .dropped])
  func aChangeEndsWhatIsStored(_ fields: [String: String], _ outcome: Step) async throws {
    let world = World([.ok("old", headers: ["Cache-Control": "max-age=600"]), outcome, .ok("new")])
    _ = try await world.get()
    _ = try? await world.get(fields, method: "POST")
    #expect(try await world.get().text == "new")
  }

  @Test func aGETWithABodyIsNotStored() async throws {
    let world = World([.ok("one", headers: ["Cache-Control": "max-age=60"]), .ok("two")])
    var request = URLRequest(url: try #require(URL(string: "https://a.example/")))
    request.httpBody = Data("query".utf8)
    #expect(try await world.client.performNetworkRequest(request) == Data("one".utf8))
    #expect(try await world.get().text == "two")
  }

  @Test func varyKeepsVariantsApart() async throws {
    let headers = ["Cache-Control": "max-age=60", "Vary": "Accept-Language, X-A"]
    let world = World([.ok("de", headers: headers), .ok("fr", headers: headers)])
    #expect(try await world.get(["Accept-Language": "de"]).text == "de")
    #expect(try await world.get(["Accept-Language": "de"]).source == .cache)
    #expect(try await world.get(["Accept-Language": "fr"]).text == "fr")
    #expect(try await world.get(["accept-language": "fr"]).source == .cache)
  }

  @Test func nothingWithAuthorizationIsSharedBetweenCredentials() async throws {
    let headers = ["Cache-Control": "max-age=60", "ETag": "\"1\""]
    for field in ["Authorization", "X-Api-Key"] {
      let world = World([
        .ok("mine", headers: headers), .ok("yours", headers: headers), .ok("nobody's", headers: headers),
      ])
      #expect(try await world.get([field: "Bearer mine"]).text == "mine")
      #expect(try await world.get([field: "Bearer yours"]).text == "yours")
      #expect(try await world.get().text == "nobody's")
      #expect(try await world.get([field: "Bearer mine"]) == ("mine", .cache))
      #expect(world.script.requests.allSatisfy { $0.value(forHTTPHeaderField: "If-None-Match") == nil })
    }
  }

  @Test func whatAnAuthenticationAddsCountsToo() async throws {
    let world = World([.ok("mine", headers: ["Cache-Control": "max-age=60"]), .ok("yours")])
    let origin = try #require(URL(string: "https://a.example"))
    let authentication = Authentication(for: origin, BearerToken("mine")) { _, _ in BearerToken("new") }
    world.client.middleware = world.client.middleware.filter { $0.stage == .call } + [authentication]
    #expect(try await world.get().text == "mine")
    #expect(try await world.get().source == .cache)
    authentication.credential = BearerToken("yours")
    #expect(try await world.get().text == "yours")
  }

  @Test func aRenewalChangesNothingAndAnAccountOutlivesIt() async throws {
    let fields = ["Cache-Control": "max-age=60"]
    let world = World([.ok("one", headers: fields), .status(401), .ok("two", headers: fields)])
    let origin = try #require(URL(string: "https://a.example"))
    func authentication(_ token: String, _ account: String?) -> Authentication<BearerToken> {
      Authentication(for: origin, BearerToken(token), as: account) { _, _ in BearerToken("renewed") }
    }
    world.client.middleware = world.client.middleware.filter { $0.stage == .call } + [authentication("first", "ann")]
    #expect(try await world.get().text == "one")
    #expect(try await world.get(after: 100).text == "two")
    #expect(world.script.requests.last?.value(forHTTPHeaderField: "Authorization") == "Bearer renewed")
    #expect(try await world.get().source == .cache)
    // The next launch has the renewed token.
    world.client.middleware = world.client.middleware.filter { $0.stage == .call } + [authentication("renewed", "ann")]
    #expect(try await world.get().source == .cache)
    world.client.middleware = world.client.middleware.filter { $0.stage == .call } + [authentication("renewed", "bob")]
    #expect(try await world.get().source == .network)
  }

  @Test func anAnswerThatComesAfterAnotherSignInIsStoredForNobody() async throws {
    let origin = try #require(URL(string: "https://a.example"))
    let authentication = Authentication(for: origin, BearerToken("ann")) { _, _ in BearerToken("new") }
    let script = NetworkScript { request, number in
      if number == 0 { authentication.credential = BearerToken("bob") }
      return .ok("\(number)", headers: ["Cache-Control": "max-age=60"])
    }
    let client = NetworkClient(
      baseURL: origin, middleware: [ResponseCache(MemoryStore()), authentication], script: script)
    for expected in ["0", "1", "1"] { #expect(try await client.load(Text()) == expected) }
    authentication.credential = BearerToken("ann")
    #expect(try await client.load(Text()) == "2")
  }

  @Test func aChangeForgetsWhatItChanged() async throws {
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
      let world = World([.ok("one", headers: ["Cache-Control": "max-age=60"]), .ok("changed"), .ok("two")])
      _ = try await world.get()
      _ = try await world.get(method: method)
      #expect(try await world.get().text == "two")
    }
  }

  @Test func aRequestWithAConditionOfItsOwnGetsItsOwnAnswer() async throws {
    let world = World([.ok("one", headers: Self.tagged), .status(304, headers: ["ETag": "\"new\""]), .status(304)])
    _ = try await world.get()
    let own = try await world.get(["If-None-Match": "\"new\""])
    #expect(own.text == "" && own.source == .network)
    #expect(try await world.get().text == "one")
    #expect(world.script.requests.last?.value(forHTTPHeaderField: "If-None-Match") == "\"1\"")
  }

  @Test func theTargetOfARedirectIsNotStoredForWhoeverRedirected() async throws {
    let server = try LoopbackServer { request in
      request.target == "/latest"
        ? .redirect(to: "/v\(request.index)") : .status(200, [("Cache-Control", "max-age=60")], body: request.target)
    }
    let client = NetworkClient(
      baseURL: server.url(), policy: .never, middleware: [ResponseCache(MemoryStore())])
    for expected in ["/v0", "/v2"] {
      #expect(try await client.performNetworkRequest(URLRequest(url: server.url("/latest"))) == Data(expected.utf8))
    }
  }

  @Test func aCredentialOfTheSessionCountsToo() async throws {
    let server = try LoopbackServer {
      .status(200, [("Cache-Control", "max-age=60")], body: $0.value("Authorization") ?? "nobody")
    }
    let store = MemoryStore()
    for user in ["ann", "bob"] {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpAdditionalHeaders = ["Authorization": "Bearer \(user)"]
      let client = NetworkClient(
        session: URLSession(configuration: configuration), policy: .never, middleware: [ResponseCache(store)])
      #expect(
        try await client.performNetworkRequest(URLRequest(url: server.url())) == Data("Bearer \(user)".utf8))
    }
  }

  @Test func anOrderIsPlacedOnceHoweverItsValuesAreAskedFor() async throws {
    struct Order: Endpoint {
      typealias Response = String
      var host: String { "a.example" }
      var path: String { "/" }
      var method: URLRequest.Method { .post }
    }
    let world = World([.ok("placed")])
    var got: [String] = []
    for try await value in world.client.values(of: Order()) { got.append(value.value) }
    #expect(got == ["placed"] && world.script.requests.count == 1)
  }

  /// Whether it sends its request with the client that it gets, or with a session of its own.
  @Test(arguments: [true, false]) func aRenewalThatCannotReachTheServerIsAnOutageToo(_ usesClient: Bool) async throws {
    let world = World([.ok("old", headers: Self.tagged), .status(401), .failure(.notConnectedToInternet)], stale: true)
    let origin = try #require(URL(string: "https://a.example"))
    let authentication = Authentication(for: origin, BearerToken("a")) { _, client in
      if !usesClient { throw URLError(.notConnectedToInternet) }
      _ = try await client.performNetworkRequest(URLRequest(url: origin))
      return BearerToken("b")
    }
    world.client.middleware = world.client.middleware.filter { $0.stage == .call } + [authentication]
    _ = try await world.get()
    #expect(try await world.get() == ("old", .cache))
  }
}
