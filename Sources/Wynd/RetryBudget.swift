import Foundation

/// What calls to one origin share while it fails: retries that several calls would make at the same time.
///
/// In an outage every call on its own sends up to eleven requests, many times the load that the server could not carry in
/// the first place. With a budget, a retry is skipped when several calls to its origin have failed since the origin last
/// answered, the last one less than a second ago, and the answer is older than that. A skipped retry is not counted as an attempt: the call waits
/// its next backoff step instead, and its last retry is always sent. So a call never takes longer than its own retries
/// could have taken, and never sends more than it would have sent alone.
///
/// An answer is any response that is not an overload (a 404, too), so a server that answers some calls is not down. First attempts are never skipped, nor is a retry after a
/// failure that never reached a server, nor a call that is alone with its origin.
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
  /// How long a failure or an answer tells something.
  private static let window = Duration.seconds(1)

  /// An origin that has failed lately.
  private struct Failing {
    var lastFailure: Duration
    var lastAnswer: Duration?
    /// The calls that have failed since: the number of the first, and whether there is another.
    var firstCall: UInt64?
    var isShared = false
  }
  private struct State {
    var origins: [NetworkOrigin: Failing] = [:]
    var lastCall: UInt64 = 0
  }
  private let state = NetworkLock(State())

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
      if state.origins[origin] == nil, state.origins.count >= Self.capacity {
        let oldest = state.origins.min { $0.value.lastFailure < $1.value.lastFailure }
        if let oldest { state.origins[oldest.key] = nil }
      }
      var failing = state.origins[origin] ?? Failing(lastFailure: now)
      failing.lastFailure = now
      failing.firstCall = failing.firstCall ?? call
      failing.isShared = failing.isShared || failing.firstCall != call
      state.origins[origin] = failing
      return call
    }
  }

  /// Several calls have failed at the origin, the last of them just now, and nothing was answered lately: an origin that
  /// answers some calls is not down.
  func isFailing(_ url: URL?, now: Duration) -> Bool {
    state.withLock { state in
      guard let failing = state.origins[NetworkOrigin(url)], failing.isShared else { return false }
      let isAnswering = failing.lastAnswer.map { now - $0 < Self.window } ?? false
      return !isAnswering && now - failing.lastFailure < Self.window
    }
  }
}
