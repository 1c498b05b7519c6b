#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  /// The sessions for requests that are not safe to repeat, such as a POST.
  ///
  /// If a kept-alive connection turns out to be dead, libcurl sends the request again on its own, whatever its method. A
  /// body can be withheld then, but not the header fields. So such a request runs on a session that runs no other request
  /// to the same origin meanwhile, and that has no connection to it. Over TLS, where a new connection is expensive, a
  /// request with a body may use the only one: its header fields can arrive twice, but the body cannot.
  nonisolated final class LinuxExclusiveSessions: Sendable {
    /// The use of a session for one request.
    nonisolated struct Lease: Sendable {
      fileprivate let owner: LinuxExclusiveSessions
      fileprivate let number: Int
      fileprivate let origin: NetworkOrigin
      let transfers: LinuxTransfers

      /// To be called when the response has begun: a long response does not keep other requests waiting.
      func respond() { owner.release(self, hasEnded: false) }

      /// To be called when the task has completed or was canceled.
      func end() { owner.release(self, hasEnded: true) }
    }

    typealias Start = @Sendable (Lease) -> Void

    private struct Member {
      let transfers: LinuxTransfers
      /// The origins of the requests that are running.
      var origins: Set<NetworkOrigin> = []
      var hasUsedTLS = false
      var lastUse = 0
    }

    private struct Waiting {
      let url: URL?
      let isUnused: Bool
      let start: Start
    }

    private struct State {
      var members: [Member] = []
      /// The requests to each origin that are waiting for a response, and those that have not been sent.
      var running: [NetworkOrigin: Set<Int>] = [:]
      var waiting: [NetworkOrigin: [Waiting]] = [:]
      var uses = 0
    }

    /// The number of sessions that are kept.
    private static let limit = 32
    private let make: @Sendable () -> LinuxTransfers
    /// The number of requests to one origin that wait for their response at the same time.
    private let width: Int
    private let state = NetworkLock(State())

    init(width: Int, _ make: @escaping @Sendable () -> LinuxTransfers) {
      self.width = max(1, width)
      self.make = make
    }

    /// Calls `start` with a session, at once or when one is free. `isUnused`: the session must not have a connection to
    /// the origin.
    func lease(_ url: URL?, isUnused: Bool, start: @escaping Start) {
      let origin = LinuxConnections.origin(of: url)
      let lease = state.withLock { state -> Lease? in
        if state.running[origin]?.count ?? 0 < width {
          return take(url, origin, isUnused, &state)
        }
        state.waiting[origin, default: []].append(Waiting(url: url, isUnused: isUnused, start: start))
        return nil
      }
      if let lease { start(lease) }
    }

    private func take(_ url: URL?, _ origin: NetworkOrigin, _ isUnused: Bool, _ state: inout State) -> Lease {
      let index = freeMember(url, origin, isUnused, state.members) ?? addMember(origin, &state)
      state.uses += 1
      state.members[index].lastUse = state.uses
      state.members[index].origins.insert(origin)
      state.running[origin, default: []].insert(state.uses)
      if url?.scheme?.lowercased() == "https" { state.members[index].hasUsedTLS = true }
      return Lease(owner: self, number: state.uses, origin: origin, transfers: state.members[index].transfers)
    }

    private func freeMember(_ url: URL?, _ origin: NetworkOrigin, _ isUnused: Bool, _ members: [Member]) -> Int? {
      let free = members.indices.filter { !members[$0].origins.contains(origin) }
      let hasConnection = { LinuxConnections.mayExist(members[$0].transfers.session, url) }
      if isUnused { return free.first { !hasConnection($0) } }
      return free.first(where: hasConnection) ?? free.first
    }

    /// The index of a new session. Beyond the limit, it replaces another one. One that has used TLS is never released,
    /// because that can crash (swift-corelibs-foundation#5203). If all have, the one whose last use is the longest ago
    /// has to do.
    private func addMember(_ origin: NetworkOrigin, _ state: inout State) -> Int {
      if state.members.count >= Self.limit {
        let byAge = state.members.indices.sorted { state.members[$0].lastUse < state.members[$1].lastUse }
        if let index = byAge.first(where: { state.members[$0].origins.isEmpty && !state.members[$0].hasUsedTLS }) {
          state.members[index].transfers.session.finishTasksAndInvalidate()
          state.members[index] = Member(transfers: make())
          return index
        }
        if let index = byAge.first(where: { !state.members[$0].origins.contains(origin) }) { return index }
      }
      state.members.append(Member(transfers: make()))
      return state.members.count - 1
    }

    private func release(_ lease: Lease, hasEnded: Bool) {
      let next = state.withLock { state -> (Start, Lease)? in
        let index = state.members.firstIndex { $0.transfers.session === lease.transfers.session }
        if hasEnded, let index { state.members[index].origins.remove(lease.origin) }
        guard state.running[lease.origin]?.remove(lease.number) != nil else { return nil }
        if state.running[lease.origin]?.isEmpty == true { state.running[lease.origin] = nil }
        guard let first = state.waiting[lease.origin]?.first else { return nil }
        state.waiting[lease.origin]?.removeFirst()
        if state.waiting[lease.origin]?.isEmpty == true { state.waiting[lease.origin] = nil }
        return (first.start, take(first.url, lease.origin, first.isUnused, &state))
      }
      // Not here: many requests that end at once would call each other, and overflow the stack.
      if let (start, lease) = next { LinuxAttempt.queue.async { start(lease) } }
    }

    /// Ends the sessions after their running tasks.
    func finish() {
      let members = state.withLock { $0.members }
      for member in members { member.transfers.session.finishTasksAndInvalidate() }
    }
  }
#endif
