import Foundation
import Testing

/// A counter for several threads.
final class Counter: @unchecked Sendable {
  private let lock = NSLock()
  private var count = 0
  private var waiters: [UUID: (target: Int, continuation: CheckedContinuation<Void, Never>)] = [:]

  var value: Int { lock.withLock { count } }

  @discardableResult func add() -> Int {
    let (now, ready) = lock.withLock {
      count += 1
      let ready = waiters.filter { $0.value.target <= count }
      for id in ready.keys { waiters[id] = nil }
      return (count, ready.values.map(\.continuation))
    }
    for continuation in ready { continuation.resume() }
    return now
  }

  /// Returns when the number is reached, or the task is canceled, as at the time limit of a test.
  func reaches(_ target: Int) async {
    let id = UUID()
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isThere = lock.withLock {
          let isThere = count >= target || Task.isCancelled
          if !isThere { waiters[id] = (target, continuation) }
          return isThere
        }
        if isThere { continuation.resume() }
      }
    } onCancel: {
      lock.withLock { waiters.removeValue(forKey: id) }?.continuation.resume()
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

/// A gate that opens once.
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
/// This trait lets twelve tests run at a time, and cancels one that takes ten minutes. The time limit of its suite includes
/// the wait for a place, so it is long enough for all tests on a slow machine.
struct FewAtOnce: SuiteTrait, TestTrait, TestScoping {
  @TaskLocal fileprivate static var place: Place?
  var isRecursive: Bool { true }
  func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { testCase == nil ? nil : self }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let place = Place()
    await place.take()
    do {
      try await Self.$place.withValue(place) { try await withoutActuallyEscaping(function) { try await limited($0) } }
    } catch {
      await place.giveBack()
      throw error
    }
    await place.giveBack()
  }

  private func limited(_ function: @escaping @Sendable () async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await function() }
      group.addTask {
        try await Task.sleep(for: .seconds(600))
        Issue.record("the test has run for ten minutes, and is canceled")
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  fileprivate actor Place {
    private static let all = Places()
    private var isTaken = false
    func take() async { isTaken = await Self.all.take() }
    func giveBack() async {
      guard isTaken else { return }
      isTaken = false
      await Self.all.giveBack()
    }
  }

  private actor Places {
    private var free = 12
    private var waiting: [(id: UUID, continuation: CheckedContinuation<Bool, Never>)] = []

    /// Returns false if the task was canceled meanwhile.
    func take() async -> Bool {
      if free > 0 {
        free -= 1
        return true
      }
      let id = UUID()
      return await withTaskCancellationHandler {
        await withCheckedContinuation { waiting.append((id, $0)) }
      } onCancel: {
        Task { await cancel(id) }
      }
    }

    private func cancel(_ id: UUID) {
      guard let place = waiting.firstIndex(where: { $0.id == id }) else { return }
      waiting.remove(at: place).continuation.resume(returning: false)
    }

    func giveBack() {
      if waiting.isEmpty { free += 1 } else { waiting.removeFirst().continuation.resume(returning: true) }
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
