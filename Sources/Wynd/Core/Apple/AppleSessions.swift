#if !canImport(FoundationNetworking)
  import Foundation

  /// The sessions for attempts that begin when the caller's session may have been invalidated: one for each session of
  /// the caller, with the same configuration and delegate queue. It has no delegate of its own: the delegates of its
  /// tasks pass to that of the caller's session what it would be asked and told for a task with a completion handler.
  nonisolated struct AppleSessions: Sendable {
    private static let known = NetworkLock<[AppleSessions]>([])

    private weak var caller: URLSession?
    private let ours: URLSession

    /// Always the same for the same session, so that its connections are reused.
    static func session(for caller: URLSession) -> URLSession {
      known.withLock { known in
        known.removeAll { sessions in
          guard sessions.caller == nil else { return false }
          // Its tasks in flight still end.
          sessions.ours.finishTasksAndInvalidate()
          return true
        }
        if let sessions = known.first(where: { $0.caller === caller }) { return sessions.ours }
        let ours = URLSession(
          configuration: caller.configuration, delegate: nil, delegateQueue: caller.delegateQueue)
        known.append(AppleSessions(caller: caller, ours: ours))
        return ours
      }
    }
  }
#endif
