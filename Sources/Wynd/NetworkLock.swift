/// A value that several threads share, protected by a mutex.
///
/// One allocation holds both; `NSLock` alone takes four on Linux, and a call needs three locks. Synchronization's Mutex
/// needs iOS 18, and the thread sanitizer does not know it on Linux.
nonisolated struct NetworkLock<Value: Sendable>: @unchecked Sendable {
  // Unchecked: the value is accessed only while the mutex is locked.
  private let storage: ManagedBuffer<Value, pthread_mutex_t>

  init(_ value: Value) {
    storage = .create(minimumCapacity: 1) { _ in value }
    _ = storage.withUnsafeMutablePointerToElements { pthread_mutex_init($0, nil) }
  }

  // Inlined, it would be compiled once for each use.
  @inline(never) func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    storage.withUnsafeMutablePointers { value, mutex in
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      return body(&value.pointee)
    }
  }
}
