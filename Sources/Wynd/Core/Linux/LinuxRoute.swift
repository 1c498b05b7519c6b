#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  /// The session that runs a request.
  nonisolated enum LinuxRoute {
    /// The caller's session.
    case callersSession
    /// The session of ours that all calls on the caller's session share.
    case ourSession
    /// A session of ours that runs no other request to the same origin meanwhile.
    case exclusiveSession

    /// The route of the first request of an attempt.
    static func first(_ outgoing: NetworkOutgoing, on session: URLSession) -> Self {
      // libcurl could send it twice on its own.
      if !outgoing.isSafeToRepeat { return .exclusiveSession }
      // The app may have invalidated its session since, and creating a task on it would crash.
      if !outgoing.isInsideCall { return .ourSession }
      // URLSession passes the chunks of a response to the delegate of a session only.
      if outgoing.bodies != nil { return .ourSession }
      // URLSession ignores this property of a request.
      if !outgoing.request.httpShouldHandleCookies { return .ourSession }
      // On a queue that is not serial, URLSession crashes if a task is canceled while it completes.
      if session.delegateQueue.maxConcurrentOperationCount != 1 { return .ourSession }
      return .callersSession
    }

    /// The route of a request after a redirect, by which time the app may have invalidated its session.
    static func afterRedirect(_ request: URLRequest, isReadOnly: Bool) -> Self {
      isReadOnly || RepeatSafety.regardlessOfFailure(request) != nil ? .ourSession : .exclusiveSession
    }
  }
#endif
