public import Foundation

/// How far a transfer is. Over its attempts it never goes back, except where the file had to start over.
nonisolated public struct TransferProgress: Sendable, Equatable {
  /// Bytes that have come, or gone, and need not be sent again.
  public var completed: Int64
  /// Bytes in all; nil while nobody has said.
  public var expected: Int64?
}

/// A transfer that has been started with a completion handler. Dropping it does not end the transfer.
nonisolated public struct NetworkTransfer: Sendable {
  /// Counts bytes; its `totalUnitCount` is -1 while the length is unknown. Cancelling it ends the transfer.
  public let progress: Progress
  let task: NetworkTask

  /// Ends the transfer, as ``NetworkTask/cancel()``.
  public func cancel() { task.cancel() }
}

/// Tells of bytes, to a `Progress` and to a closure, not more often than a person can see.
nonisolated final class ProgressTeller: @unchecked Sendable {
  private let lock = NSLock()
  private var told = TransferProgress(completed: 0, expected: nil)
  private let closure: (@Sendable (TransferProgress) -> Void)?
  private let progress: Progress?

  init(_ progress: Progress?, _ closure: (@Sendable (TransferProgress) -> Void)?) {
    self.progress = progress
    self.closure = closure
  }

  /// Called by one thread at a time.
  func tell(_ completed: Int64, of expected: Int64?) {
    let now = TransferProgress(completed: completed, expected: expected)
    let isDue = lock.withLock {
      let step = max(65_536, (expected ?? 0) / 500)
      let isDue =
        now.expected != told.expected || now.completed < told.completed || now.completed - told.completed >= step
        || now.completed == expected && now != told
      if isDue { told = now }
      return isDue
    }
    guard isDue else { return }
    if let progress {
      // A total of 0 traps on Linux.
      if let expected, expected > 0, progress.totalUnitCount != expected { progress.totalUnitCount = expected }
      progress.completedUnitCount = completed
    }
    closure?(now)
  }
}
