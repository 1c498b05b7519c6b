#if !canImport(FoundationNetworking)
  import Foundation

  /// The delegate of a task. It receives the response, and rewrites the requests of redirects.
  ///
  /// The delegate of the caller's session is asked about, or told of, the same as for a task of its own with a completion
  /// handler: redirects, challenges, new body streams, what goes into the `URLCache`, sent bytes, waiting for
  /// connectivity, metrics, and the task itself (`didCreateTask`, from AppleAttempt). It gets neither the response nor
  /// the end of the task.
  nonisolated final class AppleTaskDelegate: NSObject, URLSessionDataDelegate, Sendable {
    private struct State: Sendable {
      /// The whole body of the response, without a limit of its size, unless the closures of a transfer receive it.
      var data = Data()
      /// The error of such a closure, or of the body of the request, or why the delegate has refused a challenge. It
      /// becomes the error of the attempt.
      var failure: (any Swift.Error)?
      /// Whether the app may provide the next body. False: URLSession is repeating the request on its own. True for the
      /// first body of an upload, and after a challenge or a redirect. URLSession does not ask for the first body of an
      /// `httpBodyStream`.
      var mayProvideBody: Bool
      /// The number of bytes that were sent of the latest body.
      var bytesSent = Int64(0)
      /// The request after the latest redirect.
      var request: URLRequest
      var hasFollowedRedirect = false
      /// Whether URLSession had a connection, and started to send the header fields of a request on it. Without metrics,
      /// it may have.
      var hasSentRequest = true
      /// Whether the connection of the last request ended during its TLS handshake.
      var isInHandshake = false
    }
    /// A lock, because the app's delegate may decide on any thread, and because a delegate queue may be concurrent:
    /// Apple's documents do not say that the calls for one task are serial then.
    private let state: NetworkLock<State>
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
      state = NetworkLock(State(mayProvideBody: outgoing.bodies?.stream != nil, request: outgoing.request))
      self.caller = caller
      self.callersDelegate = callersDelegate
      self.completion = completion
    }

    // Below, `asked` is nil if there is no delegate, or if it does not implement the method.
    private var taskDelegate: (any URLSessionTaskDelegate)? { callersDelegate as? any URLSessionTaskDelegate }

    private func fail(_ error: any Swift.Error) { state.withLock { $0.failure = error } }

    // MARK: The response

    func urlSession(
      _: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      state.withLock { $0.data = Data() }
      guard let head = response as? HTTPURLResponse else { return completionHandler(.allow) }
      do {
        try bodies?.onHead(head)
        completionHandler(.allow)
      } catch {
        fail(error)
        completionHandler(.cancel)
      }
    }

    func urlSession(_: URLSession, dataTask: URLSessionDataTask, didReceive chunk: Data) {
      guard let bodies else { return state.withLock { $0.data += chunk } }
      if state.withLock({ $0.failure != nil }) { return }
      do { try bodies.onData(chunk) } catch {
        fail(error)
        dataTask.cancel()
      }
    }

    /// With ``NetworkOutgoing/bypassesURLCache``, nothing is stored. Otherwise the app's delegate decides, as with a task
    /// of its own: it may keep private data off the disk.
    func urlSession(
      _: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposed: CachedURLResponse,
      completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
      if outgoing.bypassesURLCache { return completionHandler(nil) }
      let asked: Void? = (callersDelegate as? any URLSessionDataDelegate)?.urlSession?(
        caller, dataTask: dataTask, willCacheResponse: proposed, completionHandler: completionHandler)
      if asked == nil { completionHandler(proposed) }
    }

    func urlSession(_: URLSession, task: URLSessionTask, didCompleteWithError error: (any Swift.Error)?) {
      let ended = state.withLock { $0 }
      var outcome = NetworkOutcome(data: ended.data, response: task.response, error: ended.failure ?? error)
      // On its own session, the app's delegate is asked about the certificate without this one.
      if ended.failure == nil, ended.isInHandshake, callersDelegate != nil, (error as? URLError)?.code == .cancelled {
        outcome.error = URLError(.serverCertificateUntrusted)
      }
      // `countOfBytesSent` does not count the header fields, with which a request without a body is complete. An error
      // such as `.notConnectedToInternet` can follow them.
      let mayHaveSent = task.countOfBytesSent > 0 || ended.hasSentRequest
      outcome.note(mayHaveSent: mayHaveSent, hasFollowedRedirect: ended.hasFollowedRedirect)
      completion.end(outcome)
    }

    func urlSession(_: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
      // Read here only: the transactions have been seen to be gone later.
      let transactions = metrics.transactionMetrics
      let hasSentRequest = transactions.isEmpty || transactions.contains { $0.requestStartDate != nil }
      let last = transactions.last
      let isInHandshake = last?.secureConnectionStartDate != nil && last?.secureConnectionEndDate == nil
      state.withLock { state in
        state.hasSentRequest = hasSentRequest
        state.isInHandshake = isInHandshake
      }
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
      let bytesSent = state.withLock { state in
        state.bytesSent += count
        return state.bytesSent
      }
      let sendsStream = bodies?.stream != nil || outgoing.request.httpBodyStream != nil
      let isLengthKnown = sendsStream && totalBytesExpectedToSend >= 0
      if isLengthKnown, bytesSent > totalBytesExpectedToSend {
        fail(URLError(.dataLengthExceedsMaximum))
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
        defer { state.mayProvideBody = false }
        state.bytesSent = 0
        return state.mayProvideBody
      }
      guard mayProvideBody || outgoing.isSafeToRepeat else { return completionHandler(nil) }
      guard let makeStream = bodies?.stream else {
        let asked: Void? = taskDelegate?.urlSession?(caller, task: task, needNewBodyStream: completionHandler)
        if asked == nil { completionHandler(nil) }
        return
      }
      // Passing the same stream again would crash.
      do { completionHandler(try makeStream()) } catch {
        fail(NetworkError.generalError(error))
        completionHandler(nil)
      }
    }

    // MARK: Passed to the delegate of the caller's session

    func urlSession(
      _: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest proposed: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      let previous = state.withLock { state in
        state.mayProvideBody = true
        return state.request
      }
      let hasOtherBody = bodies?.file != nil || bodies?.stream != nil
      guard let kept = proposed.keepingMethod(of: previous, after: response, hasOtherBody: hasOtherBody) else {
        return completionHandler(nil)
      }
      let next = NetworkRedirect.request(
        kept, after: previous, additional: NetworkHeaders(caller.configuration.httpAdditionalHeaders),
        secretFields: outgoing.secretFields)
      let follow: @Sendable (URLRequest?) -> Void = { [state] chosen in
        if let chosen {
          state.withLock { state in
            state.request = chosen
            state.hasFollowedRedirect = true
          }
        }
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
      if challenge.failureResponse != nil { state.withLock { $0.mayProvideBody = true } }
      let decide: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void = {
        [self] choice, credential in
        // URLSession reports it as a cancellation, but the caller has not canceled anything.
        if choice == .cancelAuthenticationChallenge { fail(URLError(challenge.codeOfRefusal)) }
        completionHandler(choice, credential)
      }
      // As with URLSession, a challenge of the connection goes to the method of the session first.
      if challenge.isOfConnection {
        let asked: Void? = callersDelegate?.urlSession?(caller, didReceive: challenge, completionHandler: decide)
        if asked != nil { return }
      }
      let asked: Void? = taskDelegate?.urlSession?(
        caller, task: task, didReceive: challenge, completionHandler: decide)
      if asked == nil { completionHandler(.performDefaultHandling, nil) }
    }

    func urlSession(_: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
      taskDelegate?.urlSession?(caller, taskIsWaitingForConnectivity: task)
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

    /// What it means that the app's delegate cancels the challenge.
    fileprivate var codeOfRefusal: URLError.Code {
      switch protectionSpace.authenticationMethod {
      case NSURLAuthenticationMethodServerTrust: .serverCertificateUntrusted
      case NSURLAuthenticationMethodClientCertificate: .clientCertificateRequired
      default: .userCancelledAuthentication
      }
    }
  }

  nonisolated extension URLRequest {
    /// The request after a redirect. URLSession makes a GET of PUT, PATCH and DELETE after 301 and 302, which then seems
    /// to succeed. They keep their method and body, as on Linux. Nil if the body is not in memory: the redirect is the
    /// result then.
    func keepingMethod(
      of previous: URLRequest, after response: HTTPURLResponse, hasOtherBody: Bool
    ) -> URLRequest? {
      let isMoved = [301, 302].contains(response.statusCode)
      guard isMoved, ["PUT", "PATCH", "DELETE"].contains(previous.networkMethod), networkMethod == "GET" else {
        return self
      }
      if hasOtherBody || previous.httpBodyStream != nil { return nil }
      var kept = self
      kept.httpMethod = previous.httpMethod
      kept.httpBody = previous.httpBody
      for (name, value) in previous.allHTTPHeaderFields ?? [:] where name.lowercased().hasPrefix("content-") {
        kept.setValue(value, forHTTPHeaderField: name)
      }
      return kept
    }
  }
#endif
