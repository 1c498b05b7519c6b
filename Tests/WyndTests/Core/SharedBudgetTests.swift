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
  private static let budget = RetryBudget()

  @Test func reportsASkippedRetry() async throws {
    let server = try LoopbackServer(script: .status(503))
    let log = EventLog()
    let policy = RetryPolicy(
      maxRetries: 3, backoff: .constant(.milliseconds(200)), budget: RetryBudget(), onEvent: log.add)
    _ = await all(10) { await session.result(of: URLRequest(url: server.url()), policy: policy).error }
    #expect(log.sources.contains(.budget))
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
