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
    typealias Start = @Sendable () -> Void
    struct Waiting: Sendable {
      let place: ObjectIdentifier
      let start: Start
    }
    struct Host: Sendable {
      var running: [ObjectIdentifier] = []
      /// In the order of their calls.
      var waiting: [Waiting] = []
    }
    static let hosts = NetworkLock<[Key: Host]>([:])

    /// The place of one request. It has to be released, whether the request was sent or still waits.
    nonisolated final class Place: Sendable {
      private let key: Key
      private let limit: Int
      private let caller: URLSession

      init(_ caller: URLSession, _ url: URL?, isForTransfers: Bool) {
        key = Key(caller: ObjectIdentifier(caller), origin: NetworkOrigin(url), isForTransfers: isForTransfers)
        limit = max(1, caller.configuration.httpMaximumConnectionsPerHost)
        // Otherwise another session could get the same identifier.
        self.caller = caller
      }

      /// Calls `start` at once, or when another request has ended. Not at all if the place is released before.
      func take(_ start: @escaping @Sendable () -> Void) {
        let isFree = hosts.withLock { hosts in
          var host = hosts[key] ?? Host()
          let isFree = host.running.count < limit
          if isFree {
            host.running.append(ObjectIdentifier(self))
          } else {
            host.waiting.append(Waiting(place: ObjectIdentifier(self), start: start))
          }
          hosts[key] = host
          return isFree
        }
        if isFree { start() }
      }

      /// Gives the place to the request that has waited longest.
      // Inlined, each caller would get a copy of it.
      @inline(never)
      func release() {
        let id = ObjectIdentifier(self)
        // What is not needed any more is released outside the lock: a deinit may cancel another call.
        let (next, _) = hosts.withLock { hosts -> (Start?, [Waiting]) in
          guard var host = hosts[key] else { return (nil, []) }
          let removed = host.waiting.filter { $0.place == id }
          host.waiting.removeAll { $0.place == id }
          var next: Start?
          let place = host.running.firstIndex(of: id)
          if let place { host.running.remove(at: place) }
          if place != nil, !host.waiting.isEmpty {
            let first = host.waiting.removeFirst()
            host.running.append(first.place)
            next = first.start
          }
          hosts[key] = host.running.isEmpty ? nil : host
          return (next, removed)
        }
        // Not here: many requests that end at once would call each other, and overflow the stack.
        if let next { LinuxAttempt.queue.async(execute: next) }
      }
    }
  }
#endif
