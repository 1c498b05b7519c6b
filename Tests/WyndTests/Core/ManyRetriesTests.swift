import Foundation
import Testing
import Wynd

/// What a call costs must not grow faster than the number of its attempts.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct ManyRetriesTests {
  @Test func costsTimeInProportionToTheNumberOfRetries() async throws {
    let url = URL.example
    @Sendable func time(_ retries: Int) async -> Duration {
      let policy = RetryPolicy(maxRetries: retries, backoff: .immediate, maxRetryTime: .noLimit, budget: .unlimited)
      let began = ContinuousClock.now
      let error = await #expect(throws: NetworkError.self) {
        try await NetworkScript([.status(503)]).performNetworkRequest(url, policy: policy)
      }
      #expect(error?.attempts.count == retries + 1)
      return ContinuousClock.now - began
    }
    await Turn.take {
      // If each attempt looked at all before it, this would take six times as long. A busy machine may slow one try.
      var isProportional = false
      for _ in 1...3 where !isProportional {
        var calls = Duration.zero
        for _ in 1...8 { calls += await time(1_000) }
        isProportional = await time(8_000) < calls * 3
      }
      #expect(isProportional)
    }
  }
}
