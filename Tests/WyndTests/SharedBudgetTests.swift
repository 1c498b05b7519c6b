import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What calls to one host share while it fails, seen from outside.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct SharedBudgetTests {
  let session = URLSession(configuration: .ephemeral)

  /// Any response that is no overload says that the host answers, an error such as 404 too.
  @Test(arguments: [200, 204, 301, 400, 401, 403, 404, 409, 422])
  func aResponseThatIsNoOverloadEndsAnOutage(_ status: Int) async throws {
    let server = try LoopbackServer {
      $0.target == "/busy" ? .status(503) : .status(status, body: status == 204 ? "" : "x")
    }
    let budget = RetryBudget()
    let log = EventLog()
    let policy = RetryPolicy(maxRetries: 1, backoff: .none, budget: budget, onEvent: log.add)
    for path in ["/busy", "/fine", "/busy"] {
      _ = await session.result(of: URLRequest(url: server.url(path)), policy: policy)
    }
    // Each retry went at once: none had to wait for other calls.
    #expect(log.sources == [.backoff, .backoff])
    #expect(server.requests.map(\.target) == ["/busy", "/busy", "/fine", "/busy", "/busy"])
  }

  @Test func aCallWaitsForOthersOnlyAtItsOwnHostAndBudget() async throws {
    let servers = [try LoopbackServer(script: .status(503)), try LoopbackServer(script: .status(503))]
    for (number, server) in (servers + [servers[0]]).enumerated() {
      let log = EventLog()
      // The first two calls share a budget and not a host, the third has a budget of its own.
      let budget = number < 2 ? Self.budget : RetryBudget()
      let policy = RetryPolicy(maxRetries: 1, backoff: .none, budget: budget, onEvent: log.add)
      _ = await session.result(of: URLRequest(url: server.url()), policy: policy)
      #expect(log.sources == [.backoff])
    }
  }
  private static let budget = RetryBudget()

  @Test func aSkippedRetryIsReported() async throws {
    let server = try LoopbackServer(script: .status(503))
    let log = EventLog()
    let policy = RetryPolicy(
      maxRetries: 3, backoff: .constant(.milliseconds(200)), budget: RetryBudget(), onEvent: log.add)
    _ = await all(10) { await session.result(of: URLRequest(url: server.url()), policy: policy).error }
    #expect(log.sources.contains(.budget))
  }

  /// What never reached the server is no load for it, so nobody waits for anybody.
  @Test func callsThatReachNoServerDoNotWaitForEachOther() async throws {
    let server = try LoopbackServer(isListening: false) { _ in .ok() }
    let budget = RetryBudget()
    for _ in 0..<3 {
      let log = EventLog()
      // A busy machine may take ten seconds for three attempts.
      let policy = RetryPolicy(
        maxRetries: 2, backoff: .none, maxRetryTime: nil, maxUnreachableTime: nil, budget: budget, onEvent: log.add)
      _ = await session.result(of: URLRequest(url: server.url()), policy: policy)
      #expect(log.sources == [.backoff, .backoff])
    }
  }

  /// A host that was down for a moment and then answers 404 keeps nobody waiting.
  @Test
  func aHostThatAnswers404IsNotWaitedFor() async throws {
    let end = ContinuousClock.now + .seconds(1)
    let server = try LoopbackServer { _ in .status(ContinuousClock.now < end ? 503 : 404) }
    let policy = RetryPolicy(budget: RetryBudget())
    let errors = await all(20) { await session.result(of: URLRequest(url: server.url()), policy: policy).error }
    #expect(errors.allSatisfy { $0?.statusCode == 404 })
    // Alone each would need 3 s at the most, behind a queue of calls two minutes; the machine may be slow. The simulation
    // has the exact time.
    #expect(ContinuousClock.now - end < .seconds(60))
  }

  /// `maxRetries` bounds the time of parallel calls as it bounds that of one: 2 retries take 1.5 s at the most.
  @Test(arguments: [3, 50])
  func twoRetriesTakeNoLongerBecauseOthersFailToo(_ count: Int) async throws {
    let server = try LoopbackServer(script: .status(503))
    let policy = RetryPolicy(maxRetries: 2, budget: RetryBudget())
    let began = ContinuousClock.now
    let errors = await all(count) { await session.result(of: URLRequest(url: server.url()), policy: policy).error }
    #expect(errors.allSatisfy { $0?.statusCode == 503 })
    #expect(ContinuousClock.now - began < .seconds(60))
  }

  private func all(
    _ count: Int, _ work: @escaping @Sendable () async -> NetworkError?
  ) async -> [NetworkError?] {
    await withTaskGroup(of: NetworkError?.self) { group in
      for _ in 0..<count { group.addTask { await work() } }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }
}
