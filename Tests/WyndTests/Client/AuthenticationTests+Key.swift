import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A credential that cannot be renewed, such as an API key.
extension AuthenticationTests {
  static func key(_ value: String) -> NetworkHeader { NetworkHeader("X-Api-Key", value) }
  static func keys(_ script: NetworkScript) -> [String?] {
    script.requests.map { $0.value(forHTTPHeaderField: "X-Api-Key") }
  }

  @Test func apiKeyCanChangeAtRunTime() async throws {
    let key = Authentication<NetworkHeader>(for: try #require(Self.origin))
    let script = NetworkScript([.ok("x")])
    let client = Self.client(script, key)
    _ = try await Self.get(client)
    key.signIn(Self.key("a"))
    _ = try await Self.get(client)
    key.signIn(Self.key("b"))
    _ = try await Self.get(client)
    key.signOut()
    _ = try await Self.get(client)
    #expect(Self.keys(script) == [nil, "a", "b", nil])
  }

  /// A request may still have it.
  @Test func fieldOfAnEarlierCredentialRemainsASecret() async throws {
    let member = NetworkHeader("X-Member", "7")
    let key = Authentication(for: try #require(Self.origin), member)
    let script = NetworkScript([.ok("x")])
    let client = NetworkClient(baseURL: Self.origin, on: script, headers: [member], middleware: [key])
    let elsewhere = try #require(URL(string: "https://elsewhere.example/"))
    key.signIn(NetworkHeader("X-Guest", "8"))
    _ = try await client.performNetworkRequest(elsewhere)
    key.signOut()
    _ = try await client.performNetworkRequest(elsewhere)
    #expect(script.requests.map { $0.value(forHTTPHeaderField: "X-Member") } == [nil, nil])
    #expect(key.secretFields == ["X-Member", "X-Guest"])
  }

  @Test func rejectedAPIKeyIsAnErrorAndIsKept() async throws {
    let key = Authentication(for: try #require(Self.origin), Self.key("a"))
    let script = NetworkScript([.status(401), .ok("x")])
    let client = Self.client(script, key)
    let error = await #expect(throws: NetworkError.self) { try await Self.get(client) }
    guard case .endpointError(let response, _) = error else { Issue.record("\(String(describing: error))"); return }
    #expect(response.statusCode == 401 && key.credential == Self.key("a"))
    _ = try await Self.get(client)
    #expect(Self.keys(script) == ["a", "a"])
  }

  @Test func credentialThatHasExpiredIsSentIfItCannotBeRenewed() async throws {
    let token = BearerToken("old", expiresAt: Date(timeIntervalSince1970: 0))
    let script = NetworkScript([.ok("x")])
    _ = try await Self.get(Self.client(script, Authentication(for: try #require(Self.origin), token)))
    #expect(Self.tokens(script) == ["Bearer old"])
  }

  @Test func renewingACredentialThatCannotBeRenewedIsAnError() async throws {
    let key = Authentication(for: try #require(Self.origin), Self.key("a"))
    let error = await #expect(throws: NetworkError.self) {
      try await key.renew(with: NetworkClient(on: NetworkScript([])))
    }
    guard case .invalidRequest = error else { Issue.record("\(String(describing: error))"); return }
    #expect(key.credential == Self.key("a"))
  }

  // MARK: Who is signed in when a call begins

  /// Signs a user in before the request.
  struct SigningIn: NetworkMiddleware {
    let key: Authentication<NetworkHeader>
    var stage: MiddlewareStage { .call }
    func respond(
      to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
    ) async throws -> NetworkResponse<Data> {
      key.signIn(AuthenticationTests.key("new"))
      return try await next(request)
    }
  }

  @Test func middlewareOfACallCanSignIn() async throws {
    let key = Authentication<NetworkHeader>(for: try #require(Self.origin))
    let script = NetworkScript([.status(503), .ok("x")])
    _ = try await Self.get(Self.client(script, SigningIn(key: key), key))
    #expect(Self.keys(script) == ["new", "new"])
  }

  @Test func middlewareOfACallCannotReplaceTheUser() async throws {
    let key = Authentication(for: try #require(Self.origin), Self.key("old"))
    let script = NetworkScript([.ok("x")])
    let error = await #expect(throws: NetworkError.self) {
      try await Self.get(Self.client(script, SigningIn(key: key), key))
    }
    #expect((Self.reason(error) as? URLError)?.code == .userAuthenticationRequired && script.requests.isEmpty)
  }

  /// A middleware of the app that contains an `Authentication`.
  struct Containing: NetworkMiddleware {
    let authentication: Authentication<BearerToken>
    let stage: MiddlewareStage
    func respond(
      to request: URLRequest, in call: NetworkCall, next: @escaping NetworkMiddlewareNext
    ) async throws -> NetworkResponse<Data> {
      try await authentication.respond(to: request, in: call, next: next)
    }
  }

  @Test(arguments: [MiddlewareStage.attempt, .call])
  func middlewareCanContainAnAuthentication(_ stage: MiddlewareStage) async throws {
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("old")) { _, _ in
      BearerToken("new")
    }
    let script = NetworkScript { request, _ in
      request.value(forHTTPHeaderField: "Authorization") == "Bearer new" ? .ok("x") : .status(401)
    }
    let client = Self.client(script, Containing(authentication: authentication, stage: stage))
    #expect(try await Self.get(client).data == Data("x".utf8))
    #expect(Self.tokens(script) == ["Bearer old", "Bearer new"])
  }

  /// Around all attempts, it is not known whether one of them was redirected.
  @Test func authenticationOnceACallDoesNotReplayAPOST() async throws {
    let server = try LoopbackServer { request in
      request.method == "POST" ? .redirect(303, to: "/orders") : .status(401)
    }
    let authentication = Authentication(for: server.url(), BearerToken("old")) { _, _ in BearerToken("new") }
    let client = Self.client(server, Containing(authentication: authentication, stage: .call))
    var request = URLRequest(url: server.url("/orders"))
    request.httpMethod = "POST"
    let order = request
    let error = await #expect(throws: NetworkError.self) { try await client.performNetworkRequest(order) }
    #expect(error?.statusCode == 401 && server.requests.map(\.method) == ["POST", "GET"])
  }
}
