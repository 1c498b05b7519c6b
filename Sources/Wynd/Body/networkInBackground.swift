import Foundation

/// Runs work that reads or writes files. It does not run on the threads of Swift's tasks, which must not wait for the
/// disk, nor on a global queue, because the app may block its threads. Each piece of work has a queue of its own, so
/// that one on a slow disk does not delay another.
nonisolated func networkInBackground<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws
  -> Value
{
  try await withCheckedThrowingContinuation { continuation in
    DispatchQueue(label: "Wynd.Transfer", qos: .userInitiated).async {
      continuation.resume(with: Swift.Result { try work() })
    }
  }
}
