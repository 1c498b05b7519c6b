import Foundation

/// A value behind a lock, for what callbacks on several threads share.
///
/// One allocation holds both; `NSLock` alone takes four on Linux, and a call needs three locks. Synchronization's Mutex
/// needs iOS 18, and the thread sanitizer does not know it on Linux.
// Unchecked and safe: the value is only reached while the mutex is locked.
#if compiler(>=6.2)
  @safe
#endif
nonisolated struct NetworkLock<Value: Sendable>: @unchecked Sendable {
  private let storage: ManagedBuffer<Value, pthread_mutex_t>

  init(_ value: Value) {
    #if compiler(>=6.2)
      unsafe storage = .create(minimumCapacity: 1) { storage in
        _ = unsafe storage.withUnsafeMutablePointerToElements { unsafe pthread_mutex_init($0, nil) }
        return value
      }
    #else
      storage = .create(minimumCapacity: 1) { storage in
        _ = storage.withUnsafeMutablePointerToElements { pthread_mutex_init($0, nil) }
        return value
      }
    #endif
  }

  // Not inlined: it would be compiled once for each use.
  @inline(never) func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    #if compiler(>=6.2)
      unsafe storage.withUnsafeMutablePointers { value, mutex in
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return unsafe body(&value.pointee)
      }
    #else
      storage.withUnsafeMutablePointers { value, mutex in
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&value.pointee)
      }
    #endif
  }
}
