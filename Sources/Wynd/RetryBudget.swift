import Foundation

/// What calls to one origin share while it fails: retries that several calls would make at the same time.
///
/// In an outage every call on its own sends up to eleven requests, many times the load that the server could not carry in
/// the first place. With a budget, a retry is skipped when several calls to its origin have failed since the origin last
/// responded, the last one less than a second ago, and that response is older than a second. A skipped retry is not counted
/// as an attempt: the call waits its next backoff step instead, and its last retry is always sent. So a call never takes
/// longer than its own retries could have taken, and never sends more than it would have sent alone.
///
/// Any response counts that is not an overload (a 404, too), so a server that answers some calls is not down. First attempts
/// are never skipped, nor is a retry after a failure that never reached a server, nor a call that is alone with its origin.
///
/// ``RetryPolicy/default`` uses ``shared``. A policy can have a budget of its own, or none:
///
/// ```swift
/// var policy = RetryPolicy.default
/// policy.budget = RetryBudget()     // shared only by the calls with this policy
/// policy.budget = nil               // every retry is sent
/// ```
nonisolated public final class RetryBudget: Sendable {
  /// Shared by the whole process.
  public static let shared = RetryBudget()

  /// Makes a budget that is not shared with other policies.
  public init() {}

  /// The most origins that are remembered; after that the one that failed longest ago is forgotten.
  static let capacity = 256
  /// How long a failure or a response tells something about the origin.
  private static let window = Duration.seconds(1)
  /// Failures that are further apart are not of one outage: the longest wait of the default backoff.
  private static let longestGap = Duration.seconds(20)

  /// An origin that has failed lately.
  private struct Failing {
    var lastFailure: Duration
    var lastAnswer: Duration?
    /// The calls that have failed since the last response: the number of the first, and whether there is another.
    var firstCall: UInt64?
    var isShared = false
  }
  private let state = NetworkLock<(origins: [NetworkOrigin: Failing], lastCall: UInt64)>(([:], 0))

  var count: Int { state.withLock { $0.origins.count } }

  /// The origin gave a response that is not an overload.
  func answered(_ url: URL?, now: Duration) {
    state.withLock { state in
      // The common case: nothing fails.
      if state.origins.isEmpty { return }
      guard let lastFailure = state.origins[NetworkOrigin(url)]?.lastFailure else { return }
      let isRecent = now - lastFailure < Self.window
      state.origins[NetworkOrigin(url)] = isRecent ? Failing(lastFailure: lastFailure, lastAnswer: now) : nil
    }
  }

  /// A call failed in a way that indicates overload. Returns the number of the call; nil is a call without one.
  func failed(_ url: URL?, call: UInt64?, now: Duration) -> UInt64 {
    state.withLock { state in
      state.lastCall += call == nil ? 1 : 0
      let (origin, call) = (NetworkOrigin(url), call ?? state.lastCall)
      let known = state.origins[origin]
      var failing = Failing(lastFailure: now, lastAnswer: known?.lastAnswer, firstCall: call)
      if let known, let firstCall = known.firstCall, now - known.lastFailure <= Self.longestGap {
        (failing.firstCall, failing.isShared) = (firstCall, known.isShared || firstCall != call)
      }
      state.origins[origin] = failing
      if state.origins.count > Self.capacity {
        let oldest = state.origins.min { $0.value.lastFailure < $1.value.lastFailure }
        if let oldest { state.origins[oldest.key] = nil }
      }
      return call
    }
  }

  /// Several calls have failed at the origin, the last of them just now, and it has not responded lately: an origin that
  /// answers some calls is not down.
  func isFailing(_ url: URL?, now: Duration) -> Bool {
    state.withLock { state in
      guard let failing = state.origins[NetworkOrigin(url)], failing.isShared else { return false }
      let isAnswering = failing.lastAnswer.map { now - $0 < Self.window } ?? false
      return !isAnswering && now - failing.lastFailure < Self.window
    }
  }
}
