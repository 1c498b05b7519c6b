#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  /// Limits the requests to a host that run at the same time, each on a session of its own, to the number of
  /// connections that the caller's session may make (`httpMaximumConnectionsPerHost`).
  nonisolated enum LinuxConnectionLimit {
    struct Key: Hashable, Sendable {
      let caller: ObjectIdentifier
      let origin: NetworkOrigin
      let isForTransfers: Bool
    }
    struct Host: Sendable {
      var running: [Place] = []
      /// In the order of their calls.
      var waiting: [Place] = []
    }
    static let hosts = NetworkLock<[Key: Host]>([:])

    /// The place of one request. It has to be released, whether the request was sent or still waits: LinuxAttempt does it
    /// at the end of each hop.
    nonisolated final class Place: Sendable {
      private let key: Key
      private let limit: Int
      private let caller: URLSession
      private let start: @Sendable () -> Void

      init(_ caller: URLSession, _ url: URL?, isForTransfers: Bool, _ start: @escaping @Sendable () -> Void) {
        key = Key(caller: ObjectIdentifier(caller), origin: NetworkOrigin(url), isForTransfers: isForTransfers)
        limit = max(1, caller.configuration.httpMaximumConnectionsPerHost)
        // Otherwise another session could get the same identifier.
        self.caller = caller
        self.start = start
      }

      /// Calls `start` at once, or when another request has ended. Not at all if the place is released before.
      func take() {
        let isFree = hosts.withLock { hosts in
          var host = hosts[key] ?? Host()
          let isFree = host.running.count < limit
          if isFree { host.running.append(self) } else { host.waiting.append(self) }
          hosts[key] = host
          return isFree
        }
        if isFree { start() }
      }

      /// Gives the place to the request that has waited longest.
      // Inlined, each caller would get a copy of it.
      @inline(never)
      func release() {
        let next = hosts.withLock { hosts -> Place? in
          guard var host = hosts[key] else { return nil }
          host.waiting.removeAll { $0 === self }
          guard let place = host.running.firstIndex(where: { $0 === self }) else {
            hosts[key] = host
            return nil
          }
          let next: Place? = host.waiting.isEmpty ? nil : host.waiting.removeFirst()
          if let next { host.running[place] = next } else { host.running.remove(at: place) }
          hosts[key] = host.running.isEmpty ? nil : host
          return next
        }
        // Not here: many requests that end at once would call each other, and overflow the stack.
        if let next { LinuxAttempt.queue.async(execute: next.start) }
      }
    }
  }
#endif
