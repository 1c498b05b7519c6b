import Foundation

/// The progress of a transfer. It decreases only when the transfer starts over, or when a server sends the end of a
/// partial file again.
///
/// ```swift
/// ProgressView(value: progress.fraction)        // SwiftUI; without a known length it shows that something happens
/// ```
nonisolated public struct TransferProgress: Sendable, Equatable {
  /// Bytes that have been received or sent, and do not have to be transferred again.
  public var completed: Int64
  /// The number of all bytes; nil while the length is unknown.
  public var total: Int64?
  /// The completed fraction, from 0 to 1; nil while the length is unknown.
  public var fraction: Double? { total.map { $0 > 0 ? min(1, Double(completed) / Double($0)) : 1 } }

  /// Creates a progress value.
  public init(completed: Int64, total: Int64? = nil) {
    self.completed = completed
    self.total = total
  }
}

/// Calls a progress closure, serially, at most once for each percent and for each 64 KB. While the closure runs, a
/// newer report replaces the one that waits, so a slow closure does not delay the transfer.
nonisolated final class NetworkProgressReporter: Sendable {
  private struct State: Sendable {
    var last = TransferProgress(completed: 0)
    /// The report that the closure has not received yet.
    var next: TransferProgress?
  }
  private let state = NetworkLock(State())
  private let closure: (@Sendable (TransferProgress) -> Void)?
  /// A queue for each transfer, so that a slow closure does not delay the reports of another one.
  private let queue = DispatchQueue.network("Progress")

  init(_ closure: (@Sendable (TransferProgress) -> Void)?) { self.closure = closure }

  // Inlined, each caller would get a copy of it.
  @inline(never)
  func report(_ completed: Int64, of total: Int64?) {
    guard let closure else { return }
    let now = TransferProgress(completed: completed, total: total)
    let mustStart = state.withLock { state in
      if !Self.isDue(now, after: state.last) { return false }
      defer { state.next = now }
      state.last = now
      return state.next == nil
    }
    if !mustStart { return }
    queue.async { [state] in
      if let next = state.withLock({ $0.next.take() }) { closure(next) }
    }
  }

  /// Whether the progress differs enough from what was reported last.
  private static func isDue(_ now: TransferProgress, after last: TransferProgress) -> Bool {
    if now.total != last.total || now.completed < last.completed { return true }
    let isAtEnd = now.completed == now.total
    if isAtEnd, now != last { return true }
    // Without a known total, a percent of what has been transferred.
    let percent = (now.total ?? now.completed) / 100
    return now.completed - last.completed >= max(65_536, percent)
  }

  /// Returns after the closure has received the last report.
  func waitForReports() async {
    if closure == nil { return }
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume() }
    }
  }
}
