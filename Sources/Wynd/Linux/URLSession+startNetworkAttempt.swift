#if canImport(FoundationNetworking)
  import Dispatch
  import Foundation
  import FoundationNetworking

  nonisolated extension URLSession {
    func startNetworkAttempt(
      _ request: URLRequest, file: URL?, completion: @escaping @Sendable (NetworkOutcome) -> Void
    ) -> any NetworkFlight {
      LinuxAttempt(session: self, request: request, file: file, completion: completion).started()
    }

    func startNetworkTransfer(
      _ request: URLRequest, _ cargo: NetworkCargo, completion: @escaping @Sendable (NetworkOutcome) -> Void
    ) -> any NetworkFlight {
      LinuxAttempt(session: self, request: request, file: cargo.file, cargo: cargo, completion: completion).started()
    }

    /// There is no way to ask, but to look. A later release that stores it elsewhere is taken at its word.
    var isKnownToBeInvalidated: Bool {
      Mirror(reflecting: self).children.first { $0.label == "invalidated" }?.value as? Bool ?? false
    }

    var reasonToRefuseRequests: String? {
      // URLSession converts it to whole milliseconds for every task, whatever the request says, and traps.
      let seconds = configuration.timeoutIntervalForRequest
      return seconds >= 0 && seconds <= 1e15 ? nil : "timeoutIntervalForRequest of the session is not a usable number"
    }

    /// URLSession looks into a session's cache on a thread of its own, and a cancellation that meets the end of that look
    /// stops the process. There is nothing to find: it stores no answer. So it is not asked.
    func removeCache() {
      LinuxAttempt.lock.withLock {
        guard let cache = configuration.urlCache else { return }
        configuration.urlCache = nil
        // A task of the caller's own may be reading it.
        LinuxAttempt.queue.asyncAfter(deadline: .now() + .seconds(60)) { _ = cache }
      }
    }
  }
#endif
