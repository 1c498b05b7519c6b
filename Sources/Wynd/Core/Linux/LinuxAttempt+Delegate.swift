#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  // Called by URLSession. A method whose signature differs slightly is never called, without a warning. The delegate of
  // the caller's session is asked about redirects and challenges, and told of nothing else.
  nonisolated extension LinuxAttempt {
    /// The same limit as for redirects.
    private static let mostChallenges = 20

    func urlSession(
      _: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest _: URLRequest, completionHandler _: @escaping @Sendable (URLRequest?) -> Void
    ) {
      guard let hop = hop(of: task) else { return }
      let request = state.withLock { $0.request }
      guard let proposed = request.following(response, in: session.configuration, secretFields: outgoing.secretFields)
      else {
        return end(URLError(.unsupportedURL), hop: hop)
      }
      let decide: @Sendable (URLRequest?) -> Void = { [self] chosen in
        Self.queue.async { [self] in
          if task.isCanceledByDelegate { return end(URLError(.cancelled), hop: hop) }
          // Nil means that the redirect is not followed: the 3xx is the response, without its body.
          guard let chosen else { return end(NetworkOutcome(data: Data(), response: response), hop: hop) }
          follow(chosen, from: hop)
        }
      }
      guard let delegate = callersDelegate as? any URLSessionTaskDelegate else { return decide(proposed) }
      session.delegateQueue.addOperation { [session] in
        delegate.urlSession(
          session, task: task, willPerformHTTPRedirection: response, newRequest: proposed, completionHandler: decide)
      }
    }

    /// libcurl wants to send the body again, without regard to the retry rule: it has reused a dead connection, or the
    /// server has refused an HTTP/2 stream. The attempt ends before a response to such a request can arrive. The
    /// completion handler must be called, because otherwise every session is blocked for 7 s. Nil would send an empty
    /// body, which the server may accept, so libcurl gets a stream that cannot be read.
    func urlSession(
      _: URLSession, task: URLSessionTask,
      needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
      if let hop = hop(of: task) { end(URLError(.networkConnectionLost), hop: hop) }
      completionHandler(LinuxBodyStream(nil, nil) { nil })
    }

    /// After a 401 with a Basic challenge for which there is no credential, URLSession up to 6.3.1 never completes the
    /// task (swift-corelibs-foundation#5457). The response is reported here, without its body. Where the defect is
    /// fixed, the task's own completion is on the delegate queue before this, and ends the attempt first.
    func urlSession(
      _ activeSession: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      guard let hop = hop(of: task) else { return }
      // A delegate that always gives the same credential would send the request again and again.
      let isLastChallenge = state.withLock { state in
        state.challenges += 1
        return state.challenges > Self.mostChallenges
      }
      let decide: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void = {
        [self] choice, credential in
        Self.queue.async { [self] in
          guard self.hop(of: task) != nil else { return }
          // Completing the challenge would crash.
          if task.isCanceledByDelegate { return end(URLError(.cancelled), hop: hop) }
          if isLastChallenge, let response = challenge.failureResponse {
            return end(NetworkOutcome(data: Data(), response: response), hop: hop)
          }
          // `.useCredential` without a credential crashes.
          let isWithoutCredential = choice == .useCredential && credential == nil
          let usedChoice = isWithoutCredential ? .performDefaultHandling : choice
          if choice == .cancelAuthenticationChallenge { state.withLock { $0.hasRefusedChallenge = true } }
          completionHandler(usedChoice, credential)
          let isDefault = usedChoice == .performDefaultHandling && challenge.proposedCredential == nil
          guard isDefault, let response = challenge.failureResponse else { return }
          activeSession.delegateQueue.addOperation { [self] in
            end(NetworkOutcome(data: Data(), response: response), hop: hop)
          }
        }
      }
      guard let delegate = callersDelegate as? any URLSessionTaskDelegate else {
        return decide(.performDefaultHandling, nil)
      }
      session.delegateQueue.addOperation { [session] in
        delegate.urlSession(session, task: task, didReceive: challenge, completionHandler: decide)
      }
    }
  }

  nonisolated extension URLSessionTask {
    /// Whether the delegate canceled a task that waits for it.
    fileprivate var isCanceledByDelegate: Bool { [.canceling, .completed].contains(state) }
  }
#endif
