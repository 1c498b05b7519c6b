#if canImport(FoundationNetworking)
  import Dispatch
  import Foundation
  import FoundationNetworking

  nonisolated extension URLSession {
    /// Removes the session's cache. URLSession reads it on another thread, and crashes if the task is canceled at the
    /// end of that. Nothing is lost, because it stores no HTTP response there.
    func removeCache() {
      guard configuration.urlCache != nil else { return }
      let cache = Self.removedCaches.withLock { _ in
        defer { configuration.urlCache = nil }
        return configuration.urlCache
      }
      // Kept for a while, because a task of the caller's own may be reading it.
      LinuxAttempt.queue.asyncAfter(deadline: .now() + .seconds(60)) { _ = cache }
    }

    // Not `Void`: a value without a size shares its address with another, which the thread sanitizer reports.
    private static let removedCaches = NetworkLock(false)
  }
#endif
