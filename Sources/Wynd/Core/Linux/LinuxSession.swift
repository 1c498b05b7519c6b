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

  /// The delegate of a private session. It receives the responses of transfers, in chunks. Everything else goes to the
  /// delegate of the task, which is the attempt.
  nonisolated final class LinuxReceiver: NSObject, URLSessionDataDelegate, Sendable {
    /// Calls a closure of the transfer, unless the task sent a request before a redirect. An error ends the attempt.
    private func pass(_ task: URLSessionTask, to call: (NetworkBodies) throws -> Void) {
      guard let attempt = task.delegate as? LinuxAttempt, let hop = attempt.hop(of: task),
        let bodies = attempt.outgoing.bodies
      else { return }
      do { try call(bodies) } catch { attempt.end(NetworkOutcome(error: error), hop: hop) }
    }

    // MARK: Called by URLSession

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      completionHandler(.allow)
      // URLSession reports an interim response too.
      guard let head = response as? HTTPURLResponse, head.statusCode >= 200 else { return }
      pass(dataTask) { try $0.onHead(head) }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      pass(dataTask) { try $0.onData(data) }
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didSendBodyData _: Int64, totalBytesSent: Int64,
      totalBytesExpectedToSend _: Int64
    ) {
      pass(task) { $0.onSent(totalBytesSent) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Swift.Error)?) {
      guard let attempt = task.delegate as? LinuxAttempt, let hop = attempt.hop(of: task) else { return }
      let outcome = NetworkOutcome(data: Data(), response: task.response, error: error)
      // On another queue: a new task waits for URLSession's work queue, which may wait for this one.
      LinuxAttempt.queue.async { attempt.end(outcome, hop: hop, isFinished: true) }
    }
  }

  /// A delegate queue with room for 1,024 chunks of at most 16 KB. When it is full, URLSession waits. Otherwise every
  /// chunk that arrives faster than the disk takes it would be held in memory.
  // Unchecked, because a subclass of an unchecked class has to say so again.
  nonisolated final class LinuxBoundedQueue: OperationQueue, @unchecked Sendable {
    private let room = DispatchSemaphore(value: 1024)

    override init() {
      super.init()
      maxConcurrentOperationCount = 1
      qualityOfService = .userInitiated
    }

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
      room.wait()
      super.addOperation { [room] in
        block()
        room.signal()
      }
    }
  }
#endif
