import Foundation
import WyndLoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Which responses are served from the store, revalidated, stored and shared between users.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct ResponseCacheTests {
  typealias Step = NetworkScript.Step

  static let tagged = ["ETag": "\"1\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"]

  @Test func revalidatesWithValidatorsAndServesTheStoredBodyAfterA304() async throws {
    let cached = CachedClient([.ok("one", headers: Self.tagged), .status(304), .ok("two", headers: ["ETag": "\"2\""])])
    let first = try await cached.get()
    #expect(first.text == "one" && first.source == .network)
    let second = try await cached.get()
    #expect(second.text == "one" && second.source == .revalidated)
    let third = try await cached.get()
    #expect(third.text == "two" && third.source == .network)
    let asked = cached.script.requests
    #expect(asked.map { $0.value(forHTTPHeaderField: "If-None-Match") } == [nil, "\"1\"", "\"1\""])
    #expect(asked[1].value(forHTTPHeaderField: "If-Modified-Since") == "Sun, 06 Nov 1994 08:49:37 GMT")
  }

  @Test func varyIncludesHeadersOfTheSession() async throws {
    let server = try LoopbackServer { request in
      .status(200, [("Cache-Control", "max-age=600"), ("Vary", "X-Tenant")], body: request.value("X-Tenant") ?? "")
    }
    let folder = try Folder()
    defer { withExtendedLifetime(folder) {} }
    for tenant in ["red", "blue", "red"] {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpAdditionalHeaders = ["X-Tenant": tenant]
      let client = NetworkClient(on: try ResponseCache(in: folder.url, on: URLSession(configuration: configuration)))
      #expect(try await client.performNetworkRequest(server.url()) == Data(tenant.utf8))
    }
  }

  /// Even if the outcome of the request is unknown, and if it has a CSRF token.
  @Test(arguments: [[:], ["X-CSRF-Token": "abc"]], [Step.status(201), .status(303), .dropped])
  func unsafeRequestRemovesTheStoredResponse(_ fields: [String: String], _ outcome: Step) async throws {
    let cached = CachedClient([.ok("old", headers: ["Cache-Control": "max-age=600"]), outcome, .ok("new")])
    _ = try await cached.get()
    _ = try? await cached.get(fields, method: "POST")
    #expect(try await cached.get().text == "new")
  }

  @Test func doesNotShareResponsesBetweenAuthenticatedUsers() async throws {
    let cached = CachedClient([.ok("mine", headers: ["Cache-Control": "max-age=60"]), .ok("yours")])
    let origin = try #require(URL(string: "https://a.example"))
    let authentication = Authentication(for: origin, BearerToken("mine")) { _, _ in BearerToken("new") }
    cached.client.middleware = [authentication]
    #expect(try await cached.get().text == "mine")
    #expect(try await cached.get().source == .cache)
    authentication.signIn(BearerToken("yours"))
    #expect(try await cached.get().text == "yours")
  }

  @Test func keepsResponsesOfAnAccountAcrossRenewals() async throws {
    let fields = ["Cache-Control": "max-age=60"]
    let cached = CachedClient([.ok("one", headers: fields), .status(401), .ok("two", headers: fields)])
    let origin = try #require(URL(string: "https://a.example"))
    func authentication(_ token: String, _ account: String?) -> Authentication<BearerToken> {
      Authentication(for: origin, BearerToken(token), as: account) { _, _ in BearerToken("renewed") }
    }
    cached.client.middleware = [authentication("first", "ann")]
    #expect(try await cached.get().text == "one")
    #expect(try await cached.get(after: 100).text == "two")
    #expect(cached.script.requests.last?.value(forHTTPHeaderField: "Authorization") == "Bearer renewed")
    #expect(try await cached.get().source == .cache)
    // The next launch has the renewed token.
    cached.client.middleware = [authentication("renewed", "ann")]
    #expect(try await cached.get().source == .cache)
    cached.client.middleware = [authentication("renewed", "bob")]
    #expect(try await cached.get().source == .network)
  }

  @Test func doesNotStoreAResponseReceivedAfterAnotherSignIn() async throws {
    let origin = try #require(URL(string: "https://a.example"))
    let authentication = Authentication(for: origin, BearerToken("ann")) { _, _ in BearerToken("new") }
    let script = NetworkScript { request, number in
      if number == 0 { authentication.signIn(BearerToken("bob")) }
      return .ok("\(number)", headers: ["Cache-Control": "max-age=60"])
    }
    let client = NetworkClient(
      baseURL: origin, on: ResponseCache(on: script), middleware: [authentication])
    for expected in ["0", "1", "1"] { #expect(try await client.load(Text()) == expected) }
    authentication.signIn(BearerToken("ann"))
    #expect(try await client.load(Text()) == "2")
  }

  @Test func doesNotStoreARedirectedResponse() async throws {
    let server = try LoopbackServer { request in
      request.target == "/latest"
        ? .redirect(to: "/v\(request.index)") : .status(200, [("Cache-Control", "max-age=60")], body: request.target)
    }
    let client = NetworkClient(
      baseURL: server.url(), on: ResponseCache(), policy: .never)
    for expected in ["/v0", "/v2"] {
      #expect(try await client.performNetworkRequest(server.url("/latest")) == Data(expected.utf8))
    }
  }

  @Test func separatesUsersByHeadersOfTheSession() async throws {
    let server = try LoopbackServer {
      .status(200, [("Cache-Control", "max-age=60")], body: $0.value("Authorization") ?? "nobody")
    }
    let folder = try Folder()
    defer { withExtendedLifetime(folder) {} }
    for user in ["ann", "bob"] {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpAdditionalHeaders = ["Authorization": "Bearer \(user)"]
      let client = NetworkClient(
        on: try ResponseCache(in: folder.url, on: URLSession(configuration: configuration)), policy: .never)
      #expect(try await client.performNetworkRequest(server.url()) == Data("Bearer \(user)".utf8))
    }
  }

  @Test func valuesSendAPOSTOnce() async throws {
    struct Order: Endpoint {
      typealias Response = String
      var host: String { "a.example" }
      var path: String { "/" }
      var method: NetworkMethod { .post }
    }
    let cached = CachedClient([.ok("placed")])
    var got: [String] = []
    for try await value in cached.client.values(of: Order()) { got.append(value.value) }
    #expect(got == ["placed"] && cached.script.requests.count == 1)
  }

  /// Whether it sends its request with the client that it gets, or with a session of its own.
  @Test(arguments: [true, false]) func servesStaleWhenTheCredentialRenewalCannotReachTheServer(_ usesClient: Bool)
    async throws
  {
    let cached = CachedClient(
      [.ok("old", headers: Self.tagged), .status(401), .failure(.notConnectedToInternet)], stale: true)
    let origin = try #require(URL(string: "https://a.example"))
    let authentication = Authentication(for: origin, BearerToken("a")) { _, client in
      if !usesClient { throw URLError(.notConnectedToInternet) }
      _ = try await client.performNetworkRequest(URLRequest(url: origin))
      return BearerToken("b")
    }
    cached.client.middleware = [authentication]
    _ = try await cached.get()
    #expect(try await cached.get() == ("old", .cache))
  }

  @Test func revalidatesOnARealSession() async throws {
    let server = try LoopbackServer { request in
      request.value("If-None-Match") == "\"1\""
        ? .status(304, [("ETag", "\"1\"")]) : .status(200, [("ETag", "\"1\"")], body: "one")
    }
    let client = NetworkClient(
      baseURL: server.url(), on: ResponseCache(on: URLSession(configuration: .default)),
      policy: .never)
    for expected in [NetworkResponseSource.network, .revalidated, .revalidated] {
      let response = try await client.networkResponse(for: server.url())
      #expect(response.source == expected && response.data == Data("one".utf8))
    }
    #expect(server.requests.count == 3)
  }
}
