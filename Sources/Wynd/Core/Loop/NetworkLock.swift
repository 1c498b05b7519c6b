import Foundation

/// A value that several threads share, protected by a mutex.
///
/// One allocation holds both; `NSLock` alone takes four on Linux. Synchronization's Mutex needs iOS 18, and the thread
/// sanitizer does not know it on Linux.
nonisolated struct NetworkLock<Value: Sendable>: @unchecked Sendable {
  // Unchecked: the value is accessed only while the mutex is locked.
  private let storage: ManagedBuffer<Value, pthread_mutex_t>

  init(_ value: Value) {
    storage = .create(minimumCapacity: 1) { _ in value }
    storage.withUnsafeMutablePointerToElements { mutex in
      _ = pthread_mutex_init(mutex, nil)
    }
  }

  func withLock<Output: Sendable, Failure: Swift.Error>(
    _ body: (inout Value) throws(Failure) -> Output
  ) throws(Failure) -> Output {
    try storage.withUnsafeMutablePointers { value, mutex throws(Failure) in
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      return try body(&value.pointee)
    }
  }
}

/// Keeps a large value behind one reference, so that the code that copies its owner is short.
nonisolated final class NetworkBox<Value: Sendable>: Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}

nonisolated extension DispatchQueue {
  /// A queue of this library, for work that a person waits for.
  @inline(never)
  static func network(_ name: String) -> DispatchQueue { DispatchQueue(label: "Wynd.\(name)", qos: .userInitiated) }
}
