#if !canImport(FoundationNetworking)
  import Foundation

  /// The delegate of a task. It receives the response, and rewrites the requests of redirects. Other calls are passed
  /// to the delegate of the caller's session, with that session as argument.
  // Unchecked: URLSession calls the methods for one task serially, even on a concurrent delegate queue. What the app's
  // delegate may decide on any thread has a lock.
  nonisolated final class AppleTaskDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    /// The whole body of the response, without a limit of its size, unless the closures of a transfer receive it.
    private var data = Data()
    /// The error of such a closure, or of the body of the request. It becomes the error of the attempt.
    private var failure: (any Swift.Error)?
    /// Whether the app may provide the next body. False: URLSession is repeating the request on its own. True for the
    /// first body of an upload, and after a challenge or a redirect. URLSession does not ask for the first body of an
    /// `httpBodyStream`.
    private var mayProvideBody: Bool
    /// The number of bytes that were sent of the latest body.
    private var bytesSent = Int64(0)
    private struct Redirected: Sendable {
      /// The request after the latest redirect.
      var request: URLRequest
      var hasFollowed = false
    }
    private let redirected: NetworkLock<Redirected>
    private var metrics: URLSessionTaskMetrics?
    private let outgoing: NetworkOutgoing
    private var bodies: NetworkBodies? { outgoing.bodies }
    private let caller: URLSession
    private let callersDelegate: (any URLSessionDelegate)?
    private let completion: NetworkAttemptCompletion

    init(
      _ outgoing: NetworkOutgoing, for caller: URLSession, _ callersDelegate: (any URLSessionDelegate)?,
      _ completion: NetworkAttemptCompletion
    ) {
      self.outgoing = outgoing
      mayProvideBody = outgoing.bodies?.stream != nil
      redirected = NetworkLock(Redirected(request: outgoing.request))
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
      data = Data()
      guard let head = response as? HTTPURLResponse else { return completionHandler(.allow) }
      do { try bodies?.onHead(head) } catch { failure = error }
      completionHandler(failure == nil ? .allow : .cancel)
    }

    func urlSession(_: URLSession, dataTask: URLSessionDataTask, didReceive chunk: Data) {
      guard let bodies else { return data += chunk }
      if failure != nil { return }
      do { try bodies.onData(chunk) } catch {
        failure = error
        dataTask.cancel()
      }
    }

    func urlSession(_: URLSession, task: URLSessionTask, didCompleteWithError error: (any Swift.Error)?) {
      var outcome = NetworkOutcome(data: data, response: task.response, error: failure ?? error)
      // `countOfBytesSent` does not count the header fields, with which a request without a body is complete. An error
      // such as `.notConnectedToInternet` can follow them.
      let mayHaveSent = task.countOfBytesSent > 0 || metrics?.networkHasSentRequest ?? true
      outcome.note(mayHaveSent: mayHaveSent, hasFollowedRedirect: redirected.withLock { $0.hasFollowed })
      completion.end(outcome)
    }

    func urlSession(_: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
      self.metrics = metrics
      outgoing.metrics?.withLock { $0 = metrics }
      taskDelegate?.urlSession?(caller, task: task, didFinishCollecting: metrics)
    }

    // MARK: The body of the request

    func urlSession(
      _: URLSession, task: URLSessionTask, didSendBodyData count: Int64, totalBytesSent: Int64,
      totalBytesExpectedToSend: Int64
    ) {
      taskDelegate?.urlSession?(
        caller, task: task, didSendBodyData: count, totalBytesSent: totalBytesSent,
        totalBytesExpectedToSend: totalBytesExpectedToSend)
      bodies?.onSent(totalBytesSent)
      // URLSession trusts a Content-Length: the server would read the rest of a longer stream as the next request.
      bytesSent += count
      let sendsStream = bodies?.stream != nil || outgoing.request.httpBodyStream != nil
      let isLengthKnown = sendsStream && totalBytesExpectedToSend >= 0
      if isLengthKnown, bytesSent > totalBytesExpectedToSend {
        failure = URLError(.dataLengthExceedsMaximum)
        task.cancel()
      }
    }

    /// URLSession repeats some requests on its own. If the request is not safe to repeat, a further body is provided
    /// only after a redirect or an authentication challenge.
    func urlSession(
      _: URLSession, task: URLSessionTask,
      needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
      defer { mayProvideBody = false }
      bytesSent = 0
      guard mayProvideBody || outgoing.isSafeToRepeat else { return completionHandler(nil) }
      guard let makeStream = bodies?.stream else {
        let asked: Void? = taskDelegate?.urlSession?(caller, task: task, needNewBodyStream: completionHandler)
        if asked == nil { completionHandler(nil) }
        return
      }
      // Passing the same stream again would crash.
      do { completionHandler(try makeStream()) } catch {
        failure = NetworkError.generalError(error)
        completionHandler(nil)
      }
    }

    // MARK: Passed to the delegate of the caller's session

    func urlSession(
      _: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest proposed: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      mayProvideBody = true
      let next = NetworkRedirect.request(
        proposed, after: redirected.withLock { $0.request },
        additional: NetworkHeaders(caller.configuration.httpAdditionalHeaders),
        secretFields: outgoing.secretFields)
      let follow: @Sendable (URLRequest?) -> Void = { [redirected] chosen in
        if let chosen { redirected.withLock { $0 = Redirected(request: chosen, hasFollowed: true) } }
        completionHandler(chosen)
      }
      let asked: Void? = taskDelegate?.urlSession?(
        caller, task: task, willPerformHTTPRedirection: response, newRequest: next, completionHandler: follow)
      if asked == nil { follow(next) }
    }

    func urlSession(
      _: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      // The request was rejected, and may be sent again with a credential.
      if challenge.failureResponse != nil { mayProvideBody = true }
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
  }

  nonisolated extension URLSessionTaskMetrics {
    /// Whether URLSession had a connection, and started to send the header fields of a request on it.
    fileprivate var networkHasSentRequest: Bool { transactionMetrics.contains { $0.requestStartDate != nil } }
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
