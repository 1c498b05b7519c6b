import Foundation
import Testing

// The sources of Wynd, with a virtual clock and a simulated transport.
@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension SimulationTests {
  /// Which retries are skipped while an origin fails for several calls, to the moment.
  @Suite(.serialized) struct SkippedRetryTests {
    typealias Server = RetryBudgetTests.Server

    /// Two calls fail at once and would return after half a second; the last request takes 20 ms.
    private func seconds(_ server: Server, _ other: (path: String, start: Double)?) -> [Double] {
      let policy = RetryPolicy(backoff: .constant(.seconds(0.5)), budget: RetryBudget())
      for _ in 0..<2 { server.call("/", policy) }
      if let other { server.call(other.path, at: other.start, policy) }
      server.time.run()
      return (server.results[other?.path == "/late" ? "/late" : "/"] ?? []).map(\.seconds)
    }

    @Test func responseToAnotherCallEndsTheWaitOfSkippedRetries() {
      func server() -> Server { Server { path, now in path == "/gone" ? 404 : now < 0.4 ? 503 : 200 } }
      #expect(seconds(server(), nil).allSatisfy { $0 > 1 }, "skipped once")
      #expect(seconds(server(), ("/gone", 0.2)).allSatisfy { $0 < 0.6 })
    }

    @Test func attemptHasAllWaitsBeforeTheNextOne() throws {
      let server = Server { _, _ in 503 }
      let policy = RetryPolicy(maxRetries: 3, backoff: .constant(.seconds(0.5)), budget: RetryBudget())
      for _ in 0..<2 { server.call("/", policy) }
      server.time.run()
      for result in try #require(server.results["/"]) {
        let attempts = result.error?.attempts ?? []
        #expect(attempts.first?.delay == .seconds(1), "skipped once")
        for (attempt, next) in zip(attempts, attempts.dropFirst()) {
          #expect(attempt.startedAt + attempt.duration + (attempt.delay ?? .zero) == next.startedAt)
        }
      }
    }

    @Test func skippedRetryCountsAndTheErrorSaysSo() throws {
      let server = Server { _, _ in 503 }
      let policy = RetryPolicy(maxRetries: 3, backoff: .constant(.seconds(0.5)), budget: RetryBudget())
      for _ in 0..<2 { server.call("/", policy) }
      server.time.run()
      #expect(server.sends["/"] == 6, "one of three retries of each call was skipped")
      for result in try #require(server.results["/"]) {
        let error = try #require(result.error)
        #expect(
          error.description.hasSuffix("; gave up on GET after attempt 3 (skipped retries: 1): maxRetries"), "\(error)")
        #expect(error.attempts.first?.description.hasSuffix("; then waited 1 s (skipped retries: 1)") == true)
        #expect(result.seconds < 1.57)
      }
    }

    @Test func unreachableCallRetriesDuringAnOutage() {
      let server = Server { path, now in path == "/" && now < 3 ? 503 : 200 }
      server.fault = { 0.05..<0.15 ~= $0 ? URLError(.cannotConnectToHost) : nil }
      let late = seconds(server, ("/late", 0.1))
      #expect(late.count == 1 && late.allSatisfy { $0 < 0.6 })
    }
  }
}
