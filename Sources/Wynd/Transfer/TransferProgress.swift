import Dispatch

/// How much of a transfer is done. It never decreases, except where a transfer has to start over.
///
/// ```swift
/// ProgressView(value: progress.fraction)        // SwiftUI; without a known length it shows that something happens
/// ```
nonisolated public struct TransferProgress: Sendable, Equatable {
  /// Bytes that have been received or sent, and need not be transferred again.
  public var completed: Int64
  /// All bytes; nil while the length is unknown.
  public var total: Int64?
  /// From 0 to 1; nil while the length is unknown.
  public var fraction: Double? {
    total.map { $0 > 0 ? min(1, Double(completed) / Double($0)) : 1 }
  }

  /// Makes a value.
  public init(completed: Int64, total: Int64? = nil) {
    self.completed = completed
    self.total = total
  }
}

/// Calls a progress closure on a queue of its own, at most about 500 times for one transfer: a closure that takes long
/// delays neither the transfer nor others.
nonisolated final class ProgressReporter: Sendable {
  /// The last report, and the next one that waits for the queue.
  private let state = NetworkLock((last: TransferProgress(completed: 0), next: TransferProgress?.none))
  private let queue = DispatchQueue(label: "Wynd.Progress", qos: .userInitiated)
  private let closure: (@Sendable (TransferProgress) -> Void)?

  init(_ closure: (@Sendable (TransferProgress) -> Void)?) { self.closure = closure }

  func report(_ completed: Int64, of total: Int64?) {
    guard let closure else { return }
    let now = TransferProgress(completed: completed, total: total)
    let mustSchedule = state.withLock { state in
      let (last, isScheduled) = (state.last, state.next != nil)
      let isDue =
        total != last.total || completed < last.completed || completed == total && now != last
        || completed - last.completed >= max(65_536, (total ?? 0) / 500)
      if isDue || isScheduled { state.next = now }
      return isDue && !isScheduled
    }
    if !mustSchedule { return }
    queue.async { [state] in
      closure(
        state.withLock { state in
          state = (state.next ?? state.last, nil)
          return state.last
        })
    }
  }

  /// After the closure has had the last report.
  func afterReports(_ work: @escaping @Sendable () -> Void) {
    if closure == nil { work() } else { queue.async(execute: work) }
  }
}
