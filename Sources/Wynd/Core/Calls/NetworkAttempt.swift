// Calls: what an app calls and what it receives: the performers with their methods, the request, the response, the error
// and the events. Nothing here decides about a retry or touches the network.
// Start with NetworkPerformer+performNetworkRequest.swift.

#if !canImport(FoundationNetworking)
  public import Foundation
#endif

/// One attempt of a call that succeeded or failed: its time, its error, and the wait after it.
nonisolated public struct NetworkAttempt: Sendable {
  /// The number of the attempt, counted from 1.
  public internal(set) var number: Int
  /// When it began, measured from the start of the call.
  public internal(set) var startedAt: Swift.Duration
  /// The time from its start to its response or error.
  public internal(set) var duration: Swift.Duration
  /// Why it failed; nil if it succeeded.
  public internal(set) var error: NetworkError?
  /// The wait after it, or its full length if the wait was canceled; nil if there was none.
  public internal(set) var delay: Swift.Duration?
  #if !canImport(FoundationNetworking)
    /// What URLSession has measured of the attempt: its redirects, connections and durations. Nil if it sent nothing, or
    /// ended before URLSession did: at the first byte of a stream, at a deadline or after a cancellation. On Linux,
    /// URLSession measures nothing, and there is no such property.
    public internal(set) var metrics: URLSessionTaskMetrics?
    /// Whether there was a connection to the server of the latest request, which after a redirect is not the first one. On
    /// Linux, an attempt that had one does not fail with an error that says that no server was reached.
    var hasReachedServer: Bool { metrics?.transactionMetrics.last?.requestStartDate != nil }
  #else
    var hasReachedServer: Bool { false }
  #endif
  /// The number of retries after it that the ``RetryBudget`` skipped.
  var skippedRetries = 0
  /// What has become of its request.
  var delivery = NetworkDelivery.maybeApplied
}
