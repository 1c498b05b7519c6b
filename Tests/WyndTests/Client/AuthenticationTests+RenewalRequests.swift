import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension AuthenticationTests {
  static func counting(_ counter: Counter) -> NetworkClosureMiddleware {
    .around { request, next in
      counter.add()
      return try await next(request)
    }
  }

  /// A detached task does not inherit the task-local value that marks the requests of a renewal.
  @Test func renewalCanSendRequestsFromADetachedTask() async throws {
    let server = try LoopbackServer { request in
      if request.target == "/token" { return request.value("Authorization") == nil ? .ok("new") : .status(401) }
      return request.value("Authorization") == "Bearer new" ? .ok("ok") : .status(401)
    }
    let authentication = Authentication(for: server.url(), BearerToken("old")) { _, client in
      let data = try await Task.detached { try await Self.get(client, "/token").data }.value
      return BearerToken(data.text)
    }
    let client = Self.client(server, authentication, policy: RetryPolicy(deadline: .seconds(60), budget: .unlimited))
    #expect(try await Self.get(client).data == Data("ok".utf8))
  }

  /// With another client than the one that is passed to the closure, it waits for the renewal that waits for it.
  @Test func requestOfADetachedTaskWaitsForTheRenewalUntilItsDeadline() async throws {
    let server = try LoopbackServer { $0.value("Authorization") == "Bearer new" ? .ok("ok") : .status(401) }
    let app = Box<NetworkClient>()
    let seen = Box<RetryFailure.StopReason>()
    let authentication = Authentication(for: server.url(), BearerToken("old")) { _, _ in
      var client = try #require(app.value)
      client.policy = RetryPolicy(deadline: .milliseconds(200), budget: .unlimited)
      let result = await Task.detached { [client] in try await Self.get(client, "/token") }.result
      if case .failure(let error as NetworkError) = result { seen.value = error.stopReason }
      return BearerToken("new")
    }
    let client = Self.client(server, authentication)
    app.value = client
    defer { app.value = nil }
    #expect(try await Self.get(client).data == Data("ok".utf8))
    #expect(seen.value == .deadline)
  }

  @Test func clientOfARenewalHasNeitherTheMiddlewareNorABudget() async throws {
    let script = Self.script("new")
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("old")) { old, client in
      #expect(old.token == "old" && client.middleware.isEmpty && client.policy.budget === RetryBudget.unlimited)
      return BearerToken("new")
    }
    _ = try await Self.get(Self.client(script, authentication, policy: RetryPolicy()))
    #expect(Self.tokens(script) == ["Bearer old", "Bearer new"])
  }

  /// The credential that a renewal uses is renewed too, with a request to the service of the first one.
  /// The refresh token is in the body, which a 307 takes along.
  @Test(arguments: [307, 308]) func renewalOnASessionThatRefusesRedirectsKeepsItsBody(_ status: Int) async throws {
    let other = try LoopbackServer(script: .ok("stolen"))
    let server = try LoopbackServer { request in
      request.target == "/token" ? .redirect(status, to: other.url().absoluteString) : .status(401)
    }
    let refusing = RecordingDelegate(redirect: { _, _, _ in nil })
    for refuses in [true, false] {
      let session = URLSession(
        configuration: .ephemeral, delegate: refuses ? refusing : RecordingDelegate(), delegateQueue: nil)
      let authentication = Authentication(for: server.url(), BearerToken("old")) { _, client in
        var client = client
        client.performer = session
        return BearerToken(try await client.load(.post("/token", body: .text("refresh_token=R"), as: String.self)))
      }
      let client = NetworkClient(baseURL: server.url(), policy: .quick(), middleware: [authentication])
      await #expect(throws: NetworkError.self) { try await Self.get(client) }
      #expect(other.requests.map(\.text) == (refuses ? [] : ["refresh_token=R"]))
    }
  }

  @Test func renewalInsideARenewalSendsRequestsUnsigned() async throws {
    let script = NetworkScript { request, _ in
      let isRejected = request.url?.path == "/" && request.value(forHTTPHeaderField: "Authorization") == "Bearer old"
      return isRejected ? .status(401) : .ok("x")
    }
    let service = try #require(Self.origin)
    let app = Box<NetworkClient>()
    let device = Authentication(for: service, BearerToken("device", expiresAt: .distantPast)) { _, _ in
      if let client = app.value { _ = try await Self.get(client, "/device") }
      return BearerToken("device2")
    }
    let devices = Self.client(script, device)
    let user = Authentication(for: service, BearerToken("old")) { _, _ in
      _ = try await Self.get(devices, "/token")
      return BearerToken("new")
    }
    let client = Self.client(script, user)
    app.value = client
    _ = try await Self.get(client)
    #expect(script.requests.map { $0.url?.path } == ["/", "/device", "/token", "/"])
    #expect(Self.tokens(script) == ["Bearer old", nil, "Bearer device2", "Bearer new"])
    // The client holds the authentication, whose closure holds the box.
    app.value = nil
  }

  /// A call that must not be retried has started the renewal. One that may be does not fail with it.
  @Test func callRenewsAgainAfterTheRenewalOfACallWithFewerRetries() async throws {
    let gate = Gate()
    let renewals = Counter()
    let script = NetworkScript { request, _ in
      request.value(forHTTPHeaderField: "Authorization") == "Bearer new" ? .ok("x") : .status(401)
    }
    let origin = try #require(Self.origin)
    let authentication = Authentication(for: origin, BearerToken("old", expiresAt: .distantPast)) { _, client in
      let isFirst = renewals.add() == 1
      if isFirst { await gate.wait() }
      let token = NetworkScript(isFirst ? [.dropped] : [.dropped, .ok("new")])
      var tokens = client
      tokens.performer = token
      return BearerToken(try await tokens.performNetworkRequest(origin).text)
    }
    let waiting = Counter()
    var client = Self.client(script, authentication, policy: RetryPolicy(backoff: .immediate))
    client.middleware.insert(Self.counting(waiting), at: 0)
    let impatient = Task { [client] in try await client.performNetworkRequest(origin, policy: .never) }
    await renewals.reaches(1)
    let patient = Task { [client] in try await client.performNetworkRequest(origin) }
    await waiting.reaches(2)
    // It is about to wait for the renewal.
    for _ in 0..<10_000 { await Task.yield() }
    gate.open()
    await #expect(throws: NetworkError.self) { try await impatient.value }
    #expect(try await patient.value == Data("x".utf8))
    #expect(renewals.value == 2)
  }

  /// Its first response took so long that the next credential is rejected, too, and would be the last that it tries.
  @Test func lateRejectionWaitsForTheRenewalOfALaterCredential() async throws {
    let (slow, second, sent, renewals, rejected) = (Gate(), Gate(), Counter(), Counter(), Counter())
    let script = NetworkScript { request, _ in
      let token = request.value(forHTTPHeaderField: "Authorization")
      if request.url?.path == "/slow", token == "Bearer old" {
        sent.add()
        await slow.wait()
      }
      return token == "Bearer new2" ? .ok("x") : .status(401)
    }
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("old")) { _, _ in
      let number = renewals.add()
      if number == 2 { await second.wait() }
      return BearerToken("new\(number)")
    }
    let client = Self.client(script, authentication, Self.failures(rejected))
    let late = Task { try await Self.get(client, "/slow") }
    await sent.reaches(1)
    await #expect(throws: NetworkError.self) { try await Self.get(client) }
    let other = Task { try await Self.get(client) }
    await renewals.reaches(2)
    slow.open()
    await rejected.reaches(4)
    // It is about to wait for the renewal.
    for _ in 0..<10_000 { await Task.yield() }
    second.open()
    for call in [late, other] { _ = try await call.value }
    #expect(renewals.value == 2)
  }

  /// Of a device and of a user, say. Each renewal sends its request with the other credential, which is being renewed.
  @Test func renewalsOfTwoCredentialsDoNotWaitForEachOther() async throws {
    struct Part: NetworkCredential {
      let name: String
      let value: String
      var headers: [String: String] { [name: value] }
      func isRejected(by response: HTTPURLResponse) -> Bool { response.value(forHTTPHeaderField: "X-Rejected") == name }
    }
    let (sent, started) = (Counter(), Counter())
    let origin = try #require(Self.origin)
    let script = NetworkScript { request, _ in
      guard let name = request.url?.lastPathComponent, name != "renewal" else { return .ok("x") }
      if request.value(forHTTPHeaderField: name) == "new" { return .ok("x") }
      // Both calls are sent before either credential is rejected.
      sent.add()
      await sent.reaches(2)
      return .status(401, headers: ["X-Rejected": name])
    }
    let parts = ["X-Device", "X-User"].map { name in
      Authentication(for: origin, Part(name: name, value: "old")) { _, client in
        started.add()
        await started.reaches(2)
        _ = try await Self.get(client, "/renewal")
        return Part(name: name, value: "new")
      }
    }
    let client = NetworkClient(baseURL: origin, on: script, middleware: parts)
    async let device = Self.get(client, "/X-Device")
    async let user = Self.get(client, "/X-User")
    _ = try await (device, user)
    #expect(started.value == 2)
  }

  /// A refusal is final, even for a call that may be retried more often than the one that has started the renewal.
  @Test func refusedRenewalOfACallWithFewerRetriesEndsEveryCallThatWaits() async throws {
    let (gate, renewals, sent) = (Gate(), Counter(), Counter())
    let script = NetworkScript { _, _ in
      renewals.add()
      await gate.wait()
      return .status(400)
    }
    let origin = try #require(Self.origin)
    let authentication = Authentication(for: origin, BearerToken("old", expiresAt: .distantPast)) { _, client in
      try await Self.renewed(client)
    }
    var client = Self.client(script, authentication, policy: RetryPolicy(backoff: .immediate))
    client.middleware.insert(Self.counting(sent), at: 0)
    let impatient = Task { [client] in try await client.performNetworkRequest(origin, maxRetries: 0) }
    await renewals.reaches(1)
    let patient = Task { [client] in try await client.performNetworkRequest(origin, maxRetries: 3) }
    // Both calls, and the request of the renewal.
    await sent.reaches(3)
    // The second call is about to wait for the renewal.
    for _ in 0..<10_000 { await Task.yield() }
    gate.open()
    for call in [impatient, patient] {
      let error = await #expect(throws: NetworkError.self) { try await call.value }
      guard case .generalError(let renewal as NetworkError)? = error else {
        Issue.record("\(String(describing: error))")
        continue
      }
      #expect(renewal.statusCode == 400)
    }
    #expect(renewals.value == 1 && script.requests.map { $0.url?.path } == ["/token"])
    #expect(authentication.credential == nil)
  }

  // MARK: What people read

  static let later = " Please try again later."
  /// A mistake in the request of the renewal is not what the person has asked for.
  static let sentences: [(status: Int, sentence: String)] = [
    (400, "The request failed."), (404, "The request failed."), (422, "The request failed."),
    (401, "The server requires a valid sign-in."), (403, "The server denied access."),
    (429, "The server is busy or not available." + later), (503, "The server is busy or not available." + later),
    (408, "The server could not process the request." + later), (425, "The server rejected the request." + later),
  ]

  @Test(arguments: sentences) func describesARenewalThatFailsBeforeTheFirstRequest(_ status: Int, _ sentence: String)
    async throws
  {
    let script = NetworkScript([.status(status)])
    let expired = BearerToken("old", expiresAt: .distantPast)
    let authentication = Authentication(for: try #require(Self.origin), expired) { _, client in
      try await Self.renewed(client)
    }
    let client = Self.client(script, authentication, policy: .never)
    let error = await #expect(throws: NetworkError.self) { try await Self.get(client) }
    #expect(error?.localizedDescription == sentence && error?.errorDescription == sentence)
    #expect(script.requests.map { $0.url?.path } == ["/token"])
  }
}
