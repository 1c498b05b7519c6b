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

/// Calls a progress closure on its own queue, so that a slow closure delays no transfer. If the length is known, it is
/// called about 500 times at most.
nonisolated final class NetworkProgressReporter: Sendable {
  /// The last report, and the next one while it waits for the queue.
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
      state.withLock { $0 = ($0.next ?? $0.last, nil) }
      closure(state.withLock { $0.last })
    }
  }

  /// Returns after the closure has received the last report.
  func reportsAreDelivered() async {
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume() }
    }
  }
}
