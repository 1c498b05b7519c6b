import Dispatch
import Foundation

/// Time, waiting and chance, passed in so that every rule can be tried without waiting.
nonisolated protocol RetryClock: Sendable {
  /// Time since some fixed moment; never goes back.
  var now: Duration { get }
  /// The calendar's time, for HTTP-dates.
  var date: Date { get }
  /// Uniform in 0 ..< 1.
  func random() -> Double
  /// Calls `action` once, not before `delay` is over, unless the wait is cancelled.
  func wait(_ delay: Duration, _ action: @escaping @Sendable () -> Void) -> RetryWait
  func cancel(_ wait: RetryWait)
}

nonisolated struct RetryWait: Sendable { let id: UInt64 }

/// Real time. All waits of the process share one timer and one queue: ten thousand waiting calls cost no thread, and a
/// wait that is cancelled is gone at once (a cancelled `asyncAfter` stays in memory until its time).
nonisolated final class SharedRetryClock: RetryClock, @unchecked Sendable {
  static let shared = SharedRetryClock()

  private let lock = NSLock()
  private let timer: any DispatchSourceTimer
  // Under the lock.
  private var lastID: UInt64 = 0
  private var actions: [UInt64: @Sendable () -> Void] = [:]
  private var heap: [(due: UInt64, id: UInt64)] = []

  private init() {
    timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "Wynd.RetryClock", qos: .userInitiated))
    timer.setEventHandler { [unowned self] in fire() }
    timer.activate()
  }

  private let start = ContinuousClock.now
  var now: Duration { ContinuousClock.now - start }
  var date: Date { Date() }
  func random() -> Double { Double.random(in: 0..<1) }

  func wait(_ delay: Duration, _ action: @escaping @Sendable () -> Void) -> RetryWait {
    let nanoseconds = UInt64(min(max(delay.secondsAsDouble, 0), 9e9) * 1e9)
    return lock.withLock {
      lastID += 1
      let due = DispatchTime.now().uptimeNanoseconds &+ nanoseconds
      actions[lastID] = action
      push((due, lastID))
      if heap[0].id == lastID { schedule(due) }
      return RetryWait(id: lastID)
    }
  }

  func cancel(_ wait: RetryWait) {
    lock.withLock {
      guard actions.removeValue(forKey: wait.id) != nil else { return }
      // What is left in the heap is swept once it is the larger part.
      if heap.count > 64, heap.count > 2 * actions.count {
        heap = heap.filter { actions[$0.id] != nil }.sorted { $0.due < $1.due }
      }
    }
  }

  private func fire() {
    while true {
      lock.lock()
      guard let next = heap.first else { return lock.unlock() }
      guard next.due <= DispatchTime.now().uptimeNanoseconds || actions[next.id] == nil else {
        schedule(next.due)
        return lock.unlock()
      }
      pop()
      let action = actions.removeValue(forKey: next.id)
      lock.unlock()
      action?()
    }
  }

  private func schedule(_ due: UInt64) {
    timer.schedule(deadline: DispatchTime(uptimeNanoseconds: due), leeway: .milliseconds(1))
  }

  private func push(_ entry: (due: UInt64, id: UInt64)) {
    heap.append(entry)
    var child = heap.count - 1
    while child > 0, heap[child].due < heap[(child - 1) / 2].due {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  private func pop() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var parent = 0
    while true {
      let children = [2 * parent + 1, 2 * parent + 2].filter { $0 < heap.count }
      guard let child = children.min(by: { heap[$0].due < heap[$1].due }), heap[child].due < heap[parent].due else {
        return
      }
      heap.swapAt(parent, child)
      parent = child
    }
  }
}
