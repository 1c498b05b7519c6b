#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  /// A session of ours with the configuration of a session of the caller, for the requests that cannot run there
  /// (``LinuxRoute``). Redirects and challenges are passed to the caller's delegate.
  nonisolated struct LinuxOwnSession: Sendable {
    private nonisolated struct Known: Sendable {
      weak var caller: URLSession?
      let handlesCookies: Bool
      let shared: LinuxOwnSession
      let exclusive: LinuxExclusiveSessions
    }
    private static let known = NetworkLock<[Known]>([])

    let urlSession: URLSession
    private let receiver = LinuxReceiver()

    /// Always the same for the same session. A session for each transfer would need a handshake for each, and one that
    /// is released early can crash (swift-corelibs-foundation#5203). URLSession ignores the `httpShouldHandleCookies` of
    /// a request, so one that is false needs a session without a cookie storage.
    static func of(_ session: URLSession, handlesCookies: Bool) -> LinuxOwnSession {
      known(session, handlesCookies).shared
    }

    /// The sessions for requests that are not safe to repeat.
    static func exclusive(_ session: URLSession, handlesCookies: Bool) -> LinuxExclusiveSessions {
      known(session, handlesCookies).exclusive
    }

    private static func known(_ session: URLSession, _ handlesCookies: Bool) -> Known {
      known.withLock { known in
        known.removeAll { entry in
          guard entry.caller == nil else { return false }
          // A session retains its delegate until it is invalidated.
          entry.shared.urlSession.finishTasksAndInvalidate()
          entry.exclusive.finish()
          return true
        }
        let entry = known.first { $0.caller === session && $0.handlesCookies == handlesCookies }
        if let entry { return entry }
        let configuration = configuration(like: session, handlesCookies)
        let make: @Sendable () -> LinuxOwnSession = { LinuxOwnSession(configuration) }
        let exclusive = LinuxExclusiveSessions(width: configuration.httpMaximumConnectionsPerHost, make)
        let new = Known(caller: session, handlesCookies: handlesCookies, shared: make(), exclusive: exclusive)
        known.append(new)
        return new
      }
    }

    private static func configuration(like caller: URLSession, _ handlesCookies: Bool) -> URLSessionConfiguration {
      let configuration = caller.configuration.copy() as? URLSessionConfiguration ?? .default
      // With a cache, URLSession keeps every body in memory, although it does not store it.
      configuration.urlCache = nil
      if !handlesCookies { configuration.httpCookieStorage = nil }
      return configuration
    }

    private init(_ configuration: URLSessionConfiguration) {
      urlSession = URLSession(configuration: configuration, delegate: receiver, delegateQueue: LinuxBoundedQueue())
    }

    func task(with request: URLRequest, for attempt: LinuxAttempt) -> URLSessionTask {
      let task = urlSession.dataTask(with: request)
      // The task's delegate handles redirects, challenges and new bodies; the session's delegate receives the response.
      task.delegate = attempt
      receiver.attempts.withLock { $0[task.taskIdentifier] = attempt }
      return task
    }
  }

  nonisolated private final class LinuxReceiver: NSObject, URLSessionDataDelegate, Sendable {
    let attempts = NetworkLock<[Int: LinuxAttempt]>([:])

    private func attempt(_ task: URLSessionTask) -> LinuxAttempt? { attempts.withLock { $0[task.taskIdentifier] } }

    /// Calls a closure of the transfer, unless the task is that of a request before a redirect. An error ends the attempt.
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
      attempt(dataTask)?.receivedHead()
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
