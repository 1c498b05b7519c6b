import Foundation
import Testing

/// A counter for several threads.
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

/// A value shared by several threads, with a lock.
final class Box<Value: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var stored: Value?
  init(_ value: Value? = nil) { stored = value }
  var value: Value? {
    get { lock.withLock { stored } }
    set { lock.withLock { stored = newValue } }
  }
  /// The value, which is nil from then on.
  func take() -> Value? { lock.withLock { stored.take() } }
  func update(_ change: (inout Value) -> Void) {
    lock.withLock {
      guard var value = stored else { return }
      stored = nil
      change(&value)
      stored = value
    }
  }
}

extension Box where Value: RangeReplaceableCollection, Value.Element: Sendable {
  @Sendable func append(_ element: Value.Element) { update { $0.append(element) } }
}

/// An object that a call retains.
final class Held: Sendable {}

/// A gate that opens once. Waiting for it cannot be canceled.
final class Gate: Sendable {
  private let counter = Counter()
  func open() { counter.add() }
  func wait() async { await counter.reaches(1) }
}

/// Polls a condition every millisecond. The time limit of the suite ends a wait for a condition that is
/// never met.
func until(_ condition: @Sendable () -> Bool) async {
  while !condition() && !Task.isCancelled { try? await Task.sleep(for: .milliseconds(1)) }
}

/// Swift Testing starts all tests at once. With hundreds of tests on a few cores, time-outs and deadlines would fail.
/// This trait lets twelve tests run at a time.
struct FewAtOnce: SuiteTrait, TestTrait, TestScoping {
  @TaskLocal fileprivate static var place: Place?
  var isRecursive: Bool { true }
  func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { testCase == nil ? nil : self }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let place = Place()
    await place.take()
    do { try await Self.$place.withValue(place, operation: function) } catch {
      await place.giveBack()
      throw error
    }
    await place.giveBack()
  }

  fileprivate actor Place {
    private static let all = Places()
    private var isTaken = false
    func take() async {
      await Self.all.take()
      isTaken = true
    }
    func giveBack() async {
      guard isTaken else { return }
      isTaken = false
      await Self.all.giveBack()
    }
  }

  private actor Places {
    private var free = 12
    private var waiting: [CheckedContinuation<Void, Never>] = []
    func take() async {
      if free > 0 { free -= 1 } else { await withCheckedContinuation { waiting.append($0) } }
    }
    func giveBack() {
      if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
  }
}

extension Trait where Self == FewAtOnce {
  static var fewAtOnce: Self { Self() }
}

/// Tests that load the machine or measure time run one at a time.
actor Turn {
  private static let shared = Turn()
  private var isTaken = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  static func take<Result: Sendable>(_ work: @Sendable () async throws -> Result) async rethrows -> Result {
    // A test that waits for its turn does not count as running.
    await FewAtOnce.place?.giveBack()
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
