import Foundation

/// Runs work that reads or writes files, on one of four threads, whatever the number of calls. Those of Swift's tasks
/// must not wait for the disk, and the app may block those of global queues.
nonisolated func networkInBackground<Value: Sendable, Failure: Swift.Error>(
  _ work: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
  let result: Swift.Result<Value, Failure> = await withCheckedContinuation { continuation in
    NetworkFileWork.shared.add { continuation.resume(returning: Swift.Result { () throws(Failure) in try work() }) }
  }
  return try result.get()
}

/// Work on files, in the order in which it arrives.
nonisolated private struct NetworkFileWork: Sendable {
  private struct State: Sendable {
    /// The queues that have nothing to do. A queue with a label has a thread of its own while it works.
    var idle = (1...4).map { DispatchQueue.network("files.\($0)") }
    var waiting: ArraySlice<@Sendable () -> Void> = []
  }
  static let shared = NetworkFileWork()
  private let state = NetworkLock(State())

  func add(_ work: @escaping @Sendable () -> Void) {
    let queue = state.withLock { state in
      if state.idle.isEmpty { state.waiting.append(work) }
      return state.idle.popLast()
    }
    if let queue { queue.async { run(work, on: queue) } }
  }

  /// Runs the work, and then what has arrived meanwhile.
  private func run(_ first: @escaping @Sendable () -> Void, on queue: DispatchQueue) {
    var next: (@Sendable () -> Void)? = first
    while let work = next {
      work()
      next = state.withLock { state in
        let next = state.waiting.popFirst()
        if next == nil { state.idle.append(queue) }
        return next
      }
    }
  }
}
