#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

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
#endif
