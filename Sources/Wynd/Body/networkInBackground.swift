import Foundation

/// Runs work that reads or writes files, on one of four threads, whatever the number of calls. Those of Swift's tasks
/// must not wait for the disk, and the app may block those of global queues.
nonisolated func networkInBackground<Value: Sendable>(
  _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    NetworkFileQueues.next().async { continuation.resume(with: Swift.Result { try work() }) }
  }
}

/// Queues that take turns. While one of them works, it has a thread of its own; an `OperationQueue` would wait for the
/// threads of the global queues.
nonisolated private enum NetworkFileQueues {
  private static let all = (1...4).map { DispatchQueue.network("files.\($0)") }
  private static let turn = NetworkLock(0)

  static func next() -> DispatchQueue {
    let index = turn.withLock { turn in
      turn = (turn + 1) % all.count
      return turn
    }
    return all[index]
  }
}
