import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A credential that cannot be renewed, such as an API key.
extension AuthenticationTests {
  /// A credential in a field of its own.
  struct Field: NetworkCredential, Equatable {
    var name: String
    var value: String
    init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
    var headers: [String: String] { [name: value] }
  }
  static func key(_ value: String) -> Field { Field("X-Api-Key", value) }
  static func keys(_ script: NetworkScript) -> [String?] {
    script.values(of: "X-Api-Key")
  }

  @Test func apiKeyCanChangeAtRunTime() async throws {
    let key = Authentication<Field>(for: try #require(Self.origin))
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
    let member = Field("X-Member", "7")
    let key = Authentication(for: try #require(Self.origin), member)
    let script = NetworkScript([.ok("x")])
    let client = NetworkClient(baseURL: Self.origin, on: script, headers: member.headers, middleware: [key])
    let elsewhere = try #require(URL(string: "https://elsewhere.example/"))
    key.signIn(Field("X-Guest", "8"))
    _ = try await client.performNetworkRequest(elsewhere)
    key.signOut()
    _ = try await client.performNetworkRequest(elsewhere)
    #expect(script.values(of: "X-Member") == [nil, nil])
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

  // MARK: Several fields, and Basic authentication

  struct Pair: NetworkCredential { var headers: [String: String] }

  @Test func credentialOfSeveralFieldsIsSentWholeOrNotAtAll() async throws {
    let origin = try #require(Self.origin)
    let key = Authentication(for: origin, Pair(headers: ["X-Api-Key": "a", "X-Member": "7"]))
    let script = NetworkScript([.ok("x")])
    let client = Self.client(script, key)
    _ = try await Self.get(client)
    var own = URLRequest(url: origin)
    own.setValue("8", forHTTPHeaderField: "x-member")
    _ = try await client.performNetworkRequest(own)
    #expect(Self.keys(script) == ["a", nil])
    #expect(script.values(of: "X-Member") == ["7", "8"])
    #expect(key.secretFields == ["X-Api-Key", "X-Member"])
  }

  /// The examples of RFC 7617 §2 and §2.1. A password may contain a colon.
  @Test(arguments: [
    ("Aladdin", "open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("test", "123£", "Basic dGVzdDoxMjPCow=="),
    ("a", "b:c", "Basic YTpiOmM="),
  ])
  func sendsUserAndPasswordInUTF8(_ user: String, _ password: String, _ field: String) async throws {
    let credential = try BasicCredential(user: user, password: password)
    let script = NetworkScript([.ok("x")])
    _ = try await Self.get(Self.client(script, Authentication(for: try #require(Self.origin), credential)))
    #expect(Self.tokens(script) == [field] && "\(credential)" == "Basic …")
  }

  /// The server would take what follows the colon for the password.
  @Test func rejectsAUserWithAColon() {
    let error = #expect(throws: NetworkError.self) { try BasicCredential(user: "a:b", password: "c") }
    guard case .invalidRequest? = error else { Issue.record("\(String(describing: error))"); return }
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
