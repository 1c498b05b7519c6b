import Foundation

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The standard mode of AWS's SDKs, as it is the default since November 2026, for comparison: three attempts, full jitter,
/// and tokens that a process pays for its retries.
final class AWSRetries: @unchecked Sendable {
  // Unchecked: everything happens on the thread of the simulation.
  private static let capacity = 500
  private var tokens = AWSRetries.capacity
  private let cost: Int
  private let backoff: Backoff

  /// `isThrottling`: whether the failures are responses that ask to slow down. Any other failure is transient.
  init(isThrottling: Bool) {
    cost = isThrottling ? 5 : 14
    backoff = .exponential(base: isThrottling ? .seconds(1) : .milliseconds(50), cap: .seconds(20))
  }

  /// Carries out a call. Returns whether it succeeded.
  func run(_ request: URLRequest, on transport: any NetworkTransport, _ clock: any RetryClock) async -> Bool {
    for retry in 0..<3 {
      let completion = NetworkAttemptCompletion()
      let outcome = await completion.outcome { transport.send(NetworkOutgoing(request: request), completion) }
      if case .success = outcome.result(isHead: false, allowEmptyData: true) {
        // A success gives back what its retry has cost, and one token without a retry.
        tokens = min(Self.capacity, tokens + (retry > 0 ? cost : 1))
        return true
      }
      if retry == 2 || tokens < cost { return false }
      tokens -= cost
      try? await clock.sleep(for: backoff.delay(retry: retry, random: clock.random()))
    }
    return false
  }
}
