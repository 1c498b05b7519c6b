#if canImport(FoundationNetworking)
  import Dispatch
  import Foundation
  import FoundationNetworking

  // Called by URLSession. A near-miss of one of these signatures is never called, without a word: DelegateTests.
  nonisolated extension LinuxAttempt {
    /// A redirect is never answered: URLSession would send a 307 without its body and resolve a relative Location
    /// wrongly, and an answer that meets its time-out or a cancellation traps. The task is ended, and the hop is a task
    /// of its own. Only where the session's delegate wants the 3xx itself, it gets it.
    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest _: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      Self.queue.async { [self] in
        guard !isDead else { return }
        guard let proposed = request.following(response, additional: session.configuration.httpAdditionalHeaders) else {
          settle(NetworkOutcome(error: URLError(.unsupportedURL)))
          return kill()
        }
        session.askDelegate(task: task, redirect: response, to: proposed) { chosen in
          Self.queue.async { [self] in
            guard !isDead else { return }
            if let chosen { follow(chosen, from: task) } else { completionHandler(nil) }
          }
        }
      }
    }

    /// On `queue`.
    private func follow(_ next: URLRequest, from task: URLSessionTask) {
      hops += 1
      endTask()
      guard hops <= 20 else {
        settle(NetworkOutcome(error: URLError(.httpTooManyRedirects)))
        return isDead = true
      }
      request = next
      start()
    }

    /// libcurl found a re-used connection dead and wants to send the body again. Unanswered it waits 7 s, answered with
    /// a stream it sends a second time behind our back, so it gets none and the retry rule decides. This runs on
    /// URLSession's work queue: a `cancel()` here traps.
    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
      completionHandler(nil)
      Self.queue.async { [self] in
        settle(NetworkOutcome(error: URLError(.networkConnectionLost)))
        kill()
      }
    }

    /// After a 401 with a Basic challenge that nobody answers, URLSession up to 6.3.1 forgets the task
    /// (swift-corelibs-foundation#5457). Its answer is given here, without its body. Where the defect is mended, the
    /// task's own completion stands on the delegate queue before this and wins.
    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      let decide: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void = {
        [self] choice, credential in
        Self.queue.async { [self] in
          guard !isDead else { return }
          completionHandler(choice, credential)
          guard choice == .performDefaultHandling, challenge.proposedCredential == nil,
            let response = challenge.failureResponse
          else { return }
          session.delegateQueue.addOperation {
            Self.queue.async { [self] in
              guard !isDead else { return }
              settle(NetworkOutcome(data: Data(), response: response))
              kill()
            }
          }
        }
      }
      guard let delegate = session.delegate as? any URLSessionTaskDelegate else {
        return decide(.performDefaultHandling, nil)
      }
      delegate.urlSession(session, task: task, didReceive: challenge, completionHandler: decide)
    }
  }

  nonisolated extension URLRequest {
    /// The next request after a 3xx (RFC 9110 §15.4): POST becomes GET after 301 and 302, everything but HEAD after 303;
    /// what stays keeps its body. Nil if Location names nothing that HTTP can fetch.
    func following(_ response: HTTPURLResponse, additional: [AnyHashable: Any]?) -> URLRequest? {
      guard let location = response.value(forHTTPHeaderField: "Location"), let base = response.url ?? url,
        let target = URL(string: location, relativeTo: base)?.absoluteURL, target.host?.isEmpty == false,
        ["http", "https"].contains(target.scheme?.lowercased())
      else { return nil }
      var next = self
      next.url = target
      if response.statusCode == 303 && httpMethod != "HEAD" || response.statusCode < 303 && httpMethod == "POST" {
        next.httpMethod = "GET"
        next.httpBody = nil
        next.httpBodyStream = nil
        for name in allHTTPHeaderFields?.keys ?? [:].keys
        where name.lowercased().hasPrefix("content-") || name.lowercased() == "transfer-encoding" {
          next.setValue(nil, forHTTPHeaderField: name)
        }
      }
      return next.keepingCredentials(of: self, additional: additional)
    }

    /// Seconds, in a range that URLSession can convert. 60 is what a request has that never said anything, and then the
    /// session's value rules.
    func effectiveTimeout(_ configuration: URLSessionConfiguration) -> TimeInterval {
      min(max(timeoutInterval == 60 ? configuration.timeoutIntervalForRequest : timeoutInterval, 0.001), 1e8)
    }

    /// A body this small leaves in one piece, so silence after it is the server's. While a larger one is under way, only
    /// URLSession knows whether it moves.
    var isSentAtOnce: Bool { httpBodyStream == nil && httpBody?.count ?? 0 <= 16_384 }
  }

  nonisolated extension URL {
    var withLowercaseScheme: URL {
      guard let scheme, scheme != scheme.lowercased(),
        var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
      else { return self }
      parts.scheme = scheme.lowercased()
      return parts.url ?? self
    }
  }
#endif
