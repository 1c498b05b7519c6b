import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How a rejected credential is renewed, once for all calls.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct AuthenticationTests {
  struct Expired: Error, Equatable {}

  /// Accepts one token, counts requests by token, and issues a new token at `/token`.
  final class Service: Sendable {
    private let good: Box<String>
    private let counts = Box<[String: Int]>([:])
    let renewals = Counter()

    init(_ good: String) { self.good = Box(good) }
    func count(_ token: String) -> Int { counts.value?[token] ?? 0 }

    func server(beforeRenewal: @escaping @Sendable (Service) -> ScriptedResponse? = { _ in nil }) throws
      -> LoopbackServer
    {
      try LoopbackServer(isRecording: false) { [self] request in
        if request.target == "/token" {
          if let response = beforeRenewal(self) { return response }
          let number = renewals.add()
          good.value = "new\(number)"
          return .ok("new\(number)")
        }
        let token = request.value("Authorization") ?? "none"
        counts.update { $0[token, default: 0] += 1 }
        if token == "Bearer \(good.value ?? "")" { return .ok("ok") }
        return .status(401)
      }
    }
  }

  static func client(_ server: LoopbackServer, _ token: String?) -> (NetworkClient, Authentication<BearerToken>) {
    let url = server.url("/token")
    let authentication = Authentication<BearerToken>(for: url, token.map { BearerToken($0) }) { _, client in
      let data = try await client.performNetworkRequest(url)
      return BearerToken(data.text)
    }
    return (NetworkClient(baseURL: server.url(), policy: .quick(), middleware: [authentication]), authentication)
  }
  static func renewed(_ client: NetworkClient) async throws -> BearerToken {
    BearerToken(try await get(client, "/token").data.text)
  }
  static func get(_ client: NetworkClient, _ path: String = "/") async throws(NetworkError) -> NetworkResponse<Data> {
    guard let url = URL(string: path) else { throw .cancelled }
    return try await client.networkResponse(for: url)
  }

  @Test func replaysWithoutRenewingWhenTheTokenIsAlreadyNew() async throws {
    let held = DispatchSemaphore(value: 0)
    let asked = Gate()
    let server = try LoopbackServer { request in
      if request.target == "/slow", request.value("Authorization") == "Bearer old" {
        asked.open()
        held.wait()
      }
      return request.value("Authorization") == "Bearer new1" ? .ok("ok") : .status(401)
    }
    let renewals = Counter()
    let authentication = Authentication(for: server.url(), BearerToken("old")) { _, _ in
      BearerToken("new\(renewals.add())")
    }
    let client = NetworkClient(baseURL: server.url(), policy: .quick(), middleware: [authentication])
    let slow = Task { try await Self.get(client, "/slow") }
    await asked.wait()
    _ = try await Self.get(client, "/quick")
    held.signal()
    _ = try await slow.value
    #expect(renewals.value == 1)
    #expect(server.requests.map(\.target) == ["/slow", "/quick", "/quick", "/slow"])
  }

  /// An order that one user began must not be placed by another.
  @Test(arguments: [false, true]) func doesNotReplayARequestForAnotherUser(_ duringRenewal: Bool) async throws {
    let held = DispatchSemaphore(value: 0)
    let asked = Gate()
    let server = try LoopbackServer { request in
      guard request.value("Authorization") == "Bearer ann" else { return .ok("ok") }
      if !duringRenewal {
        asked.open()
        held.wait()
      }
      return .status(401)
    }
    let authentication = Authentication(for: server.url(), BearerToken("ann")) { _, _ in
      asked.open()
      await handlerValue { end in DispatchQueue.global().async { end(held.wait()) } }
      return BearerToken("ann renewed")
    }
    let client = NetworkClient(baseURL: server.url(), policy: .quick(), middleware: [authentication])
    let order = Task { try await Self.get(client, "/order") }
    await asked.wait()
    authentication.signOut()
    authentication.signIn(BearerToken("bob"))
    held.signal()
    await #expect(throws: NetworkError.self) { try await order.value }
    _ = try await Self.get(client, "/list")
    #expect(authentication.credential == BearerToken("bob"))
    #expect(server.requests.filter { $0.target == "/order" }.map { $0.value("Authorization") } == ["Bearer ann"])
  }

  @Test func doesNotRenewAfterA401OfAnotherOrigin() async throws {
    let other = try LoopbackServer(script: .status(401))
    let server = try LoopbackServer(script: .redirect(to: other.url().absoluteString))
    let renewals = Counter()
    let authentication = Authentication(for: server.url(), BearerToken("old")) { _, _ in
      BearerToken("new\(renewals.add())")
    }
    let client = NetworkClient(baseURL: server.url(), policy: .quick(), middleware: [authentication])
    await #expect(throws: NetworkError.self) { try await Self.get(client) }
    #expect(renewals.value == 0)
  }

  @Test func failedRenewalFailsAllWaitingCallsAndTheNextCallRenews() async throws {
    let refreshes = Counter()
    let rejected = Counter()
    let script = Self.script("none", rejectsFrom: 20)
    let authentication = Authentication<BearerToken>(for: try #require(Self.origin), BearerToken("old")) { _, _ in
      await rejected.reaches(20)
      refreshes.add()
      throw Expired()
    }
    let client = Self.client(script, authentication, Self.failures(rejected))
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<20 {
        group.addTask {
          do throws(NetworkError) { _ = try await Self.get(client) } catch {
            if case .generalError(let error) = error { return error as? Expired == Expired() }
          }
          return false
        }
      }
      for await isRight in group { #expect(isRight) }
    }
    // A call that has not yet begun to wait when the renewal fails starts another one.
    let shared = refreshes.value
    #expect(shared < 20)
    #expect(script.requests.count == 20)
    _ = try? await Self.get(client)
    #expect(refreshes.value == shared + 1)
  }

  /// RFC 6749 §5.2: 400 with `invalid_grant`.
  @Test func callWhoseRenewalIsRefusedFailsWithItsOwn401() async throws {
    let server = try LoopbackServer { .status($0.target == "/token" ? 400 : 401) }
    let (client, _) = Self.client(server, "old")
    let error = try #require(await #expect(throws: NetworkError.self) { try await Self.get(client) })
    #expect(error.statusCode == 401 && error.response?.url?.path == "/" && !error.shouldRetry)
    guard case .middlewareError(let renewal as NetworkError, .endpointError) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(renewal.statusCode == 400)
    #expect(error.localizedDescription == "The server requires a valid sign-in.")
  }

  @Test func requestOfARenewalDoesNotTriggerAnotherRenewal() async throws {
    let refreshes = Counter()
    let server = try LoopbackServer { _ in .status(401) }
    let url = server.url("/token")
    let authentication = Authentication<BearerToken>(for: url, BearerToken("old")) { _, client in
      refreshes.add()
      return BearerToken(try await client.performNetworkRequest(url, maxRetries: 2).text)
    }
    let client = NetworkClient(
      baseURL: server.url(),
      policy: .quick(shouldRetry: { $0.statusCode == 401 }),
      middleware: [authentication])
    _ = try? await client.networkResponse(for: server.url(), maxRetries: 0)
    #expect(refreshes.value == 1)
    // Its retries, which start on a timer, are sent without the credential too.
    #expect(server.requests.filter { $0.target == "/token" }.map { $0.value("Authorization") } == [nil, nil, nil])
  }

  /// No request of the call was sent, so it has no status.
  @Test func callWithAnExpiredCredentialHasNoStatusOfItsRenewal() async throws {
    let server = try LoopbackServer(script: .status(400))
    let authentication = Authentication(for: server.url(), BearerToken("old", expiresAt: .distantPast)) { _, client in
      try await Self.renewed(client)
    }
    let client = NetworkClient(baseURL: server.url(), policy: .quick(), middleware: [authentication])
    let error = try #require(await #expect(throws: NetworkError.self) { try await Self.get(client) })
    guard case .generalError(let renewal as NetworkError) = error else { Issue.record("\(error)"); return }
    #expect(renewal.statusCode == 400)
    #expect(error.statusCode == nil && error.data == nil && error.response == nil)
    #expect(server.requests.map(\.target) == ["/token"])
  }

  /// People sent a GET, and have nothing to check. An outage is no reason to sign in again.
  @Test func lostRenewalOfAGETAsksForNoCheck() async throws {
    let server = try LoopbackServer { $0.target == "/token" ? .close : .status(401) }
    let authentication = Authentication(for: server.url(), BearerToken("old")) { _, client in
      let request = URLRequest(url: server.url("/token"), method: "POST")
      return BearerToken(try await client.performNetworkRequest(request).text)
    }
    let client = NetworkClient(baseURL: server.url(), policy: .quick(), middleware: [authentication])
    let error = try #require(await #expect(throws: NetworkError.self) { try await Self.get(client) })
    #expect(error.localizedDescription.contains("check") == false)
    #expect(error.urlError?.code == .networkConnectionLost && error.statusCode == nil)
    #expect(authentication.credential == BearerToken("old"))
  }
}

extension Authentication<BearerToken> {
  /// Signs a user in, or out if there is none.
  func signInOrOut(_ token: String?) {
    if let token { signIn(BearerToken(token)) } else { signOut() }
  }
}
