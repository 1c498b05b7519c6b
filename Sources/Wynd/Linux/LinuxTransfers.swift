#if canImport(FoundationNetworking)
  import Dispatch
  import Foundation
  import FoundationNetworking

  /// The tasks whose response is received in chunks. URLSession on Linux hands the chunks to a session's own delegate and to
  /// nobody else, so they run on a session of ours, one for each session of the caller's, with its configuration; redirects
  /// and challenges go on to its delegate.
  nonisolated struct LinuxTransfers: Sendable {
    private static let known = NetworkLock<[LinuxTransfers]>([])

    private weak var caller: URLSession?
    let session: URLSession
    private let queue = BoundedQueue()
    private let receiver = LinuxReceiver()

    /// The same one for the same session, as long as that lives: a session for each transfer would shake hands anew, and
    /// one that is dropped early can stop the process (swift-corelibs-foundation#5203).
    static func of(_ session: URLSession) -> LinuxTransfers {
      known.withLock { known in
        known.removeAll { transfers in
          guard transfers.caller == nil else { return false }
          // It holds its delegate until then.
          transfers.session.finishTasksAndInvalidate()
          return true
        }
        if let transfers = known.first(where: { $0.caller === session }) { return transfers }
        let transfers = LinuxTransfers(like: session)
        known.append(transfers)
        return transfers
      }
    }

    private init(like caller: URLSession) {
      self.caller = caller
      let configuration = caller.configuration.copy() as? URLSessionConfiguration ?? .default
      // A cache would keep every body in memory, though it stores none.
      configuration.urlCache = nil
      session = URLSession(configuration: configuration, delegate: receiver, delegateQueue: queue)
    }

    func task(with request: URLRequest, for attempt: LinuxAttempt) -> URLSessionTask {
      let task = session.dataTask(with: request)
      // It is asked about redirects, challenges and new bodies; what is received goes to the delegate of the session.
      task.delegate = attempt
      receiver.attempts.withLock { $0[task.taskIdentifier] = attempt }
      return task
    }

    /// After all chunks that have been received, and before anything that follows.
    func afterChunks(_ work: @escaping @Sendable () -> Void) {
      queue.addAtOnce { LinuxAttempt.queue.async(execute: work) }
    }
  }

  nonisolated private final class LinuxReceiver: NSObject, URLSessionDataDelegate, Sendable {
    let attempts = NetworkLock<[Int: LinuxAttempt]>([:])

    private func attempt(_ task: URLSessionTask) -> LinuxAttempt? { attempts.withLock { $0[task.taskIdentifier] } }

    private func pass(_ task: URLSessionTask, _ pass: (NetworkTransferBody) throws -> Void) {
      guard let owner = attempt(task), let hop = owner.hop(of: task), let body = owner.transfer else { return }
      do { try pass(body) } catch { owner.end(NetworkOutcome(error: error), hop: hop) }
    }

    // MARK: Called by URLSession

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      completionHandler(.allow)
      guard let head = response as? HTTPURLResponse else { return }
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
      // What follows may start a task, which waits for URLSession's work queue, which may wait for this queue.
      LinuxAttempt.queue.async { attempt.end(outcome, hop: hop, isFinished: true) }
    }
  }

  /// A delegate queue on which URLSession has to wait when its reader is slow (a disk): without that every chunk that has
  /// come is in memory. 1,024 chunks of at most 16 KB.
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
