import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A delegate that notes what URLSession calls. It refuses each challenge, and does not let a response be cached.
final class Probe: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  private let lock = NSLock()
  private var continuation: CheckedContinuation<String, Never>?
  private var runningCalls = 0
  private var sent = ""
  // Read when no task runs.
  private(set) var received = Data()
  private(set) var mostCallsAtOnce = 0
  private(set) var challenges = 0

  /// Runs a task of URLSession itself. Returns the code of its error, and what its metrics say has been sent.
  func load(_ request: URLRequest, on session: URLSession) async -> String {
    await withCheckedContinuation { continuation in
      lock.withLock { self.continuation = continuation }
      session.dataTask(with: request).resume()
    }
  }

  func urlSession(_: URLSession, dataTask: URLSessionDataTask, didReceive chunk: Data) {
    lock.withLock {
      runningCalls += 1
      mostCallsAtOnce = max(mostCallsAtOnce, runningCalls)
    }
    // Time for another call, if there can be one.
    usleep(100)
    lock.withLock {
      runningCalls -= 1
      received += chunk
    }
  }

  func urlSession(
    _: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    lock.withLock { challenges += 1 }
    completionHandler(.cancelAuthenticationChallenge, nil)
  }

  func urlSession(
    _: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposed: CachedURLResponse,
    completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
  ) { completionHandler(nil) }

  #if !canImport(FoundationNetworking)
    func urlSession(_: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
      let started = metrics.transactionMetrics.filter { $0.requestStartDate != nil }.count
      let counts = "transactions: \(metrics.transactionMetrics.count), started: \(started)"
      lock.withLock { sent = ", \(counts), bytes: \(task.countOfBytesSent)" }
    }
  #endif

  func urlSession(_: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let (continuation, sent) = lock.withLock { (self.continuation, self.sent) }
    continuation?.resume(returning: "\((error as NSError?)?.code ?? 0)\(sent)")
  }
}
