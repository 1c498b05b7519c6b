import Foundation

/// A value behind a lock, for what callbacks on several threads share.
///
/// `NSLock` takes four allocations on Linux, and a call needs three locks. Synchronization's Mutex needs iOS 18, and the
/// thread sanitizer does not know it on Linux.
// Unchecked and safe: the value is only reached while the mutex is locked.
#if compiler(>=6.2)
  @safe
#endif
nonisolated final class NetworkLock<Value: Sendable>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private var value: Value

  init(_ value: Value) {
    self.value = value
    #if compiler(>=6.2)
      unsafe mutex = .allocate(capacity: 1)
      _ = unsafe pthread_mutex_init(mutex, nil)
    #else
      mutex = .allocate(capacity: 1)
      pthread_mutex_init(mutex, nil)
    #endif
  }

  deinit {
    #if compiler(>=6.2)
      unsafe pthread_mutex_destroy(mutex)
      unsafe mutex.deallocate()
    #else
      pthread_mutex_destroy(mutex)
      mutex.deallocate()
    #endif
  }

  // Not inlined: it would be compiled once for each use.
  @inline(never) func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    #if compiler(>=6.2)
      unsafe pthread_mutex_lock(mutex)
      defer { unsafe pthread_mutex_unlock(mutex) }
    #else
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
    #endif
    return body(&value)
  }
}
