import Foundation

/// A value behind a lock, for what callbacks on several threads share.
///
/// One allocation holds both; `NSLock` alone takes four on Linux, and a call needs three locks. Synchronization's Mutex
/// needs iOS 18, and the thread sanitizer does not know it on Linux.
nonisolated struct NetworkLock<Value: Sendable>: @unchecked Sendable {
  // Unchecked: the value is only reached while the mutex is locked.
  private let storage: ManagedBuffer<Value, pthread_mutex_t>

  init(_ value: Value) {
    storage = ManagedBuffer<Value, pthread_mutex_t>.create(minimumCapacity: 1) { storage in
      #if compiler(>=6.2)
        _ = unsafe storage.withUnsafeMutablePointerToElements { unsafe pthread_mutex_init($0, nil) }
      #else
        _ = storage.withUnsafeMutablePointerToElements { pthread_mutex_init($0, nil) }
      #endif
      return value
    }
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
