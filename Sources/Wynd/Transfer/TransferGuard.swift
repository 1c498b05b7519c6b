import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated extension NetworkTransferBody {
  init(file: URL? = nil, stream: (@Sendable () throws -> InputStream)? = nil, to receiver: any NetworkBodyReceiver) {
    #if canImport(FoundationNetworking)
      self.init(file: file, stream: stream, receiver: receiver)
    #else
      self.init(file: file, stream: stream, receiver: receiver) { session, request, transfer, completion in
        let delegate = TransferGuard(request, transfer, completion)
        let task: URLSessionTask
        if let file = transfer.file {
          task = session.uploadTask(with: request, fromFile: file)
        } else if transfer.stream != nil {
          task = session.uploadTask(withStreamedRequest: request)
        } else {
          task = session.dataTask(with: request)
        }
        delegate.task = task
        task.delegate = delegate
        return task
      }
    #endif
  }
}

/// Passes an answer on as it comes. Not a kind of `RedirectHandler`: what a subclass adds to a conformance that it inherits is
/// never called.
nonisolated final class TransferGuard: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  private let cargo: NetworkTransferBody
  private let redirects: RedirectHandler
  private let completion: @Sendable (NetworkOutcome) -> Void
  // Delegate methods are called one after the other.
  private var failure: (any Error)?
  private var bodies = 0
  private let isRepeatable: Bool

  init(_ request: URLRequest, _ cargo: NetworkTransferBody, _ completion: @escaping @Sendable (NetworkOutcome) -> Void)
  {
    self.cargo = cargo
    self.completion = completion
    redirects = RedirectHandler(request)
    isRepeatable = RetryPolicy.default.safety(.noResponse, RetryRequestFacts(request), RetryCallState()).isSafe
  }

  weak var task: URLSessionTask?

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    redirects.urlSession(
      session, task: task, willPerformHTTPRedirection: response, newRequest: request,
      completionHandler: completionHandler)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    guard let head = response as? HTTPURLResponse else { return completionHandler(.allow) }
    do throws(NetworkError) {
      try cargo.receiver.receive(head)
      completionHandler(.allow)
    } catch {
      failure = error
      completionHandler(.cancel)
    }
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    guard failure == nil else { return }
    do throws(NetworkError) { try cargo.receiver.receive(data) } catch {
      failure = error
      dataTask.cancel()
    }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    cargo.receiver.sent(totalBytesSent)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) {
    // URLSession sends again by itself what it takes for recoverable: of what is not safe to repeat, there is one body.
    guard bodies == 0 || redirects.hasFollowed || isRepeatable else { return completionHandler(nil) }
    bodies += 1
    // The same stream again would abort the process.
    do { completionHandler(try cargo.stream?()) } catch {
      failure = NetworkError.transferFailed(error)
      completionHandler(nil)
    }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    completion(
      NetworkOutcome(
        data: Data(), response: task.response, error: failure ?? error, hasFollowedRedirect: redirects.hasFollowed,
        mayHaveSent: self.task?.countOfBytesSent ?? 0 > 0))
  }
}
