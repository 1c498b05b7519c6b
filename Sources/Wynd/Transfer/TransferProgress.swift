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

/// Calls a progress closure. If the length is known, it is called about 500 times at most.
nonisolated final class NetworkProgressReporter: Sendable {
  private struct State: Sendable {
    var last = TransferProgress(completed: 0)
    /// The next report, while it waits for the queue.
    var next: TransferProgress?
  }
  private let state = NetworkLock(State())
  private let closure: (@Sendable (TransferProgress) -> Void)?
  /// A queue for each transfer, so that a slow closure delays neither its own transfer nor the reports of another one.
  /// There is none without a closure.
  private let queue: DispatchQueue?

  init(_ closure: (@Sendable (TransferProgress) -> Void)?) {
    self.closure = closure
    queue = closure.map { _ in DispatchQueue(label: "Wynd.Progress", qos: .userInitiated) }
  }

  func report(_ completed: Int64, of total: Int64?) {
    guard let closure, let queue else { return }
    let now = TransferProgress(completed: completed, total: total)
    let mustSchedule = state.withLock { state in
      let isScheduled = state.next != nil
      let isDue = Self.isDue(now, after: state.last)
      if isDue || isScheduled { state.next = now }
      return isDue && !isScheduled
    }
    if !mustSchedule { return }
    queue.async { [state] in
      let due = state.withLock { state in
        if let next = state.next { state.last = next }
        state.next = nil
        return state.last
      }
      closure(due)
    }
  }

  /// Whether the progress differs enough from what was reported last.
  private static func isDue(_ now: TransferProgress, after last: TransferProgress) -> Bool {
    if now.total != last.total || now.completed < last.completed { return true }
    let isAtEnd = now.completed == now.total
    if isAtEnd, now != last { return true }
    let step = max(65_536, (now.total ?? 0) / 500)
    return now.completed - last.completed >= step
  }

  /// Returns after the closure has received the last report.
  func reportsAreDelivered() async {
    guard let queue else { return }
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume() }
    }
  }
}
