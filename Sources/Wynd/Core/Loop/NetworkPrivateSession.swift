import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A private session that carries out requests of a session of the app. Creating a task on the app's own session would
/// crash if that has been invalidated. It is invalidated at the first look-up after the app's session is gone.
nonisolated struct NetworkPrivateSession: Sendable {
  static let known = NetworkLock<[NetworkPrivateSession]>([])

  private weak var caller: URLSession?
  private let kind: Int
  private let urlSession: URLSession

  /// Always the same for the same session and kind, so that its connections are reused.
  static func of(_ caller: URLSession, kind: Int = 0, _ make: () -> URLSession) -> URLSession {
    known.withLock { known in
      known.removeAll { entry in
        guard entry.caller == nil else { return false }
        // Its tasks in flight still end. It retains its delegate until then.
        entry.urlSession.finishTasksAndInvalidate()
        return true
      }
      if let entry = known.first(where: { $0.caller === caller && $0.kind == kind }) { return entry.urlSession }
      let entry = NetworkPrivateSession(caller: caller, kind: kind, urlSession: make())
      known.append(entry)
      return entry.urlSession
    }
  }
}
