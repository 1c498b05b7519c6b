import Foundation

/// Looks, four times a second, how large the answers under way are: a task with a completion handler tells nobody, and one
/// answer could fill the memory.
nonisolated final class ResponseSize: @unchecked Sendable {
  static let shared = ResponseSize()
  private let lock = NSLock()
  private var watched: [ObjectIdentifier: RetryLoop] = [:]
  private var isTicking = false

  func watch(_ loop: RetryLoop) {
    let isFirst = lock.withLock {
      watched[ObjectIdentifier(loop)] = loop
      defer { isTicking = true }
      return !isTicking
    }
    if isFirst { tick() }
  }

  func leave(_ loop: RetryLoop) { lock.withLock { _ = watched.removeValue(forKey: ObjectIdentifier(loop)) } }

  private func tick() {
    _ = SharedRetryClock.shared.wait(.milliseconds(250)) { [self] in
      let loops = lock.withLock {
        isTicking = !watched.isEmpty
        return Array(watched.values)
      }
      if !loops.isEmpty { tick() }
      for loop in loops where !loop.checkSize() { leave(loop) }
    }
  }
}

nonisolated extension RetryLoop {
  /// From time to time. True as long as there is something to look at.
  func checkSize() -> Bool {
    let (flight, isOver) = lock.withLock { (self.flight, answer == nil) }
    if let limit = policy.maxResponseSize, let bytes = flight?.incomingBytes, bytes > limit {
      end(.failure(.responseTooLarge(limit: limit)), .gaveUp(.notRetryable))
    }
    return !isOver
  }
}
