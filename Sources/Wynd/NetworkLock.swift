/// A value that several threads share, protected by a mutex.
///
/// One allocation holds both; `NSLock` alone takes four on Linux, and a call needs three locks. Synchronization's Mutex
/// needs iOS 18, and the thread sanitizer does not know it on Linux.
nonisolated struct NetworkLock<Value: Sendable>: @unchecked Sendable {
  // Unchecked: the value is accessed only while the mutex is locked. The elements are the memory of the mutex.
  private let storage: ManagedBuffer<Value, UInt64>

  init(_ value: Value) {
    // 40 bytes on Linux, 64 on Apple's platforms.
    storage = .create(minimumCapacity: 8) { _ in value }
    #if compiler(>=6.2)
      unsafe storage.withUnsafeMutablePointerToElements { words in
        _ = unsafe pthread_mutex_init(
          UnsafeMutableRawPointer(words).bindMemory(to: pthread_mutex_t.self, capacity: 1), nil)
      }
    #else
      storage.withUnsafeMutablePointerToElements { words in
        _ = pthread_mutex_init(UnsafeMutableRawPointer(words).bindMemory(to: pthread_mutex_t.self, capacity: 1), nil)
      }
    #endif
  }

  // Inlined, it would be compiled once for each use.
  @inline(never) func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    #if compiler(>=6.2)
      unsafe storage.withUnsafeMutablePointers { value, words in
        let mutex = unsafe UnsafeMutableRawPointer(words).assumingMemoryBound(to: pthread_mutex_t.self)
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return unsafe body(&value.pointee)
      }
    #else
      storage.withUnsafeMutablePointers { value, words in
        let mutex = UnsafeMutableRawPointer(words).assumingMemoryBound(to: pthread_mutex_t.self)
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&value.pointee)
      }
    #endif
  }
}
