#if canImport(FoundationNetworking)
  import Dispatch
  import Foundation
  import FoundationNetworking

  /// The tasks whose answer is taken as it comes. URLSession on Linux hands the pieces to a session's own delegate and to
  /// nobody else, so they run on a session of ours, one for each session of the caller's, with its configuration; redirects
  /// and challenges go on to his delegate.
  nonisolated final class LinuxTransfers: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private static let known = NetworkLock<[ObjectIdentifier: LinuxTransfers]>([:])

    /// The same one for the same session, as long as that lives: a session for each transfer would shake hands anew, and
    /// one that is dropped early can stop the process (swift-corelibs-foundation#5203).
    static func of(_ session: URLSession) -> LinuxTransfers {
      known.withLock { known in
        for (key, transfers) in known where transfers.caller == nil {
          known[key] = nil
          // It holds its delegate until then.
          transfers.session.finishTasksAndInvalidate()
        }
        let transfers = known[ObjectIdentifier(session)] ?? LinuxTransfers(like: session)
        known[ObjectIdentifier(session)] = transfers
        return transfers
      }
    }

    private weak var caller: URLSession?
    private(set) var session = URLSession.shared
    private let queue = BoundedQueue()
    private struct Flight {
      var attempt: LinuxAttempt
      var hop: Int
      /// Its receiver wants no more.
      var hasFailed = false
    }
    private let lock = NSLock()
    private var flights: [Int: Flight] = [:]

    private init(like caller: URLSession) {
      self.caller = caller
      super.init()
      let configuration = caller.configuration.copy() as? URLSessionConfiguration ?? .default
      // A cache would keep every body in memory, though it stores none.
      configuration.urlCache = nil
      session = URLSession(configuration: configuration, delegate: self, delegateQueue: queue)
    }

    func task(with request: URLRequest, for attempt: LinuxAttempt, hop: Int) -> URLSessionTask {
      let task = session.dataTask(with: request)
      // For a new body a session's delegate is not asked.
      task.delegate = self
      lock.withLock { flights[task.taskIdentifier] = Flight(attempt: attempt, hop: hop) }
      return task
    }

    private func flight(_ task: URLSessionTask) -> Flight? {
      lock.withLock { flights[task.taskIdentifier] }.flatMap { $0.attempt.isCurrent(task) ? $0 : nil }
    }

    /// After all that the receivers have been given, and before anything that follows.
    func afterPieces(_ work: @escaping @Sendable () -> Void) {
      queue.addAtOnce { LinuxAttempt.queue.async(execute: work) }
    }

    private func take(_ task: URLSessionTask, _ pass: (any NetworkBodyReceiver) throws(NetworkError) -> Void) {
      guard let flight = flight(task), !flight.hasFailed, let receiver = flight.attempt.transfer?.receiver else {
        return
      }
      do throws(NetworkError) { try pass(receiver) } catch {
        lock.withLock { flights[task.taskIdentifier]?.hasFailed = true }
        let attempt = flight.attempt
        if attempt.isCurrent(task) { attempt.end(NetworkOutcome(error: error)) }
      }
    }

    // MARK: Called by URLSession

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      completionHandler(.allow)
      guard let head = response as? HTTPURLResponse else { return }
      take(dataTask) { receiver throws(NetworkError) in try receiver.receive(head) }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      take(dataTask) { receiver throws(NetworkError) in try receiver.receive(data) }
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didSendBodyData _: Int64, totalBytesSent: Int64,
      totalBytesExpectedToSend _: Int64
    ) {
      take(task) { receiver in receiver.sent(totalBytesSent) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      guard let flight = lock.withLock({ flights.removeValue(forKey: task.taskIdentifier) }) else { return }
      let outcome = NetworkOutcome(data: Data(), response: task.response, error: error)
      // What follows may start a task, which waits for URLSession's work queue, which may wait for this queue.
      LinuxAttempt.queue.async { [attempt = flight.attempt, hop = flight.hop] in
        attempt.finished(outcome, hop: hop)
      }
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      guard let attempt = flight(task)?.attempt else { return }
      // The delegate of the caller's session expects to be asked on its queue.
      attempt.session.delegateQueue.addOperation {
        attempt.urlSession(
          attempt.session, task: task, willPerformHTTPRedirection: response, newRequest: request,
          completionHandler: completionHandler)
      }
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
      guard let attempt = flight(task)?.attempt else { return completionHandler(nil) }
      attempt.urlSession(session, task: task, needNewBodyStream: completionHandler)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      guard let attempt = flight(task)?.attempt else { return completionHandler(.performDefaultHandling, nil) }
      attempt.session.delegateQueue.addOperation {
        attempt.urlSession(
          attempt.session, task: task, didReceive: challenge, completionHandler: completionHandler)
      }
    }
  }

  /// A delegate queue on which URLSession has to wait when its reader is slow (a disk): without that every piece that has
  /// come lies in memory. 1,024 pieces of at most 16 KB.
  nonisolated private final class BoundedQueue: OperationQueue, @unchecked Sendable {
    private let room = DispatchSemaphore(value: 1024)

    override init() {
      super.init()
      maxConcurrentOperationCount = 1
      qualityOfService = .userInitiated
    }

    /// Waits for no room.
    func addAtOnce(_ block: @escaping @Sendable () -> Void) { super.addOperation(block) }

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
      room.wait()
      super.addOperation { [room] in
        block()
        room.signal()
      }
    }
  }
#endif
