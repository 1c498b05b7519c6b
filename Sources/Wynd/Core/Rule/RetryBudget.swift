import Foundation

/// Skips retries while an origin fails for several calls.
///
/// In an outage, one call in a while tests the server, and the others wait. Without a budget, each call would send up
/// to eleven requests, and multiply the load that the server could not carry. A retry is skipped if several calls to
/// its origin have failed since the origin last responded, the last one less than a second ago. A skipped retry counts
/// as a retry: the call waits its next backoff step instead, at least half of it. The last retry of a call is always
/// sent. So a call never takes longer than its own retries could have taken, and never sends more than it would have
/// sent alone.
///
/// Any response that does not indicate overload counts, even a 404. After a response between failures, no retry is
/// skipped for a second: a server that responds to some calls is not down. First attempts are never skipped. Neither
/// are retries after a failure that reached no server, nor those of the only call to an origin.
///
/// ``RetryPolicy/default`` uses ``shared``. A policy can have a budget of its own, or none:
///
/// ```swift
/// var policy = RetryPolicy.default
/// policy.budget = RetryBudget()     // shared only by the calls with this policy
/// policy.budget = .unlimited        // every retry is sent
/// ```
nonisolated public final class RetryBudget: Sendable {
  /// Shared by the whole process.
  public static let shared = RetryBudget()

  /// Skips no retry.
  public static let unlimited = RetryBudget(skipsRetries: false)

  /// Makes a budget that is not shared with other policies.
  public convenience init() { self.init(skipsRetries: true) }

  private let skipsRetries: Bool
  private init(skipsRetries: Bool) { self.skipsRetries = skipsRetries }

  /// The number of origins that are kept. Beyond that, the one that failed longest ago is removed.
  static let capacity = 256
  /// How long a failure or a response counts.
  private static let window = Swift.Duration.seconds(1)
  /// Failures that are further apart belong to different outages. This is the longest wait of the default backoff.
  private static let longestGap = Swift.Duration.seconds(20)

  /// The calls to an origin that have failed since it last responded.
  private enum FailedCalls {
    case none
    case one(id: Int)
    case several

    mutating func add(_ id: Int) {
      switch self {
      case .none: self = .one(id: id)
      case .one(id): break
      case .one, .several: self = .several
      }
    }
  }

  /// An origin that has failed.
  private struct Failing {
    var calls: FailedCalls
    var lastFailure: Swift.Duration
    var lastResponse: Swift.Duration?
  }
  private let origins = NetworkLock<[NetworkOrigin: Failing]>([:])

  /// The number of origins that are kept in memory.
  var originCount: Int { origins.withLock { $0.count } }

  /// Records a response that does not indicate overload.
  func responded(_ url: URL?, now: Swift.Duration) {
    origins.withLock { origins in
      // The common case: nothing fails.
      if origins.isEmpty { return }
      let origin = NetworkOrigin(url)
      guard let lastFailure = origins[origin]?.lastFailure else { return }
      let isRecent = now - lastFailure < Self.window
      origins[origin] = isRecent ? Failing(calls: .none, lastFailure: lastFailure, lastResponse: now) : nil
    }
  }

  /// Records a failure that indicates overload. `call` is a different number for each call.
  func failed(_ url: URL?, call: Int, now: Swift.Duration) {
    if !skipsRetries { return }
    let origin = NetworkOrigin(url)
    origins.withLock { origins in
      var failing = origins[origin] ?? Failing(calls: .none, lastFailure: now)
      if now - failing.lastFailure > Self.longestGap { failing.calls = .none }
      failing.calls.add(call)
      failing.lastFailure = now
      origins[origin] = failing
      if origins.count > Self.capacity {
        let oldest = origins.min { $0.value.lastFailure < $1.value.lastFailure }
        if let oldest { origins[oldest.key] = nil }
      }
    }
  }

  /// Whether several calls to the origin have failed, the last one within a second, and the origin has not responded
  /// since.
  func isFailing(_ url: URL?, now: Swift.Duration) -> Bool {
    origins.withLock { origins in
      guard let failing = origins[NetworkOrigin(url)], case .several = failing.calls else { return false }
      let isResponding = failing.lastResponse.map { now - $0 < Self.window } ?? false
      return !isResponding && now - failing.lastFailure < Self.window
    }
  }
}
