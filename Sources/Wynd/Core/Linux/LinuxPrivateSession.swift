#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  /// A private session that carries out the requests of a session of the caller, with its configuration. No request
  /// runs on the caller's own session: a task that is created there crashes if that session has been invalidated, and
  /// its cache and its delegate queue can crash a task that is canceled.
  nonisolated struct LinuxPrivateSession: Sendable {
    /// What the requests of a private session have in common.
    nonisolated struct Kind: Sendable, Equatable {
      /// URLSession ignores the `httpShouldHandleCookies` of a request, so a request that handles none needs a session
      /// without a cookie storage.
      let handlesCookies: Bool
      /// Each request asks the server to close its connection, so none is kept that could be dead when it is used
      /// again.
      let closesConnections: Bool
      /// The chunks of a response would delay plain calls on the delegate queue, and a response that stays open
      /// occupies a connection.
      let isForTransfers: Bool
      /// Runs a single request. A server that closes the connection after its response without saying so might read the
      /// next request, or not; on a session of its own, a request is never the next one. Not over TLS: a handshake is
      /// expensive, and releasing such a session early can crash (swift-corelibs-foundation#5203).
      let isForOneRequest: Bool
    }
    private nonisolated struct Known: Sendable {
      weak var caller: URLSession?
      let kind: Kind
      let session: LinuxPrivateSession
    }
    private static let known = NetworkLock<[Known]>([])

    let urlSession: URLSession
    private let receiver = LinuxReceiver()

    /// Always the same for the same session and kind, unless it is for one request. A session for each call would need a
    /// handshake for each, and one that is released early can crash (swift-corelibs-foundation#5203).
    static func of(_ caller: URLSession, _ kind: Kind) -> LinuxPrivateSession {
      if kind.isForOneRequest { return LinuxPrivateSession(like: caller, kind) }
      return known.withLock { known in
        known.removeAll { entry in
          guard entry.caller == nil else { return false }
          // A session retains its delegate until it is invalidated.
          entry.session.urlSession.finishTasksAndInvalidate()
          return true
        }
        if let entry = known.first(where: { $0.caller === caller && $0.kind == kind }) { return entry.session }
        let session = LinuxPrivateSession(like: caller, kind)
        known.append(Known(caller: caller, kind: kind, session: session))
        return session
      }
    }

    private init(like caller: URLSession, _ kind: Kind) {
      let configuration = caller.configuration.copy() as? URLSessionConfiguration ?? .default
      // With a cache, a task that is canceled can crash, and URLSession keeps every body in memory, although it does
      // not store it.
      configuration.urlCache = nil
      if !kind.handlesCookies { configuration.httpCookieStorage = nil }
      // On the caller's queue, a completion handler is called without a detour. On one that is not serial, URLSession
      // crashes if a task is canceled while it completes.
      let isOnCallersQueue = !kind.isForTransfers && caller.delegateQueue.maxConcurrentOperationCount == 1
      let queue = isOnCallersQueue ? caller.delegateQueue : LinuxBoundedQueue()
      urlSession = URLSession(configuration: configuration, delegate: receiver, delegateQueue: queue)
    }

    /// Makes a task whose delegate handles redirects, challenges and new bodies. The delegate of the session receives
    /// the response, in chunks.
    func transferTask(with request: URLRequest, for attempt: LinuxAttempt) -> URLSessionTask {
      let task = urlSession.dataTask(with: request)
      task.delegate = attempt
      receiver.attempts.withLock { $0[task.taskIdentifier] = attempt }
      return task
    }
  }

  nonisolated private final class LinuxReceiver: NSObject, URLSessionDataDelegate, Sendable {
    let attempts = NetworkLock<[Int: LinuxAttempt]>([:])

    private func attempt(_ task: URLSessionTask) -> LinuxAttempt? { attempts.withLock { $0[task.taskIdentifier] } }

    /// Calls a closure of the transfer, unless the task sent a request before a redirect. An error ends the attempt.
    private func pass(_ task: URLSessionTask, to call: (NetworkBodies) throws -> Void) {
      guard let attempt = attempt(task), let hop = attempt.hop(of: task), let bodies = attempt.transfer else { return }
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

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      guard let attempt = attempts.withLock({ $0.removeValue(forKey: task.taskIdentifier) }),
        let hop = attempt.hop(of: task)
      else { return }
      let outcome = NetworkOutcome(data: Data(), response: task.response, error: error)
      // On another queue: a new task waits for URLSession's work queue, which may wait for this one.
      LinuxAttempt.queue.async { attempt.end(outcome, hop: hop, isFinished: true) }
    }
  }

  /// A delegate queue with room for 1,024 chunks of at most 16 KB. When it is full, URLSession waits. Otherwise every
  /// chunk that arrives faster than the disk takes it would be held in memory.
  // Unchecked, because a subclass of an unchecked class has to say so again.
  nonisolated private final class LinuxBoundedQueue: OperationQueue, @unchecked Sendable {
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
