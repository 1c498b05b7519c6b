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

  // MARK: Settings that do not fit

  /// By the clock of the device, each token has expired as soon as it is issued.
  @Test func renewsOnceIfTheClockIsAhead() async throws {
    let renewals = Counter()
    let origin = try #require(Self.origin)
    let expired = BearerToken("old", expiresAt: .distantPast)
    let authentication = Authentication(for: origin, expired) { _, _ in
      BearerToken("\(renewals.add())", expiresAt: .distantPast)
    }
    let script = NetworkScript { request, number in
      request.value(forHTTPHeaderField: "Authorization") == "Bearer 1" && number > 9 ? .status(401) : .ok("x")
    }
    let client = Self.client(script, authentication)
    for _ in 0..<10 { _ = try await Self.get(client) }
    #expect(renewals.value == 1)
    // A rejection asks for the next one.
    for _ in 0..<3 { _ = try await Self.get(client) }
    #expect(renewals.value == 2 && Self.tokens(script).last == "Bearer 2")
  }
}
