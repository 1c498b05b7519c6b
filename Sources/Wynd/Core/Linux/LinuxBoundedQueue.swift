#if canImport(FoundationNetworking)
  import Foundation

  /// A delegate queue with room for 1,024 chunks of at most 16 KB. When it is full, URLSession waits. Otherwise every
  /// chunk that arrives faster than the disk takes it would be held in memory.
  // Unchecked, because a subclass of an unchecked class has to say so again.
  nonisolated final class LinuxBoundedQueue: OperationQueue, @unchecked Sendable {
    private let room = DispatchSemaphore(value: 1024)

    override init() {
      super.init()
      maxConcurrentOperationCount = 1
      qualityOfService = .userInitiated
    }

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
      room.wait()
      super.addOperation { [room] in
        block()
        room.signal()
      }
    }
  }
#endif
