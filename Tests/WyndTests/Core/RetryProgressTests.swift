import Foundation
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The rules about time and progress, as values.
@Suite struct RetryProgressTests {
  private func decide(_ error: NetworkError, _ call: RetryCallState) -> RetryDecision {
    RetryRule(RetryPolicy(backoff: .constant(.seconds(1)), budget: .unlimited)).decision(
      error, RetryPolicyTests.request("GET"), call, verdict: nil, now: Date(timeIntervalSince1970: 0), random: 0.5)
  }

  @Test func doesNotCountTimeAndAttemptsBeforeProgress() {
    let lost = NetworkError.urlError(URLError(.timedOut))
    var call = RetryCallState(attempts: 50, elapsed: .seconds(501), progressedAt: .seconds(500))
    #expect(decide(lost, call) == .retry(after: .seconds(1), .backoff))
    call.progressedAt = .zero
    #expect(decide(lost, call) == .stop(.maxRetryTime))
    call = RetryCallState(attempts: 50, elapsed: .seconds(1), retries: 49)
    #expect(decide(lost, call) == .stop(.maxRetries))
  }

  /// Otherwise a download would make a retry more than `persistentFailures` allows.
  @Test func attemptThatMadeProgressIsTheFirstThatCounts() throws {
    let response = try HTTPURLResponse.made(500)
    for (error, count) in [(NetworkError.endpointError(response, nil), 1), (.urlError(URLError(.timedOut)), 0)] {
      var call = RetryCallState(elapsed: .seconds(7), retries: 5)
      for number in 1...3 {
        call.add(NetworkAttempt(number: number, startedAt: .zero, duration: .zero, error: error, delay: nil))
      }
      call.startOver()
      #expect(call.persistentFailures == count && call.retries == 0 && call.progressedAt == .seconds(7))
    }
  }
}
