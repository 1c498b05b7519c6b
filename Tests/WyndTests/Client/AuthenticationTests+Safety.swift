import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension AuthenticationTests {
  @Test func cancelingOneCallDoesNotCancelTheSharedRenewal() async throws {
    let (sent, rejected, renewals) = (Counter(), Counter(), Counter())
    let (begun, mayEnd) = (Gate(), Gate())
    let script = NetworkScript { request, _ in
      if request.value(forHTTPHeaderField: "Authorization") == "Bearer new" { return .ok("ok") }
      sent.add()
      // The first call starts the renewal, when all of them have been sent.
      if request.url?.path == "/0" { await sent.reaches(6) } else { await begun.wait() }
      return .status(401)
    }
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("old")) { _, _ in
      renewals.add()
      begun.open()
      await mayEnd.wait()
      return BearerToken("new")
    }
    let client = Self.client(script, authentication, Self.failures(rejected))
    let calls = (0..<6).map { number in Task { try await Self.get(client, "/\(number)") } }
    await rejected.reaches(6)
    for call in calls.prefix(2) {
      call.cancel()
      await #expect(throws: NetworkError.self) { try await call.value }
    }
    mayEnd.open()
    for call in calls.dropFirst(2) { _ = try await call.value }
    #expect(renewals.value == 1)
  }

  @Test func failsWhenTheRenewedTokenIsRejected() async throws {
    let refreshes = Counter()
    let server = try LoopbackServer { _ in .status(401) }
    let authentication = Authentication<BearerToken>(for: server.url(), BearerToken("old")) { _, _ in
      BearerToken("new\(refreshes.add())")
    }
    let client = NetworkClient(baseURL: server.url(), policy: .quick(), middleware: [authentication])
    do throws(NetworkError) {
      _ = try await Self.get(client)
      Issue.record("no error thrown")
    } catch {
      guard case .endpointError(let response, _) = error else { Issue.record("\(error)"); return }
      #expect(response.statusCode == 401)
    }
    #expect(refreshes.value == 1)
    #expect(server.values(of: "Authorization") == ["Bearer old", "Bearer new1"])
  }

  struct APIKey: NetworkCredential {
    var headers: [String: String] { ["X-Member": "the secret"] }
  }

  @Test func doesNotSendACustomCredentialHeaderToAnotherOrigin() async throws {
    let other = try LoopbackServer(script: .ok())
    for code in [301, 302, 303, 307, 308] {
      let server = try LoopbackServer(script: .redirect(code, to: other.url("/stolen").absoluteString))
      let authentication = Authentication<APIKey>(for: server.url(), APIKey()) { _, _ in APIKey() }
      let client = NetworkClient(baseURL: server.url(), policy: .quick(), middleware: [authentication])
      _ = try await Self.get(client)
      #expect(server.requests.first?.value("X-Member") == "the secret")
    }
    #expect(other.requests.count == 5)
    #expect(other.requests.allSatisfy { $0.value("X-Member") == nil })
    // And not by a call that goes elsewhere in the first place.
    let authentication = Authentication<APIKey>(for: try #require(URL(string: "http://127.0.0.1:1/")), APIKey()) {
      _, _ in APIKey()
    }
    let client = NetworkClient(baseURL: other.url(), policy: .quick(), middleware: [authentication])
    _ = try await Self.get(client)
    #expect(other.requests.last?.value("X-Member") == nil)
  }

  @Test func signOutDuringARenewalIsKept() async throws {
    let held = DispatchSemaphore(value: 0)
    let asked = Gate()
    let service = Service("unknown")
    let server = try service.server { _ in
      asked.open()
      held.wait()
      return nil
    }
    let (client, authentication) = Self.client(server, "old")
    let call = Task { try await Self.get(client) }
    await asked.wait()
    authentication.signOut()
    held.signal()
    await #expect(throws: NetworkError.self) { try await call.value }
    #expect(authentication.credential == nil)
    #expect(service.count("Bearer new1") == 0)
  }

  /// A renewal can take as long as a person needs, and nobody waits for it any more.
  @Test(arguments: [nil, "other"]) func anotherUserEndsTheRenewalAndTheCallsThatWait(_ token: String?) async throws {
    let (asked, canceled) = (Gate(), Gate())
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("old")) { _, _ in
      asked.open()
      do { try await Task.sleep(for: .seconds(600)) } catch { canceled.open() }
      try Task.checkCancellation()
      return BearerToken("new")
    }
    let client = Self.client(NetworkScript([.status(401), .ok("x")]), authentication)
    let call = Task { try await Self.get(client) }
    await asked.wait()
    if let token { authentication.signIn(BearerToken(token)) } else { authentication.signOut() }
    await canceled.wait()
    let error = await #expect(throws: NetworkError.self) { try await call.value }
    #expect(error?.urlError?.code == .userAuthenticationRequired && error?.isCancellation == false)
    #expect(authentication.credential == token.map { BearerToken($0) })
  }

  /// The call that waits for the renewal has failed at the same host just before.
  @Test(arguments: [false, true]) func renewalDoesNotWaitForTheRetryBudgetOfItsCall(ofItsOwn: Bool) async throws {
    let budget = RetryBudget()
    let policy = RetryPolicy(backoff: .immediate, deadline: .seconds(120), budget: budget)
    let server = try LoopbackServer { request in
      switch request.target {
      case "/token": request.index < 3 ? .status(503) : .ok("new")
      default:
        request.index == 0 ? .status(503) : request.value("Authorization") == "Bearer new" ? .ok("ok") : .status(401)
      }
    }
    let url = server.url("/token")
    let authentication = Authentication<BearerToken>(for: url, BearerToken("old")) { _, client in
      let data = try await client.performNetworkRequest(url, policy: ofItsOwn ? policy : .default)
      return BearerToken(data.text)
    }
    let client = NetworkClient(baseURL: server.url(), policy: policy, middleware: [authentication])
    #expect(try await Self.get(client).data == Data("ok".utf8))
  }

  /// A change of password revokes the token, so the page after its redirect responds 401. The change is not made twice.
  /// Even if that page has the same URL. A URL in another spelling is no redirect.
  @Test(arguments: ["/profile", "/password"]) func doesNotReplayPOSTRejectedAfterARedirect(_ page: String) async throws
  {
    let server = try LoopbackServer { request in
      if request.method == "POST", request.target == "/password" { return .redirect(303, to: page) }
      return request.value("Authorization") == "Bearer new" ? .ok("ok") : .status(401)
    }
    let authentication = Authentication(for: server.url(), BearerToken("old")) { _, _ in BearerToken("new") }
    let client = NetworkClient(
      baseURL: server.url(), policy: RetryPolicy(budget: .unlimited), middleware: [authentication])
    var request = URLRequest(url: server.url("/password"), method: "POST", body: "new password")
    let change = request
    let error = await #expect(throws: NetworkError.self) { try await client.performNetworkRequest(change) }
    #expect(error?.statusCode == 401)
    #expect(server.requests.map(\.method) == ["POST", "GET"])
    authentication.signIn(BearerToken("old"))
    request.url = URL(string: "HTTP://127.0.0.1:\(server.port)")
    #expect(try await client.performNetworkRequest(request) == Data("ok".utf8))
    #expect(try await client.performNetworkRequest(server.url("/profile")) == Data("ok".utf8))
  }

  @Test func deadlineIncludesTheRenewal() async throws {
    let server = try LoopbackServer { $0.target == "/token" ? .hang : .status(401) }
    var (client, _) = Self.client(server, "old")
    client.policy = RetryPolicy(deadline: .milliseconds(300), budget: .unlimited)
    do throws(NetworkError) { _ = try await Self.get(client) } catch { #expect(error.stopReason == .deadline) }
  }
}
