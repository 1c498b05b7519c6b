import Foundation

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
