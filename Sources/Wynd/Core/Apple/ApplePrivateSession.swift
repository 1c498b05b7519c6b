#if !canImport(FoundationNetworking)
  import Foundation

  /// A private session for each session of the caller, with the same configuration and delegate queue. It has no
  /// delegate of its own. The delegates of its tasks call the delegate of the caller's session as URLSession would for
  /// a task with a completion handler.
  nonisolated struct ApplePrivateSession: Sendable {
    private static let known = NetworkLock<[ApplePrivateSession]>([])

    private weak var caller: URLSession?
    private let urlSession: URLSession

    /// Always the same for the same session, so that its connections are reused.
    static func of(_ caller: URLSession) -> URLSession {
      known.withLock { known in
        known.removeAll { entry in
          guard entry.caller == nil else { return false }
          // Its tasks in flight still end.
          entry.urlSession.finishTasksAndInvalidate()
          return true
        }
        if let entry = known.first(where: { $0.caller === caller }) { return entry.urlSession }
        let urlSession = URLSession(
          configuration: caller.configuration, delegate: nil, delegateQueue: caller.delegateQueue)
        known.append(ApplePrivateSession(caller: caller, urlSession: urlSession))
        return urlSession
      }
    }
  }
#endif
