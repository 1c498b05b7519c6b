import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension AuthenticationTests {
  static let origin = URL(string: "https://a.example")

  static func client(
    _ script: NetworkScript, _ authentication: any NetworkMiddleware..., policy: RetryPolicy = .quick()
  ) -> NetworkClient {
    NetworkClient(baseURL: origin, on: script, policy: policy, middleware: authentication)
  }
  static func client(
    _ server: LoopbackServer, _ authentication: any NetworkMiddleware..., policy: RetryPolicy = .quick()
  ) -> NetworkClient {
    NetworkClient(baseURL: server.url(), policy: policy, middleware: authentication)
  }
  /// The error that a middleware threw.
  static func reason(_ error: NetworkError?) -> (any Error)? {
    switch error {
    case .generalError(let reason): reason
    case .inaccessible(let failure): reason(failure.lastError)
    default: nil
    }
  }
  static func tokens(_ script: NetworkScript) -> [String?] {
    script.values(of: "Authorization")
  }

  // MARK: Where the credential goes

  static let places: [(origin: String, url: String, isSigned: Bool)] = [
    ("https://a.example", "https://a.example/x", true),
    ("https://a.example", "https://A.EXAMPLE/", true), ("https://a.example", "https://a.example:443/", true),
    ("https://a.example", "https://a.example:8443/", false),
    ("https://a.example", "http://a.example/", false),
    ("https://a.example", "https://b.example/", false), ("https://a.example", "https://www.a.example/", false),
    ("https://a.example", "https://a.example.evil.example/", false),
  ]
  @Test(arguments: places) func sendsCredentialToItsOriginOnly(_ origin: String, _ url: String, _ isSigned: Bool)
    async throws
  {
    let script = NetworkScript([.ok("x")])
    let authentication = Authentication(for: try #require(URL(string: origin)), BearerToken("a")) { _, _ in
      BearerToken("b")
    }
    _ = try await Self.get(Self.client(script, authentication), url)
    #expect(Self.tokens(script) == [isSigned ? "Bearer a" : nil])
  }

  @Test func doesNotReplaceAnAuthorizationHeaderOfTheRequest() async throws {
    let script = NetworkScript([.status(401)])
    let renewals = Counter()
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("a")) { _, _ in
      BearerToken("new\(renewals.add())")
    }
    var request = URLRequest(url: try #require(Self.origin))
    request.setValue("own", forHTTPHeaderField: "authorization")
    let own = request
    let client = Self.client(script, authentication)
    await #expect(throws: NetworkError.self) { try await client.performNetworkRequest(own) }
    #expect(Self.tokens(script) == ["own"] && renewals.value == 0)
  }

  /// A token from a file often ends with a line break.
  @Test func rejectsCredentialWithAnInvalidHeader() async throws {
    let script = NetworkScript([.ok("x")])
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("a\n")) { _, _ in
      BearerToken("b")
    }
    do throws(NetworkError) {
      _ = try await Self.get(Self.client(script, authentication))
      Issue.record("sent")
    } catch {
      guard case .invalidRequest = error else { Issue.record("\(error)"); return }
    }
    #expect(script.requests.isEmpty)
  }

  // MARK: Rejection

  struct Key: NetworkCredential {
    var key: String
    var headers: [String: String] { ["Authorization": key] }
    func isRejected(by response: HTTPURLResponse) -> Bool { [403, 200].contains(response.statusCode) }
  }

  @Test func credentialDefinesWhichResponsesRejectIt() async throws {
    let script = NetworkScript { request, _ in
      request.value(forHTTPHeaderField: "Authorization") == "b" ? .ok("x") : .status(403)
    }
    let renewed = Box<[String?]>([])
    let authentication = Authentication(for: try #require(Self.origin), Key(key: "a")) { old, _ in
      renewed.append(old.key)
      return Key(key: "b")
    }
    // A success is never a rejection.
    for _ in 0..<2 { _ = try await Self.get(Self.client(script, authentication)) }
    #expect(Self.tokens(script) == ["a", "b", "b"])
    #expect(renewed.value == ["a"])
  }

  // MARK: Replay

  /// It was read. But the next call has a new token, or each repetition by the user would fail.
  @Test func doesNotReplayABodyStreamAfterA401() async throws {
    let script = NetworkScript([.status(401), .ok("x")])
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("a")) { _, _ in BearerToken("b") }
    let client = Self.client(script, authentication)
    let error = await #expect(throws: NetworkError.self) {
      var request = URLRequest(url: try #require(Self.origin), method: "POST")
      request.httpBodyStream = InputStream(data: Data("once".utf8))
      return try await client.performNetworkRequest(request)
    }
    #expect(error?.statusCode == 401)
    await until { authentication.credential == BearerToken("b") }
    _ = try await Self.get(client)
    #expect(Self.tokens(script) == ["Bearer a", "Bearer b"])
  }

  @Test(arguments: ["GET", "PUT"]) func replaysIdempotentRequestRejectedAfterARedirect(_ method: String)
    async throws
  {
    let server = try LoopbackServer { request in
      if request.target == "/start" { return .redirect(307, to: "/page") }
      return request.value("Authorization") == "Bearer new" ? .ok("ok") : .status(401)
    }
    let authentication = Authentication(for: server.url(), BearerToken("old")) { _, _ in BearerToken("new") }
    let request = URLRequest(url: server.url("/start"), method: method)
    let data = try await Self.client(server, authentication).performNetworkRequest(request)
    #expect(data == Data("ok".utf8))
    #expect(server.requests.map(\.target) == ["/start", "/page", "/start", "/page"])
  }

  @Test func replaysRejectedPOSTWithItsBody() async throws {
    let server = try LoopbackServer { $0.value("Authorization") == "Bearer new" ? .ok($0.text) : .status(401) }
    let authentication = Authentication(for: server.url(), BearerToken("old")) { _, _ in BearerToken("new") }
    let request = URLRequest(url: server.url(), method: "POST", body: "order")
    let data = try await Self.client(server, authentication).performNetworkRequest(request)
    #expect(data == Data("order".utf8))
    #expect(server.requests.map(\.text) == ["order", "order"])
  }
}
