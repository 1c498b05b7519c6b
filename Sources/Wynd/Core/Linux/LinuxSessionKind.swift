#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  /// What the requests of a private session have in common. None runs on the caller's own session, whose cache and
  /// delegate queue can crash a task that is canceled.
  nonisolated struct LinuxSessionKind: OptionSet, Sendable {
    let rawValue: Int
    /// URLSession ignores the `httpShouldHandleCookies` of a request, so a request that handles none needs a session
    /// without a cookie storage.
    static let handlesNoCookies = Self(rawValue: 1)
    /// Each request asks the server to close its connection, so none is kept that could be dead when it is used again.
    static let closesConnections = Self(rawValue: 2)
    /// The chunks of a response would delay plain calls on the delegate queue, and a response that stays open occupies
    /// a connection.
    static let isForTransfers = Self(rawValue: 4)
  }

  nonisolated extension LinuxSessionKind {
    /// The kind for a request that is prepared.
    init(for request: URLRequest, _ outgoing: NetworkOutgoing, isRepeatable: Bool) {
      self = []
      if !isRepeatable, request.needsNewConnection { insert(.closesConnections) }
      if !outgoing.request.httpShouldHandleCookies { insert(.handlesNoCookies) }
      if outgoing.bodies != nil { insert(.isForTransfers) }
    }

    /// Whether the request has a session of its own. Not over TLS, where a connection is expensive, unless no body shows
    /// whether libcurl has sent the request before.
    func isAlone(_ request: URLRequest) -> Bool {
      let isWorthIt = request.url?.scheme?.lowercased() == "http" || ["GET", "HEAD"].contains(request.networkMethod)
      return contains(.closesConnections) && isWorthIt
    }

    /// Always the same for the same session. One for each call would need a handshake for each, and one that is
    /// released early can crash (swift-corelibs-foundation#5203).
    func sharedSession(of caller: URLSession) -> URLSession {
      NetworkPrivateSession.of(caller, kind: rawValue) { makeSession(like: caller) }
    }

    func makeSession(like caller: URLSession) -> URLSession {
      let configuration = caller.configuration.copy() as? URLSessionConfiguration ?? .default
      // With a cache, a task that is canceled can crash, and URLSession keeps every body in memory, although it does
      // not store it.
      configuration.urlCache = nil
      if contains(.handlesNoCookies) { configuration.httpCookieStorage = nil }
      // On the caller's queue, a completion handler is called without a detour. On one that is not serial, URLSession
      // crashes if a task is canceled while it completes.
      let isOnCallersQueue = !contains(.isForTransfers) && caller.delegateQueue.maxConcurrentOperationCount == 1
      let queue = isOnCallersQueue ? caller.delegateQueue : LinuxBoundedQueue()
      return URLSession(configuration: configuration, delegate: LinuxReceiver(), delegateQueue: queue)
    }
  }
#endif
