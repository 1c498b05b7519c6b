#if !canImport(FoundationNetworking)
  public import Foundation
#endif

/// One attempt of a call: its time, its error, and the wait after it.
nonisolated public struct NetworkAttempt: Sendable {
  /// The number of the attempt, counted from 1.
  public internal(set) var number: Int
  /// When it started, measured from the start of the call.
  public internal(set) var startedAt: Swift.Duration
  /// The time from its start to its response or error.
  public internal(set) var duration: Swift.Duration
  /// Why it failed; nil if it succeeded.
  public internal(set) var error: NetworkError?
  /// The wait after it, or its full length if the wait was canceled; nil if there was none.
  public internal(set) var delay: Swift.Duration?
  #if !canImport(FoundationNetworking)
    /// What URLSession measured: redirects, connections and durations. Nil if the attempt sent nothing, or ended before
    /// URLSession did: at the head of the response of a stream, at a deadline or after a cancellation. Linux has no
    /// such property, because URLSession measures nothing there.
    public internal(set) var metrics: URLSessionTaskMetrics?
    /// Whether there was a connection to the server of the latest request. After a redirect, that is not the first
    /// server. On Linux, an attempt with a connection does not fail with an error that means “no server was reached”.
    var hasReachedServer: Bool { metrics?.transactionMetrics.last?.requestStartDate != nil }
  #else
    var hasReachedServer: Bool { false }
  #endif
  /// The number of retries after it that the ``RetryBudget`` skipped.
  var skippedRetries = 0
  /// What has become of its request.
  var delivery = NetworkDelivery.mayHaveBeenApplied
}

nonisolated extension NetworkAttempt: CustomStringConvertible {
  /// One line for a log: "#1 at 0 s for 0.02 s: 503 from https://…, 18 bytes; then waited 0.5 s".
  public var description: String {
    let end = error?.description ?? "succeeded"
    let wait = delay.map { "; then waited \($0.logText)\(Self.text(skipped: skippedRetries))" } ?? ""
    return "#\(number) at \(startedAt.logText) for \(duration.logText): \(end)\(wait)"
  }

  static func text(skipped retries: Int) -> String { retries > 0 ? " (skipped retries: \(retries))" : "" }
}
