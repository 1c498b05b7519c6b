import Foundation
import Testing

// The sources of Wynd, with a virtual clock and a simulated transport.
@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension SimulationTests {
  /// Calls to one failing server share their retries, and none takes longer because of it.
  @Suite(.serialized) struct RetryBudgetTests {
    /// Calls in virtual time to a server that responds with a status code by path and time.
    final class Server: @unchecked Sendable {
      let time: VirtualTime
      private(set) var sends: [String: Int] = [:]
      private(set) var results: [String: [(error: NetworkError?, seconds: Double)]] = [:]
      private var responses = Responses()
      let respond: (_ path: String, _ now: Double) -> Int
      var fault: (_ now: Double) -> URLError? = { _ in nil }

      init(seed: UInt64 = 1, respond: @escaping (String, Double) -> Int) {
        time = VirtualTime(seed: seed)
        self.respond = respond
      }

      func call(_ path: String = "/", at start: Double = 0, _ policy: RetryPolicy) {
        guard let url = URL(string: "http://simulated.example\(path)") else { return }
        let transport = SimulatedTransport { [self] _, completion in
          sends[path, default: 0] += 1
          let now = time.now.secondsAsDouble
          let outcome =
            fault(now).map { NetworkOutcome(error: $0) }
            ?? NetworkOutcome(data: Data(), response: responses.response(respond(path, now)))
          time.timer(after: .milliseconds(20)) { completion(outcome) }
        }
        time.timer(after: .bounded(seconds: start)) { [self] in
          let loop = RetryLoop(
            NetworkCallPlan(URLRequest(url: url), policy: policy), on: transport, clock: time)
          time.start { [self] in
            let error = await loop.run().error
            results[path, default: []].append((error, time.now.secondsAsDouble - start))
          }
        }
      }
    }

    static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    @Test(arguments: [nil, URLError.Code.networkConnectionLost])
    func sendsFewRetriesInALongOutage(_ fault: URLError.Code?) {
      var storm = Storm()
      storm.fault = fault
      storm.clients = 100
      storm.capacity = 300
      let ours = storm.run(.ours)
      #expect(ours.load <= 1.6)
      #expect(ours.failed <= 0.02)
      #expect(ours.last <= 60)
      let alone = storm.run(.withoutBudget)
      #expect(alone.load > 5, "the storm is one")
      #expect(ours.recovery <= alone.recovery + 10)
    }

    /// The first retry comes sooner if there was no response, the next ones do not: a call without a server would send
    /// 10.2 requests in its 10 s, and a third of the calls would not outlast 20 s of lost connections.
    @Test func aShortFirstWaitAddsNoRequestsAndEndsNoCallEarly() {
      var (sends, outlasted): ([Double], Int) = ([], 0)
      for (_, backoff) in Outage.backoffs {
        let all = (0..<200 as Range<UInt64>).map { Outage.unreachable(backoff).run(seed: $0).sends }
        sends.append(all.reduce(0, +) / 200)
      }
      #expect(sends[0] <= sends[1] + 0.5, "\(sends)")
      for seed in 0..<200 as Range<UInt64> {
        let server = Server(seed: seed) { _, _ in 200 }
        server.fault = { $0 < 20 ? URLError(.networkConnectionLost) : nil }
        server.call("/", RetryPolicy(budget: RetryBudget()))
        server.time.run()
        if server.results["/"]?.first?.error == nil { outlasted += 1 }
      }
      #expect(outlasted >= 195, "\(outlasted) of 200")
    }

    /// AWS's rule, as it is documented: a process has tokens for 35 retries, and then fails at once.
    @Test func awsFailsCallsInAnOutage() {
      var storm = Storm()
      storm.clients = 100
      storm.capacity = 300
      for strategy in [Storm.Strategy.aws, .awsThrottled] {
        let result = storm.run(strategy)
        #expect(result.failed > 0.25 && result.load > 1.4 && result.load < 2.8, "\(result)")
      }
    }

    @Test func budgetDoesNotExtendAShortOutage() {
      var last: [Bool: [Double]] = [:]
      var sends: [Bool: [Double]] = [:]
      for seed in 0..<100 as Range<UInt64> {
        for isShared in [true, false] {
          let result = Outage(calls: 20, isShared: isShared, status: { $0 < 1 ? 503 : 200 }).run(seed: seed)
          #expect(result.times.count == 20)
          last[isShared, default: []].append(result.times.last ?? 0)
          sends[isShared, default: []].append(result.sends)
        }
      }
      let (shared, alone) = (Self.median(last[true] ?? [0]), Self.median(last[false] ?? [0]))
      #expect(shared <= alone + 1, "\(shared) s, alone \(alone) s")
      #expect(Self.median(sends[true] ?? [0]) < Self.median(sends[false] ?? [0]))
    }

    @Test func responseWithoutOverloadEndsTheOutage() {
      for status in [200, 401, 404, 422] {
        let server = Server { _, now in now < 1 ? 503 : status }
        let policy = RetryPolicy(budget: RetryBudget())
        for _ in 0..<20 { server.call("/", policy) }
        server.time.run()
        #expect(server.results["/"]?.allSatisfy { $0.seconds < 10 } == true, "\(status)")
      }
    }

    @Test func alwaysSendsTheLastRetry() {
      // Another path fails all the time, so the origin never stops failing.
      for seed in 0..<10 as Range<UInt64> {
        let server = Server(seed: seed) { path, now in path == "/broken" || now < 100 ? 503 : 200 }
        let policy = RetryPolicy(budget: RetryBudget())
        for index in 0..<1500 {
          server.call("/broken", at: Double(index) / 10, RetryPolicy(maxRetries: 0, budget: policy.budget))
        }
        server.call("/healthy", at: 0.05, policy)
        server.time.run()
        let ended = server.results["/healthy"]?.first
        // The longest waits of the default backoff add up to 111.5 s.
        #expect(ended != nil && ended?.seconds ?? 0 <= 112)
        #expect(server.sends["/healthy"] ?? 0 >= 2)
      }
    }

    @Test func brokenEndpointDoesNotSlowOthersOnItsHost() {
      var times: [Bool: [Double]] = [:]
      for seed in 0..<5 {
        for isBroken in [false, true] {
          // One in ten responses of the healthy path is a 503 too, so its retries meet the budget.
          var random = SeededRandom(seed: UInt64(seed) &+ 7)
          let server = Server(seed: UInt64(seed)) { path, _ in path == "/broken" || random.chance(0.1) ? 503 : 200 }
          let policy = RetryPolicy(budget: RetryBudget())
          for index in 0..<600 {
            server.call("/healthy", at: Double(index) * 0.1, policy)
            if isBroken { server.call("/broken", at: Double(index) * 0.1 + 0.05, policy) }
          }
          server.time.run()
          let healthy = server.results["/healthy"] ?? []
          #expect(healthy.count == 600)
          #expect(healthy.allSatisfy { $0.error == nil }, "seed \(seed)")
          times[isBroken, default: []] += healthy.map(\.seconds)
        }
      }
      func slowest(_ isBroken: Bool) -> Double { times[isBroken, default: [0]].sorted()[2_970] }
      // One in a hundred is slower than this.
      #expect(slowest(true) <= slowest(false) + 1, "\(slowest(true)) s, without the broken path \(slowest(false)) s")
    }

    @Test func budgetForgetsAnOutageOnceTheServerResponds() {
      let server = Server { _, now in now < 30 ? 503 : 200 }
      let policy = RetryPolicy(budget: RetryBudget())
      for index in 0..<60 { server.call(at: Double(index), policy) }
      server.time.run()
      #expect(server.results["/"]?.count == 60)
      #expect(server.results["/"]?.allSatisfy { $0.error == nil } == true)
      #expect(server.time.isIdle)
      server.call("/", at: 5, policy)
      server.time.run()
      #expect(RetryRule(policy).budget.originCount == 0)
    }

    @Test func doesNotSkipRetriesThatReachedNoServer() {
      let server = Server { _, _ in 200 }
      server.fault = { $0 < 5 ? URLError(.cannotConnectToHost) : nil }
      let policy = RetryPolicy(budget: RetryBudget())
      for _ in 0..<20 { server.call("/", policy) }
      server.time.run()
      #expect(server.results["/"]?.allSatisfy { $0.error == nil } == true)
      #expect(RetryRule(policy).budget.originCount == 0)
      #expect(server.sends["/"] ?? 0 > 60, "each call retried by itself")
    }

    @Test func doesNotSkipRetriesOfASingleCall() {
      let alone = Outage(calls: 1, isShared: false, status: { _ in 503 }).run()
      let shared = Outage(calls: 1, isShared: true, status: { _ in 503 }).run()
      #expect(alone.times == shared.times)
      #expect(alone.sends == 11 && shared.sends == 11)
    }

    /// 200 clients, each a process of its own, and a rate limit of 20 a second without burst: a client that was told
    /// `Retry-After: 1` must not return together with all the others (nginx's `limit_req` does the same on sockets).
    @Test(arguments: [nil, 1, 0]) func allClientsOfARateLimitedServerSucceed(_ retryAfter: Int?) throws {
      let time = VirtualTime(seed: 4)
      nonisolated(unsafe) var responses = Responses()
      nonisolated(unsafe) var nextFree = Duration.zero
      nonisolated(unsafe) var errors: [NetworkError?] = []
      nonisolated(unsafe) var sends = 0
      let transport = SimulatedTransport { _, completion in
        sends += 1
        var status = 429
        if time.now >= nextFree { (status, nextFree) = (200, time.now + .milliseconds(50)) }
        let response = responses.response(status, retryAfter: status == 429 ? retryAfter : nil)
        time.timer(after: .milliseconds(2)) { completion(NetworkOutcome(data: Data(), response: response)) }
      }
      let url = try #require(URL(string: "http://simulated.example/"))
      for _ in 0..<200 {
        let loop = RetryLoop(
          NetworkCallPlan(URLRequest(url: url), policy: RetryPolicy(budget: RetryBudget())), on: transport,
          clock: time)
        time.start { errors.append(await loop.run().error) }
      }
      time.run()
      #expect(errors.count == 200)
      #expect(errors.allSatisfy { $0 == nil }, "\(errors.filter { $0 != nil }.count) failed")
      #expect(time.now < .seconds(90), "\(time.now), \(sends) sends")
    }

    @Test func budgetRemembersALimitedNumberOfOrigins() {
      let budget = RetryBudget()
      for index in 0..<1000 {
        budget.failed(URL(string: "http://h\(index).example/"), call: index, now: .seconds(index))
      }
      #expect(budget.originCount == RetryBudget.capacity)
      // The one that failed longest ago is forgotten first.
      for url in ["http://h999.example/", "http://h1.example/"].compactMap(URL.init) {
        budget.failed(url, call: 1000, now: .seconds(1000))
      }
      #expect(budget.isFailing(URL(string: "http://h999.example/"), now: .seconds(1000)))
      #expect(!budget.isFailing(URL(string: "http://h1.example/"), now: .seconds(1000)))
    }

    @Test func unlimitedBudgetSkipsNoRetry() {
      let url = URL(string: "http://a.example/x")
      for call in 1...2 { RetryBudget.unlimited.failed(url, call: call, now: .seconds(1)) }
      #expect(!RetryBudget.unlimited.isFailing(url, now: .seconds(1)) && RetryBudget.unlimited.originCount == 0)
    }

    @Test func doesNotCombineFailuresThatAreFarApart() {
      let budget = RetryBudget()
      let url = URL(string: "http://a.example/x")
      budget.failed(url, call: 1, now: .seconds(1))
      budget.failed(url, call: 2, now: .seconds(3600))
      #expect(!budget.isFailing(url, now: .seconds(3600)), "an hour apart, each is alone")
      budget.failed(url, call: 3, now: .seconds(3620))
      #expect(budget.isFailing(url, now: .seconds(3620)))
      budget.failed(url, call: 4, now: .seconds(3641))
      #expect(!budget.isFailing(url, now: .seconds(3641)), "the calls before that no longer count")
    }

    @Test func countsAnOriginAsFailingForASecond() {
      let budget = RetryBudget()
      let url = URL(string: "http://a.example/x")
      budget.failed(url, call: 1, now: .seconds(1))
      budget.failed(url, call: 1, now: .seconds(2))
      #expect(!budget.isFailing(url, now: .seconds(2)), "one call alone")
      budget.failed(url, call: 2, now: .seconds(3))
      #expect(budget.isFailing(URL(string: "http://A.example:80/other"), now: .seconds(3.99)))
      #expect(!budget.isFailing(url, now: .seconds(4)))
      #expect(!budget.isFailing(URL(string: "https://a.example/x"), now: .seconds(3)))
      budget.responded(url, now: .seconds(3.5))
      #expect(!budget.isFailing(url, now: .seconds(3.5)))
      // An origin that responded less than a second ago does not count as failing.
      for call in 3...4 { budget.failed(url, call: call, now: .seconds(4)) }
      #expect(!budget.isFailing(url, now: .seconds(4.49)))
      #expect(budget.isFailing(url, now: .seconds(4.5)))
      budget.responded(url, now: .seconds(9))
      #expect(budget.originCount == 0)
      for call in 5...6 { budget.failed(URL(string: "http://a.example:8080/"), call: call, now: .seconds(20)) }
      #expect(budget.isFailing(URL(string: "http://a.example:8080/"), now: .seconds(20)))
      #expect(!budget.isFailing(URL(string: "http://a.example:9090/"), now: .seconds(20)))
      // Both calls keep failing.
      budget.failed(url, call: 7, now: .seconds(30))
      budget.failed(url, call: 8, now: .seconds(30))
      budget.failed(url, call: 7, now: .seconds(30.5))
      #expect(budget.isFailing(url, now: .seconds(30.5)))
    }

    // MARK: Which origin a response counts for

    /// Makes one call to a.example whose response is from the server `responder`.
    private func call(
      _ status: Int, from responder: String, _ budget: RetryBudget, _ time: VirtualTime,
      middleware: (@Sendable (@escaping NetworkSend) -> NetworkSend)? = nil
    ) async throws {
      let url = try #require(URL(string: "http://a.example/"))
      let other = try #require(URL(string: "http://\(responder).example/"))
      let response = HTTPURLResponse(url: other, statusCode: status, httpVersion: nil, headerFields: nil)
      let transport = SimulatedTransport { $1(NetworkOutcome(data: Data(), response: response)) }
      var plan = NetworkCallPlan(URLRequest(url: url), policy: RetryPolicy(maxRetries: 0, budget: budget))
      if let middleware { plan.middleware = { middleware($1) } }
      let loop = RetryLoop(plan, on: transport, clock: time)
      // Not in virtual time: the task of a middleware would run beside it.
      _ = await loop.run()
    }

    private func isFailing(_ host: String, _ budget: RetryBudget, _ time: VirtualTime) -> Bool {
      budget.isFailing(URL(string: "http://\(host).example/"), now: time.now)
    }

    /// The credential cannot be renewed while the server of the request is down: the server that renews it rejects it,
    /// or is the same one.
    @Test(arguments: [("token", 401), ("a", 503)])
    func errorOfAnotherRequestDoesNotEndAnOutage(_ host: String, _ status: Int) async throws {
      let budget = RetryBudget()
      let time = VirtualTime(seed: 1)
      for _ in 0..<2 { try await call(503, from: "a", budget, time) }
      let tokenURL = try #require(URL(string: "http://\(host).example/"))
      let token = try #require(
        HTTPURLResponse(url: tokenURL, statusCode: status, httpVersion: nil, headerFields: nil))
      let rejection = NetworkError.generalError(NetworkError.endpointError(token, nil))
      try await call(200, from: "a", budget, time) { _ in { _ in NetworkOutcome(error: rejection) } }
      #expect(isFailing("a", budget, time))
    }

    /// The bytes that follow are still being read.
    @Test func theFirstByteOfAStreamEndsAnOutage() async throws {
      let budget = RetryBudget()
      let time = VirtualTime(seed: 1)
      let url = try #require(URL(string: "http://a.example/"))
      let head = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
      for _ in 0..<2 { try await call(503, from: "a", budget, time) }
      let started = NetworkAttemptCompletion()
      let sending = NetworkLock<Task<NetworkOutcome, Never>?>(nil)
      let transport = SimulatedTransport { _, _ in started.end(NetworkOutcome(response: head)) }
      var plan = NetworkCallPlan(URLRequest(url: url), policy: RetryPolicy(maxRetries: 0, budget: budget))
      plan.transfer = { send in
        { outgoing in
          sending.withLock { $0 = Task { await send(outgoing) } }
          return await started.outcome()
        }
      }
      _ = await RetryLoop(plan, on: transport, clock: time).run()
      #expect(!isFailing("a", budget, time))
      sending.withLock { $0 }?.cancel()
    }

    @Test func failureAfterARedirectCountsForTheServerThatFailed() async throws {
      let budget = RetryBudget()
      let time = VirtualTime(seed: 1)
      for _ in 0..<2 { try await call(503, from: "b", budget, time) }
      #expect(isFailing("b", budget, time) && !isFailing("a", budget, time))
      // A success of that server ends its outage.
      try await call(200, from: "b", budget, time)
      #expect(!isFailing("b", budget, time))
    }
  }
}
