import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// From sign-in to the end of the session.
extension AuthenticationTests {
  /// Responds 200 to the good token, and 401 to anything else, once there are this many such requests. A renewal holds back
  /// the calls that start later, so all that are to be rejected have to be sent before.
  static func script(_ good: String, rejectsFrom count: Int = 1) -> NetworkScript {
    let sent = Counter()
    return NetworkScript { request, _ in
      if request.value(forHTTPHeaderField: "Authorization") == "Bearer \(good)" { return .ok("ok") }
      sent.add()
      await sent.reaches(count)
      return .status(401)
    }
  }

  /// Counts the requests that fail.
  static func failures(_ counter: Counter) -> NetworkClosureMiddleware {
    .around { request, next in
      do { return try await next(request) } catch {
        counter.add()
        throw error
      }
    }
  }

  @Test func sharesOneRenewalAmongAThousandRejectedCalls() async throws {
    let (rejected, renewals) = (Counter(), Counter())
    let script = Self.script("new1", rejectsFrom: 1000)
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("old")) { _, _ in
      await rejected.reaches(1000)
      return BearerToken("new\(renewals.add())")
    }
    let client = Self.client(script, authentication, Self.failures(rejected))
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<1000 { group.addTask { try await Self.get(client).attempts.count } }
      // The second send is no attempt of its own.
      for try await attempts in group { #expect(attempts == 1) }
    }
    #expect(renewals.value == 1)
    let tokens = Self.tokens(script)
    #expect(tokens.count == 2000 && tokens.count { $0 == "Bearer new1" } == 1000)
  }

  // MARK: While a renewal is running

  /// Also a request that can be sent only once, and one that is not safe to repeat.
  @Test func callThatStartsDuringARenewalIsSentWithTheNewCredential() async throws {
    let (begun, mayEnd, started) = (Gate(), Gate(), Counter())
    let script = Self.script("new")
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("old")) { _, _ in
      begun.open()
      await mayEnd.wait()
      return BearerToken("new")
    }
    let client = Self.client(script, Self.counting(started), authentication)
    let rejected = Task { try await Self.get(client) }
    await begun.wait()
    let order = Task {
      var request = URLRequest(url: try #require(Self.origin), method: "POST")
      request.httpBodyStream = InputStream(data: Data("once".utf8))
      return try await client.performNetworkRequest(request)
    }
    let later = (0..<9).map { _ in Task { try await Self.get(client) } }
    await started.reaches(11)
    // They are about to wait for the renewal.
    for _ in 0..<10_000 { await Task.yield() }
    #expect(Self.tokens(script) == ["Bearer old"])
    mayEnd.open()
    _ = try await (rejected.value, order.value)
    for call in later { #expect(try await call.value.attempts.count == 1) }
    #expect(Self.tokens(script) == ["Bearer old"] + Array(repeating: "Bearer new", count: 11))
  }

  /// The call was not sent, so it has no status. What it was for may be public, but the credential is not sent again.
  @Test func callThatStartsDuringARenewalFailsWithIt() async throws {
    let (begun, mayEnd, started) = (Gate(), Gate(), Counter())
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("old")) { _, _ in
      begun.open()
      await mayEnd.wait()
      throw Expired()
    }
    let script = Self.script("new")
    let client = Self.client(script, Self.counting(started), authentication)
    let rejected = Task { try await Self.get(client) }
    await begun.wait()
    let later = Task { try await Self.get(client) }
    await started.reaches(2)
    for _ in 0..<10_000 { await Task.yield() }
    mayEnd.open()
    for call in [rejected, later] {
      let error = await #expect(throws: NetworkError.self) { try await call.value }
      #expect(Self.reason(error) as? Expired == Expired() && error?.statusCode == nil)
    }
    #expect(Self.tokens(script) == ["Bearer old"] && authentication.credential == BearerToken("old"))
  }

  // MARK: Without a credential

  @Test func sendsUnsignedRequestAndDoesNotRenewWithoutACredential() async throws {
    let renewals = Counter()
    let script = NetworkScript { request, _ in request.url?.path == "/login" ? .ok("t") : .status(401) }
    let authentication = Authentication<BearerToken>(for: try #require(Self.origin)) { _, _ in
      BearerToken("new\(renewals.add())")
    }
    let client = Self.client(script, authentication)
    let error = await #expect(throws: NetworkError.self) { try await Self.get(client, "/list") }
    guard case .endpointError = error else { Issue.record("\(String(describing: error))"); return }
    let token = try await Self.get(client, "/login").data.text
    #expect(Self.tokens(script) == [nil, nil] && renewals.value == 0)
    authentication.signIn(BearerToken(token))
    _ = try? await Self.get(client, "/login")
    #expect(Self.tokens(script).last == "Bearer t")
  }

  // MARK: Expiry

  @Test func renewsExpiredCredentialBeforeSending() async throws {
    let (mayEnd, renewals) = (Gate(), Counter())
    let script = Self.script("new1")
    let old = BearerToken("old", expiresAt: Date(timeIntervalSinceNow: -1))
    let authentication = Authentication(for: try #require(Self.origin), old) { _, _ in
      await mayEnd.wait()
      return BearerToken("new\(renewals.add())", expiresAt: Date(timeIntervalSinceNow: 3600))
    }
    let client = Self.client(script, authentication)
    let calls = (0..<20).map { _ in Task { try await Self.get(client) } }
    mayEnd.open()
    for call in calls { #expect(try await call.value.attempts.count == 1) }
    #expect(renewals.value == 1 && Set(Self.tokens(script)) == ["Bearer new1"])
    // A credential that was renewed because it had expired is not renewed again for the same call.
    authentication.signIn(old)
    await #expect(throws: NetworkError.self) { try await Self.get(client) }
    #expect(renewals.value == 2 && Self.tokens(script).last == "Bearer new2")
  }

  /// A renewal gave a credential that had expired already, as if the clock were ahead. That ends with the next one.
  @Test func expiryCountsAgainAfterARenewalThatGaveAValidCredential() async throws {
    struct Token: NetworkCredential {
      let token: String
      let isExpired: Box<Bool>
      var headers: [String: String] { ["Authorization": token] }
      var expiresAt: Date? { isExpired.value == true ? .distantPast : .distantFuture }
    }
    let (renewals, second) = (Counter(), Box(false))
    let script = NetworkScript([.status(401), .status(401), .ok("x")])
    let old = Token(token: "old", isExpired: Box(true))
    let authentication = Authentication(for: try #require(Self.origin), old) { _, _ in
      let number = renewals.add()
      return Token(token: "new\(number)", isExpired: number == 2 ? second : Box(number == 1))
    }
    let client = Self.client(script, authentication)
    await #expect(throws: NetworkError.self) { try await Self.get(client) }
    _ = try await Self.get(client)
    second.value = true
    _ = try await Self.get(client)
    #expect(Self.tokens(script) == ["new1", "new1", "new2", "new3"])
  }

  @Test func doesNotRenewACredentialBeforeItExpires() async throws {
    let script = Self.script("old")
    let authentication = Authentication(
      for: try #require(Self.origin), BearerToken("old", expiresAt: Date(timeIntervalSinceNow: 60))
    ) { _, _ in throw Expired() }
    _ = try await Self.get(Self.client(script, authentication))
    #expect(Self.tokens(script) == ["Bearer old"])
  }

  @Test func decodesTokenSavedWithoutAnExpiryDate() throws {
    let saved = try JSONDecoder().decode(BearerToken.self, from: Data(#"{"token":"a"}"#.utf8))
    #expect(saved == BearerToken("a") && saved.expiresAt == nil)
  }

  /// The last reported credential is the current one, even after a renewal that ended too late.
  @Test func reportsCredentialChangesInOrder() async throws {
    let (isRenewing, mayEnd) = (Gate(), Gate())
    let saved = Box<[String]>([])
    let refused = Box(false)
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("old")) { old, _ in
      if refused.value == true { throw URLError(.userAuthenticationRequired) }
      if old.token == "old" { return BearerToken("new") }
      isRenewing.open()
      await mayEnd.wait()
      return BearerToken("late")
    } onChange: { new, error in
      let reason = (error as? URLError).map { ", \($0.code.rawValue)" }
      saved.append((new?.token ?? "nobody") + (reason ?? ""))
    }
    let client = Self.client(Self.script("none"), authentication)
    _ = try? await Self.get(client)
    authentication.signIn(BearerToken("ann"), as: "Ann")
    let late = Task { try await Self.get(client) }
    await isRenewing.wait()
    authentication.signOut()
    mayEnd.open()
    _ = await late.result
    authentication.signIn(BearerToken("bob"))
    refused.value = true
    _ = try? await Self.get(client)
    await until { saved.value?.count == 5 }
    let refusal = "nobody, \(URLError.Code.userAuthenticationRequired.rawValue)"
    #expect(saved.value == ["new", "ann", "nobody", "bob", refusal] && authentication.credential == nil)
  }

  /// The 401 is about the other credential, with which the renewal was sent.
  @Test func keepsSessionWhenTheRenewalOfAnotherCredentialIsRefused() async throws {
    let server = try LoopbackServer { .status($0.target == "/other" ? 400 : 401) }
    let other = Authentication(for: server.url(), Field("X-Other", "old")) { _, client in
      Field("X-Other", try await Self.get(client, "/other").data.text)
    }
    let expired = BearerToken("old", expiresAt: .distantPast)
    let authentication = Authentication(for: server.url(), expired) { _, client in
      try await Self.renewed(client)
    }
    let client = NetworkClient(baseURL: server.url(), policy: .never, middleware: [authentication, other])
    await #expect(throws: NetworkError.self) { try await Self.get(client) }
    #expect(authentication.credential == expired && other.credential == nil)
    #expect(server.requests.map(\.target) == ["/token", "/other"])
  }

  // MARK: The end of the session

  static let refusals: [any Error] = [
    URLError(.userAuthenticationRequired), NetworkError.urlError(URLError(.userAuthenticationRequired)),
  ]
  @Test func endsSessionWhenTheRenewalIsRejected() async throws {
    for (number, status) in [400, 401, 403, nil, nil].enumerated() {
      let ended = Box<[Int?]>([])
      let script = NetworkScript { request, _ in .status(request.url?.path == "/token" ? status ?? 0 : 401) }
      let authentication = Authentication(for: try #require(Self.origin), BearerToken("old"), as: "ann") {
        _, client in
        if status == nil { throw Self.refusals[number - 3] }
        return try await Self.renewed(client)
      } onChange: { new, error in
        guard new == nil, let error else { Issue.record("\(String(describing: new)) without an error"); return }
        ended.append((error as? NetworkError)?.statusCode)
      }
      let client = Self.client(script, authentication)
      let error = await #expect(throws: NetworkError.self) { try await Self.get(client) }
      #expect(error?.statusCode == 401)
      #expect(authentication.credential == nil && authentication.account == nil)
      await until { ended.value?.isEmpty == false }
      #expect(ended.value == [status])
      // The user is signed out.
      _ = try? await Self.get(client)
      #expect(Self.tokens(script).last == .some(nil) && ended.value?.count == 1)
    }
  }

  @Test func keepsSessionWhenTheRenewalReachesARateLimit() async throws {
    let script = NetworkScript { request, _ in
      request.url?.path == "/token" ? .status(403, headers: ["Retry-After": "3600"]) : .status(401)
    }
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("old")) { _, client in
      try await Self.renewed(client)
    }
    let client = Self.client(script, authentication)
    await #expect(throws: NetworkError.self) { try await Self.get(client) }
    #expect(authentication.credential == BearerToken("old"))
  }

  @Test func keepsSessionAfterOtherFailuresOfARenewal() async throws {
    let failures: [any Error] = [
      Expired(), URLError(.timedOut), NetworkError.urlError(URLError(.notConnectedToInternet)), NetworkError.cancelled,
    ]
    let steps: [NetworkScript.Step] = [.status(503), .status(429), .status(404), .dropped, .silence]
    for (step, failure) in steps.map({ ($0, nil as (any Error)?) }) + failures.map({ (.silence, $0) }) {
      let script = NetworkScript { request, _ in request.url?.path == "/token" ? step : .status(401) }
      let authentication = Authentication(for: try #require(Self.origin), BearerToken("old")) { _, client in
        if let failure { throw failure }
        return try await Self.renewed(client)
      } onChange: { new, error in
        Issue.record("changed to \(String(describing: new)): \(String(describing: error))")
      }
      let client = Self.client(script, authentication, policy: .never)
      await #expect(throws: NetworkError.self) { try await Self.get(client) }
      #expect(authentication.credential == BearerToken("old"))
    }
  }

  @Test func keepsSessionWhenTheRenewalOfAnEarlierUserIsRejected() async throws {
    let (begun, mayEnd) = (Gate(), Gate())
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("ann")) { _, _ in
      begun.open()
      await mayEnd.wait()
      throw URLError(.userAuthenticationRequired)
    } onChange: { new, error in
      #expect(new == BearerToken("bob") && error == nil)
    }
    let client = Self.client(Self.script("bob"), authentication)
    let call = Task { try await Self.get(client) }
    await begun.wait()
    authentication.signIn(BearerToken("bob"))
    mayEnd.open()
    await #expect(throws: NetworkError.self) { try await call.value }
    #expect(authentication.credential == BearerToken("bob"))
    _ = try await Self.get(client)
  }

  // MARK: Renewals that could wait for themselves

  /// How the closure of a renewal may call a client that has the same authentication.
  enum Way: CaseIterable { case direct, unstructured, handler }
  @Test(arguments: Way.allCases) func renewalThroughTheSameClientDoesNotDeadlock(_ way: Way) async throws {
    let script = NetworkScript { request, _ in
      let token = request.value(forHTTPHeaderField: "Authorization")
      return token == "Bearer new" || token == nil ? .ok("new") : .status(401)
    }
    let captured = Box<NetworkClient>()
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("old")) { _, _ in
      let client = try #require(captured.value)
      let request = URLRequest(url: try #require(URL(string: "/token")))
      let data: Data
      switch way {
      case .direct: data = try await client.performNetworkRequest(request)
      case .unstructured: data = try await Task { try await client.performNetworkRequest(request) }.value
      case .handler:
        data = try await handlerValue { client.performNetworkRequest(request, completionHandler: $0) }.get()
      }
      return BearerToken(data.text)
    }
    let client = Self.client(script, authentication)
    captured.value = client
    defer { captured.value = nil }
    #expect(try await Self.get(client).data == Data("new".utf8))
  }

  @Test func callEndsAtItsDeadlineWhileARenewalHangs() async throws {
    let mayEnd = Gate()
    let server = try LoopbackServer { $0.value("Authorization") == "Bearer new" ? .ok("ok") : .status(401) }
    let authentication = Authentication(for: server.url(), BearerToken("old")) { _, _ in
      await mayEnd.wait()
      return BearerToken("new")
    }
    let policy = RetryPolicy(deadline: .milliseconds(200), budget: .unlimited)
    let impatient = Self.client(server, authentication, policy: policy)
    for _ in 0..<2 {
      let error = await #expect(throws: NetworkError.self) { try await Self.get(impatient) }
      #expect(error?.stopReason == .deadline)
    }
    mayEnd.open()
    _ = try await Self.get(Self.client(server, authentication))
    #expect(authentication.credential == BearerToken("new"))
  }

  @Test func retriesUnsignedCallUnsignedAfterASignIn() async throws {
    let authentication = Authentication<BearerToken>(for: try #require(Self.origin)) { _, _ in BearerToken("-") }
    let script = NetworkScript { _, number in
      if number == 0 { authentication.signIn(BearerToken("ann")) }
      return number == 0 ? .status(503) : .ok("x")
    }
    _ = try await Self.get(Self.client(script, authentication))
    #expect(Self.tokens(script) == [nil, nil])
  }
}
