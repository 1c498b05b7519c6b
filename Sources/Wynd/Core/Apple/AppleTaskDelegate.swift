#if !canImport(FoundationNetworking)
  import Foundation

  /// The delegate of a task on a private session, or of a task with a body stream on the caller's session. It receives
  /// the response. Other calls are passed to the delegate of the caller's session, with that session as argument.
  /// URLSession calls the methods for one task serially, even on a concurrent delegate queue.
  nonisolated final class AppleTaskDelegate: NSObject, URLSessionDataDelegate, Sendable {
    private struct State: Sendable {
      /// The body of the response, unless the closures of a transfer receive it.
      var data = Data()
      /// The error of such a closure, or of the body of the request. It becomes the error of the attempt.
      var failure: (any Error)?
      /// Whether the next body that URLSession asks for is not for a repetition of its own: it is the first body of an
      /// upload, or follows a challenge or a redirect. URLSession does not ask for the first body of an
      /// `httpBodyStream`.
      var mayProvideBody: Bool
      /// The number of bytes that were sent of the latest body.
      var bytesSent = Int64(0)
    }
    private let state: NetworkLock<State>
    private let bodies: NetworkBodies?
    private let sendsStream: Bool
    private let isRepeatable: Bool
    private let redirects: AppleRedirectHandler
    private let caller: URLSession
    private let callersDelegate: (any URLSessionDelegate)?
    private let completion: NetworkAttemptCompletion

    init(
      _ outgoing: NetworkOutgoing, for caller: URLSession, _ callersDelegate: (any URLSessionDelegate)?,
      _ completion: NetworkAttemptCompletion
    ) {
      bodies = outgoing.bodies
      state = NetworkLock(State(mayProvideBody: outgoing.bodies?.stream != nil))
      sendsStream = outgoing.bodies?.stream != nil || outgoing.request.httpBodyStream != nil
      isRepeatable = outgoing.isSafeToRepeat
      redirects = AppleRedirectHandler(outgoing, callersDelegate)
      self.caller = caller
      self.callersDelegate = callersDelegate
      self.completion = completion
    }

    // Below, `asked` is nil if there is no delegate, or if it does not implement the method.
    private var taskDelegate: (any URLSessionTaskDelegate)? { callersDelegate as? any URLSessionTaskDelegate }

    // MARK: The response

    func urlSession(
      _: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      state.withLock { $0.data = Data() }
      guard let head = response as? HTTPURLResponse else { return completionHandler(.allow) }
      keepError { try bodies?.onHead(head) }
      completionHandler(hasFailed ? .cancel : .allow)
    }

    func urlSession(_: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      guard let bodies else { return state.withLock { $0.data += data } }
      if hasFailed { return }
      keepError { try bodies.onData(data) }
      if hasFailed { dataTask.cancel() }
    }

    private var hasFailed: Bool { state.withLock { $0.failure != nil } }

    /// Calls a closure of the transfer, and keeps its error.
    private func keepError(_ call: () throws -> Void) {
      do { try call() } catch { state.withLock { $0.failure = error } }
    }

    func urlSession(_: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      let (data, failure) = state.withLock { ($0.data, $0.failure) }
      var outcome = NetworkOutcome(data: data, response: task.response, error: failure ?? error)
      outcome.note(mayHaveSent: redirects.mayHaveSent(task), hasFollowedRedirect: redirects.hasFollowed)
      completion.end(outcome)
    }

    // MARK: The body of the request

    func urlSession(
      _: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
      totalBytesExpectedToSend: Int64
    ) {
      taskDelegate?.urlSession?(
        caller, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
        totalBytesExpectedToSend: totalBytesExpectedToSend)
      bodies?.onSent(totalBytesSent)
      // URLSession trusts a Content-Length: the server would read the rest of a longer stream as the next request.
      let sent = state.withLock { state in
        state.bytesSent += bytesSent
        return state.bytesSent
      }
      let isLengthKnown = sendsStream && totalBytesExpectedToSend >= 0
      if isLengthKnown, sent > totalBytesExpectedToSend {
        state.withLock { $0.failure = URLError(.dataLengthExceedsMaximum) }
        task.cancel()
      }
    }

    /// URLSession repeats some requests on its own. If the request is not safe to repeat, a further body is provided
    /// only after a redirect or an authentication challenge.
    func urlSession(
      _: URLSession, task: URLSessionTask,
      needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
      let mayProvideBody = state.withLock { state in
        let mayProvideBody = state.mayProvideBody
        state.mayProvideBody = false
        state.bytesSent = 0
        return mayProvideBody
      }
      guard mayProvideBody || isRepeatable else { return completionHandler(nil) }
      guard let makeStream = bodies?.stream else {
        let asked: Void? = taskDelegate?.urlSession?(caller, task: task, needNewBodyStream: completionHandler)
        if asked == nil { completionHandler(nil) }
        return
      }
      // Passing the same stream again would crash.
      do { completionHandler(try makeStream()) } catch {
        state.withLock { $0.failure = NetworkError.transferFailed(error) }
        completionHandler(nil)
      }
    }

    // MARK: Passed to the delegate of the caller's session

    func urlSession(
      _: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      state.withLock { $0.mayProvideBody = true }
      redirects.urlSession(
        caller, task: task, willPerformHTTPRedirection: response, newRequest: request,
        completionHandler: completionHandler)
    }

    func urlSession(
      _: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      // The request was rejected, and may be sent again with a credential.
      if challenge.failureResponse != nil { state.withLock { $0.mayProvideBody = true } }
      // As with URLSession, a challenge of the connection goes to the method of the session first.
      if challenge.isOfConnection {
        let asked: Void? = callersDelegate?.urlSession?(
          caller, didReceive: challenge, completionHandler: completionHandler)
        if asked != nil { return }
      }
      let asked: Void? = taskDelegate?.urlSession?(
        caller, task: task, didReceive: challenge, completionHandler: completionHandler)
      if asked == nil { completionHandler(.performDefaultHandling, nil) }
    }

    func urlSession(_: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
      taskDelegate?.urlSession?(caller, taskIsWaitingForConnectivity: task)
    }

    func urlSession(
      _: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
      completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
      let asked: Void? = taskDelegate?.urlSession?(
        caller, task: task, willBeginDelayedRequest: request, completionHandler: completionHandler)
      if asked == nil { completionHandler(.continueLoading, nil) }
    }

    func urlSession(_: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
      redirects.urlSession(caller, task: task, didFinishCollecting: metrics)
    }
  }

  nonisolated extension URLAuthenticationChallenge {
    /// Whether the connection is challenged, not the request (Apple: Handling an authentication challenge).
    fileprivate var isOfConnection: Bool {
      let methods = [
        NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate,
        NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
      ]
      return methods.contains(protectionSpace.authenticationMethod)
    }
  }
#endif
