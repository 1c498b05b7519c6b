import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What is under way in a transfer, so that it can be cancelled at any moment: also before it is known here, for it may end,
/// and another begin, before the call that starts it comes back.
nonisolated final class TransferFlight: NetworkRequestHandle, @unchecked Sendable {
  private let lock = NSLock()
  private var flight: (any NetworkRequestHandle)?
  private let begin: (@Sendable () -> any NetworkRequestHandle)?
  private var turn = 0
  private var isCancelled = false

  init(_ begin: (@Sendable () -> any NetworkRequestHandle)? = nil) { self.begin = begin }

  func resume() {
    if let begin, !wasCancelled { start(begin) }
  }

  var wasCancelled: Bool { lock.withLock { isCancelled } }
  /// What can be made to wait, on Apple's platforms.
  var current: (any NetworkRequestHandle)? { lock.withLock { flight } }

  func start(_ begin: () -> any NetworkRequestHandle) {
    let turn = lock.withLock {
      self.turn += 1
      return self.turn
    }
    let begun = begin()
    let isCancelled = lock.withLock {
      if self.turn == turn { flight = begun }
      return self.isCancelled
    }
    if isCancelled { begun.cancel() } else { begun.resume() }
  }

  /// It has ended. Whoever holds it would hold everything that it holds.
  func end() {
    lock.withLock {
      turn += 1
      flight = nil
    }
  }

  func cancel() {
    let flight = lock.withLock {
      isCancelled = true
      turn += 1
      defer { self.flight = nil }
      return self.flight
    }
    flight?.cancel()
  }
}
