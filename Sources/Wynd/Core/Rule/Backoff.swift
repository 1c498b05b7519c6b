import Foundation

/// How long to wait before a retry.
///
/// `n` is the number of retries already made, so with the default base of 0.5 s and cap of 20 s the ceiling of the wait
/// is 0.5, 1, 2, 4, 8, 16, 20, 20 … s.
nonisolated public enum Backoff: Sendable, Equatable {
  /// Full jitter: uniform in `0 … min(cap, base · 2ⁿ)`, so that clients that failed together do not return together. It
  /// has no floor: a wait may be nearly zero. Only the wait in place of a skipped retry is at least half of its step
  /// (``RetryBudget``).
  case exponential(base: Swift.Duration, cap: Swift.Duration)
  /// The same wait each time, without jitter.
  case constant(Swift.Duration)
  /// No wait.
  public static let immediate = Backoff.constant(.zero)

  /// The wait before retry number `retry`, counted from 0. Never negative, never above the cap.
  ///
  /// `RetryRule.wait` adds it to what the server asks for. `random` is uniform in 0 ..< 1. The loop takes it from its
  /// clock (`RetryLoop.decide`).
  func delay(retry: Int, random: Double) -> Swift.Duration {
    switch self {
    case .constant(let wait): return min(max(.zero, wait), .noLimit)
    case .exponential(let base, let cap):
      // The exponent is bounded first: 2¹⁰²⁴ is infinite, and a conversion of infinity traps.
      let factor = Double(sign: .plus, exponent: min(max(retry, 0), 64), significand: 1)
      let ceiling = min(cap.secondsAsDouble, base.secondsAsDouble * factor)
      return .bounded(seconds: ceiling * min(max(random, 0), 1))
    }
  }
}

nonisolated extension Swift.Duration {
  // `components` traps where the seconds do not fit into an Int64.
  var secondsAsDouble: Double { self / .seconds(1) }

  /// "0.52 s", "60 s": at most two decimals.
  var logText: String {
    let seconds = min(max(secondsAsDouble, 0), 1e10)
    return String(format: "%.15g s", (seconds * 100).rounded() / 100)
  }

  /// `Duration.seconds(_: Double)` traps on NaN, infinity and large values; this gives 0 … 9·10⁹ s for anything.
  static func bounded(seconds: Double) -> Swift.Duration {
    seconds > 0 ? .nanoseconds(Int64(min(seconds, 9e9) * 1e9)) : .zero
  }
}
