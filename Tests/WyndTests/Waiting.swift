import Foundation

/// Counts across threads.
final class Counter: @unchecked Sendable {
  private let lock = NSLock()
  private var count = 0
  private var waiters: [(Int, CheckedContinuation<Void, Never>)] = []

  var value: Int { lock.withLock { count } }

  @discardableResult func add() -> Int {
    lock.lock()
    count += 1
    let now = count
    let ready = waiters.filter { $0.0 <= now }
    waiters.removeAll { $0.0 <= now }
    lock.unlock()
    for waiter in ready { waiter.1.resume() }
    return now
  }

  func reaches(_ target: Int) async {
    await withCheckedContinuation { continuation in
      let isThere = lock.withLock {
        if count < target { waiters.append((target, continuation)) }
        return count >= target
      }
      if isThere { continuation.resume() }
    }
  }
}

/// A value that threads share.
final class Box<Value: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var stored: Value?
  init(_ value: Value? = nil) { stored = value }
  var value: Value? {
    get { lock.withLock { stored } }
    set { lock.withLock { stored = newValue } }
  }
  func update(_ change: (inout Value) -> Void) {
    lock.withLock {
      guard var value = stored else { return }
      stored = nil
      change(&value)
      stored = value
    }
  }
}

/// Opens once. Waiting for it cannot be cancelled.
final class Gate: Sendable {
  private let counter = Counter()
  func open() { counter.add() }
  func wait() async { await counter.reaches(1) }
}

/// Looks again and again, without taking the processor from what it waits for; the time limit of the suite ends what
/// never comes.
func until(_ condition: @Sendable () -> Bool) async {
  while !condition() { try? await Task.sleep(for: .milliseconds(1)) }
}

/// Tests that load the machine and tests that measure time would fail each other: one at a time.
actor Turn {
  private static let shared = Turn()
  private var isTaken = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  static func take<Result: Sendable>(_ work: @Sendable () async throws -> Result) async rethrows -> Result {
    await shared.begin()
    do {
      let result = try await work()
      await shared.end()
      return result
    } catch {
      await shared.end()
      throw error
    }
  }

  private func begin() async {
    if isTaken { await withCheckedContinuation { waiting.append($0) } }
    isTaken = true
  }
  private func end() {
    if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
  }
}
