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
  private struct State: Sendable {
    var latest = TransferProgress(completed: 0)
    var reported = TransferProgress(completed: 0)
    var isScheduled = false
  }
  private let state = NetworkLock(State())
  private let queue = DispatchQueue(label: "Wynd.Progress", qos: .userInitiated)
  private let closure: (@Sendable (TransferProgress) -> Void)?

  init(_ closure: (@Sendable (TransferProgress) -> Void)?) { self.closure = closure }

  func report(_ completed: Int64, of total: Int64?) {
    guard let closure else { return }
    let now = TransferProgress(completed: completed, total: total)
    let mustSchedule = state.withLock { state in
      state.latest = now
      let step = max(65_536, (total ?? 0) / 500)
      let isDue =
        total != state.reported.total || completed < state.reported.completed
        || completed - state.reported.completed >= step || completed == total && now != state.reported
      defer { state.isScheduled = state.isScheduled || isDue }
      return isDue && !state.isScheduled
    }
    if !mustSchedule { return }
    queue.async { [state] in
      closure(
        state.withLock { state in
          state.isScheduled = false
          state.reported = state.latest
          return state.latest
        })
    }
  }

  /// After the closure has had the last report.
  func afterReports(_ work: @escaping @Sendable () -> Void) {
    if closure == nil { work() } else { queue.async(execute: work) }
  }
}
