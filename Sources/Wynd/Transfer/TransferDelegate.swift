/// The delegate of a transfer's task on Apple's platforms, which passes on the response as it arrives. URLSession calls
/// the methods for one task serially, even on a concurrent delegate queue. It is not a subclass of `RedirectHandler`,
/// because methods that a subclass adds to an inherited conformance are never called.
nonisolated final class TransferDelegate: NSObject, URLSessionDataDelegate, Sendable {
  /// `mayBeSent`: whether the next body is the first one, or follows a challenge. `sent`: the number of bytes that were
  /// sent of the latest body.
  private let state = NetworkLock<(failure: (any Error)?, mayBeSent: Bool, sent: Int64)>((nil, true, 0))
  private let transfer: StreamedBodies
  private let redirects: RedirectHandler
  private let isRepeatable: Bool
  private let completion: NetworkTransport.Completion

  @Sendable static func makeTask(
    in session: URLSession, _ request: URLRequest, _ transfer: StreamedBodies,
    _ completion: @escaping NetworkTransport.Completion
  ) -> URLSessionTask {
    let task: URLSessionTask =
      switch (transfer.file, transfer.stream) {
      case (let file?, _): session.uploadTask(with: request, fromFile: file)
      case (nil, nil): session.dataTask(with: request)
      default: session.uploadTask(withStreamedRequest: request)
      }
    task.delegate = TransferDelegate(request, transfer, completion)
    return task
  }

  init(_ request: URLRequest, _ transfer: StreamedBodies, _ completion: @escaping NetworkTransport.Completion) {
    (self.transfer, self.completion) = (transfer, completion)
    redirects = RedirectHandler(request)
    isRepeatable = RetryPolicy.default.safety(.noResponse, request, RetryCallState()).isSafe
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    redirects.urlSession(
      session, task: task, willPerformHTTPRedirection: response, newRequest: request,
      completionHandler: completionHandler)
  }

  /// Forwards the challenge to the session's delegate, as without this method, and records that a request was rejected.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    if challenge.failureResponse != nil { state.withLock { $0.mayBeSent = true } }
    let ask = (session.delegate as? any URLSessionTaskDelegate)?.urlSession(_:task:didReceive:completionHandler:)
    guard let ask else { return completionHandler(.performDefaultHandling, nil) }
    ask(session, task, challenge, completionHandler)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    guard let head = response as? HTTPURLResponse else { return completionHandler(.allow) }
    completionHandler(passes { try transfer.onHead(head) } ? .allow : .cancel)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    if state.withLock({ $0.failure == nil }), !passes({ try transfer.onData(data) }) { dataTask.cancel() }
  }

  private func passes(_ pass: () throws -> Void) -> Bool {
    do { try pass() } catch { state.withLock { $0.failure = error } }
    return state.withLock { $0.failure == nil }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    transfer.onSent(totalBytesSent)
    // URLSession trusts a Content-Length: the server would read the rest of a longer stream as the next request.
    let sent = state.withLock { state in
      state.sent += bytesSent
      return state.sent
    }
    let isTooLong = transfer.stream != nil && 0..<sent ~= totalBytesExpectedToSend
    if !passes({ if isTooLong { throw URLError(.dataLengthExceedsMaximum) } }) { task.cancel() }
  }

  /// URLSession repeats some requests on its own. If the request is not safe to repeat, a further body is provided only
  /// after a redirect or an authentication challenge.
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) {
    let mayBeSent = state.withLock { state in
      defer { (state.mayBeSent, state.sent) = (false, 0) }
      return state.mayBeSent
    }
    guard mayBeSent || redirects.hasFollowed || isRepeatable else { return completionHandler(nil) }
    // Passing the same stream again would crash.
    do { completionHandler(try transfer.stream?()) } catch {
      state.withLock { $0.failure = NetworkError.transferFailed(error) }
      completionHandler(nil)
    }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    completion(
      NetworkOutcome(
        data: Data(), response: task.response, error: state.withLock { $0.failure } ?? error,
        hasFollowedRedirect: redirects.hasFollowed, mayHaveSent: task.countOfBytesSent > 0))
  }
}
