import Foundation

/// A value behind a lock, for what callbacks on several threads share.
nonisolated final class NetworkLock<Value: Sendable>: @unchecked Sendable {
  // `value` is only reached through `withLock`. Mutex needs iOS 18, and the thread sanitizer does not know it on Linux.
  // Not inlined: it would be compiled once for each use.
  private let lock = NSLock()
  private var value: Value
  init(_ value: Value) { self.value = value }
  @inline(never) func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    lock.withLock { body(&value) }
  }
}
