import Foundation

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
