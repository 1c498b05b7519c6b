import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Calls to one failing host share a retry budget.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct SharedBudgetTests {
  let session = URLSession(configuration: .ephemeral)

  /// Any response that does not indicate overload ends the outage, including an error such as 404.
  @Test(arguments: [200, 204, 301, 400, 401, 403, 404, 409, 422])
  func responseWithoutOverloadEndsAnOutage(_ status: Int) async throws {
    let server = try LoopbackServer {
      $0.target == "/busy" ? .status(503) : .status(status, body: status == 204 ? "" : "x")
    }
    let budget = RetryBudget()
    let log = EventLog()
    // Without a wait, no retry is ever skipped.
    let policy = RetryPolicy(
      maxRetries: 2, backoff: .constant(.milliseconds(20)), budget: budget, onEvent: log.add)
    for path in ["/busy", "/fine", "/busy"] {
      _ = await session.result(of: URLRequest(url: server.url(path)), policy: policy)
    }
    // Each retry went at once: none had to wait for other calls.
    #expect(log.sources == [.backoff, .backoff, .backoff, .backoff])
    #expect(server.requests.map(\.target) == ["/busy", "/busy", "/busy", "/fine", "/busy", "/busy", "/busy"])
  }

  @Test func failuresOfAnotherHostOrBudgetSkipNoRetries() async throws {
    let servers = [try LoopbackServer(script: .status(503)), try LoopbackServer(script: .status(503))]
    for (number, server) in (servers + [servers[0]]).enumerated() {
      let log = EventLog()
      // The first two calls share a budget and not a host, the third has a budget of its own.
      let budget = number < 2 ? Self.budget : RetryBudget()
      let policy = RetryPolicy(maxRetries: 1, backoff: .immediate, budget: budget, onEvent: log.add)
      _ = await session.result(of: URLRequest(url: server.url()), policy: policy)
      #expect(log.sources == [.backoff])
    }
  }
  private static let budget = RetryBudget()

  @Test func reportsASkippedRetry() async throws {
    let server = try LoopbackServer(script: .status(503))
    let log = EventLog()
    let policy = RetryPolicy(
      maxRetries: 3, backoff: .constant(.milliseconds(200)), budget: RetryBudget(), onEvent: log.add)
    _ = await all(10) { await session.result(of: URLRequest(url: server.url()), policy: policy).error }
    #expect(log.sources.contains(.budget))
  }

  /// Attempts that never reached the server are no load for it, so no call waits for another.
  @Test func unreachableCallsDoNotWaitForEachOther() async throws {
    let server = try LoopbackServer(isListening: false) { _ in .ok() }
    let budget = RetryBudget()
    for _ in 0..<3 {
      let log = EventLog()
      // A busy machine may take ten seconds for three attempts.
      let policy = RetryPolicy(
        maxRetries: 2, backoff: .immediate, maxRetryTime: .noLimit, maxUnreachableTime: .noLimit, budget: budget,
        onEvent: log.add
      )
      _ = await session.result(of: URLRequest(url: server.url()), policy: policy)
      #expect(log.sources == [.backoff, .backoff])
    }
  }

  /// A host that was down for a moment and then responds 404 delays no call.
  @Test
  func doesNotWaitForAHostThatResponds404() async throws {
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
  func parallelFailuresDoNotExtendTwoRetries(_ count: Int) async throws {
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
