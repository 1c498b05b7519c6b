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
      let session: LinuxOwnSession

      /// To be called when the response of a transfer has begun: a long response does not keep other requests waiting. For
      /// other requests it is not known, and `end()` comes at once.
      func respond() { owner.release(self, hasEnded: false) }

      /// To be called when the task has completed or was canceled.
      func end() { owner.release(self, hasEnded: true) }
    }

    typealias Start = @Sendable (Lease) -> Void

    private struct Member {
      let session: LinuxOwnSession
      /// The origins of the requests that are running.
      var origins: [NetworkOrigin] = []
      var hasUsedTLS = false
      var lastUse = 0
    }

    /// A request that waits for its response.
    private struct Unanswered {
      let number: Int
      let origin: NetworkOrigin
    }

    /// A request that has not been sent.
    private struct Waiting {
      let number: Int
      let url: URL?
      let origin: NetworkOrigin
      let isUnused: Bool
      let start: Start
    }

    private struct State {
      var members: [Member] = []
      var unanswered: [Unanswered] = []
      /// In the order of their calls.
      var waiting: [Waiting] = []
      var uses = 0
      var requests = 0
    }

    /// The number of sessions that are kept: several times the six connections that URLSession makes to an origin, so that
    /// requests to several origins find theirs again. Each one that is kept costs memory and its idle connections.
    private static let limit = 32
    private let make: @Sendable () -> LinuxOwnSession
    /// The number of requests to one origin that wait for their response at the same time.
    private let width: Int
    private let state = NetworkLock(State())

    init(width: Int, _ make: @escaping @Sendable () -> LinuxOwnSession) {
      self.width = max(1, width)
      self.make = make
    }

    /// Calls `start` with a session, at once or when one is free. `isUnused`: the session must not have a connection to
    /// the origin.
    ///
    /// - Returns: Nil if `start` has been called. Otherwise ends the wait, without a call, if it has not ended.
    func lease(_ url: URL?, isUnused: Bool, start: @escaping Start) -> (@Sendable () -> Void)? {
      let origin = LinuxConnections.origin(of: url)
      let (lease, number) = state.withLock { state -> (Lease?, Int) in
        state.requests += 1
        let request = Waiting(number: state.requests, url: url, origin: origin, isUnused: isUnused, start: start)
        let unanswered = state.unanswered.count { $0.origin == origin }
        if unanswered < width { return (take(request, &state), request.number) }
        state.waiting.append(request)
        return (nil, request.number)
      }
      guard let lease else { return { [self] in endWait(number) } }
      start(lease)
      return nil
    }

    private func endWait(_ number: Int) {
      // Released outside the lock, with the body of the request: its deinit may end another wait.
      _ = state.withLock { state -> Waiting? in
        state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
      }
    }

    private func take(_ request: Waiting, _ state: inout State) -> Lease {
      let index = freeMember(for: request, state.members) ?? addMember(for: request.origin, &state)
      state.uses += 1
      state.members[index].lastUse = state.uses
      state.members[index].origins.append(request.origin)
      if request.url?.scheme?.lowercased() == "https" { state.members[index].hasUsedTLS = true }
      state.unanswered.append(Unanswered(number: state.uses, origin: request.origin))
      return Lease(
        owner: self, number: state.uses, origin: request.origin, session: state.members[index].session)
    }

    private func freeMember(for request: Waiting, _ members: [Member]) -> Int? {
      var unconnected: Int?
      for (index, member) in members.enumerated() where !member.origins.contains(request.origin) {
        let hasConnection = LinuxConnections.mayExist(member.session.urlSession, request.url)
        if hasConnection, !request.isUnused { return index }
        if !hasConnection, unconnected == nil { unconnected = index }
      }
      return unconnected
    }

    /// The index of a new session. Beyond the limit, it replaces an unused one, but never one that has used TLS, because
    /// releasing that can crash (swift-corelibs-foundation#5203). If there is none, the index is that of the least recently
    /// used session that runs no request to the origin. If all run one, there is one more session.
    private func addMember(for origin: NetworkOrigin, _ state: inout State) -> Int {
      if state.members.count >= Self.limit {
        if let index = leastRecentlyUsed(in: state, where: { $0.origins.isEmpty && !$0.hasUsedTLS }) {
          state.members[index].session.urlSession.finishTasksAndInvalidate()
          state.members[index] = Member(session: make())
          return index
        }
        if let index = leastRecentlyUsed(in: state, where: { !$0.origins.contains(origin) }) { return index }
      }
      state.members.append(Member(session: make()))
      return state.members.count - 1
    }

    private func leastRecentlyUsed(in state: State, where isSuitable: (Member) -> Bool) -> Int? {
      var oldest: Int?
      for (index, member) in state.members.enumerated() where isSuitable(member) {
        let isOlder = oldest.map { member.lastUse < state.members[$0].lastUse } ?? true
        if isOlder { oldest = index }
      }
      return oldest
    }

    private func release(_ lease: Lease, hasEnded: Bool) {
      let next = state.withLock { state -> (Start, Lease)? in
        if hasEnded { removeOrigin(of: lease, &state) }
        guard let answered = state.unanswered.firstIndex(where: { $0.number == lease.number }) else { return nil }
        state.unanswered.remove(at: answered)
        guard let first = state.waiting.firstIndex(where: { $0.origin == lease.origin }) else { return nil }
        let request = state.waiting.remove(at: first)
        return (request.start, take(request, &state))
      }
      // Not here: many requests that end at once would call each other, and overflow the stack.
      if let (start, lease) = next { LinuxAttempt.queue.async { start(lease) } }
    }

    private func removeOrigin(of lease: Lease, _ state: inout State) {
      guard let member = state.members.firstIndex(where: { $0.session.urlSession === lease.session.urlSession }),
        let origin = state.members[member].origins.firstIndex(of: lease.origin)
      else { return }
      state.members[member].origins.remove(at: origin)
    }

    /// Ends the sessions after their running tasks.
    func finish() {
      let members = state.withLock { $0.members }
      for member in members { member.session.urlSession.finishTasksAndInvalidate() }
    }
  }
#endif
