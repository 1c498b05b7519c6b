#if canImport(FoundationNetworking)
  import Synchronization
#else
  import Foundation
#endif

/// A value behind a lock, for what callbacks on several threads share.
nonisolated final class NetworkLock<Value: Sendable>: @unchecked Sendable {
  // `value` is only reached through `withLock`. Foundation's NSLock costs four allocations on Linux; Mutex needs iOS 18.
  #if canImport(FoundationNetworking)
    private let value: Mutex<Value>
    init(_ value: Value) { self.value = Mutex(value) }
    @inline(never) func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
      value.withLock { body(&$0) }
    }
  #else
    private let lock = NSLock()
    private var value: Value
    init(_ value: Value) { self.value = value }
    @inline(never) func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
      lock.withLock { body(&value) }
    }
  #endif
}
