import Dispatch
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

/// Tells of bytes, to a `Progress` and to a closure, not more often than a person can see, and on a queue of its own: what
/// a closure waits for must not wait for the network.
nonisolated final class ProgressTeller: @unchecked Sendable {
  let queue = DispatchQueue(label: "Wynd.Progress", qos: .userInitiated)
  private let lock = NSLock()
  // Under the lock: what was seen last, and whether somebody is on the way to tell it.
  private var latest = TransferProgress(completed: 0, expected: nil)
  private var told = TransferProgress(completed: 0, expected: nil)
  private var isOnTheWay = false
  private let closure: (@Sendable (TransferProgress) -> Void)?
  private let progress: Progress?

  init(_ progress: Progress?, _ closure: (@Sendable (TransferProgress) -> Void)?) {
    self.progress = progress
    self.closure = closure
  }

  func tell(_ completed: Int64, of expected: Int64?) {
    if progress == nil, closure == nil { return }
    let now = TransferProgress(completed: completed, expected: expected)
    let isDue = lock.withLock {
      latest = now
      let step = max(65_536, (expected ?? 0) / 500)
      let isDue =
        now.expected != told.expected || now.completed < told.completed || now.completed - told.completed >= step
        || now.completed == expected && now != told
      if !isDue || isOnTheWay { return false }
      isOnTheWay = true
      return true
    }
    if isDue { queue.async { [self] in deliver() } }
  }

  /// All of it, also if that is nothing.
  func finish(_ bytes: Int64) {
    tell(bytes, of: bytes)
    queue.async { [self] in
      guard let progress else { return }
      if progress.totalUnitCount <= 0 { progress.totalUnitCount = 1 }
      progress.completedUnitCount = progress.totalUnitCount
    }
  }

  private func deliver() {
    let now = lock.withLock {
      isOnTheWay = false
      told = latest
      return latest
    }
    if let progress {
      // A total of 0 traps on Linux, as do jumps at the end of the numbers.
      if let expected = now.expected, 1...(1 << 53) ~= expected, progress.totalUnitCount != expected {
        progress.totalUnitCount = expected
      }
      progress.completedUnitCount = min(now.completed, 1 << 53)
    }
    closure?(now)
  }
}
