#if canImport(FoundationNetworking)
  import Dispatch
  import Foundation
  import FoundationNetworking

  // Called by URLSession. A near-miss of one of these signatures is never called, without a word: DelegateTests.
  nonisolated extension LinuxAttempt {
    /// A redirect is never answered: URLSession would send a 307 without its body and resolve a relative Location
    /// wrongly, and an answer that meets its time-out or a cancellation traps. The task is ended, and the hop is a task
    /// of its own. If the session's delegate refuses it, the 3xx is the answer, without its body.
    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest _: URLRequest, completionHandler _: @escaping @Sendable (URLRequest?) -> Void
    ) {
      LinuxConnections.shared.add(carrier, request.url)
      // This runs on the delegate queue, where the session's delegate expects to be asked. `request` was last written
      // before this task started.
      guard let proposed = request.followingRedirect(response, additional: session.configuration.httpAdditionalHeaders)
      else {
        return Self.queue.async { [self] in end(URLError(.unsupportedURL)) }
      }
      // A delegate that never answers would leave the call without an answer.
      if session.delegate != nil { Self.queue.async { [self] in if task === current { startTimer() } } }
      session.askDelegateAboutRedirect(task: task, redirect: response, to: proposed) { chosen in
        Self.queue.async { [self] in
          guard !isDead, task === current else { return }
          if let chosen { return follow(chosen) }
          end(NetworkOutcome(data: Data(), response: response))
        }
      }
    }

    /// On `queue`.
    private func follow(_ next: URLRequest) {
      hops += 1
      if hops > 20 { return end(URLError(.httpTooManyRedirects)) }
      // The first send has read the stream; a second would be empty, and look like success.
      if next.httpBodyStream != nil { return end(URLError(.requestBodyStreamExhausted)) }
      if SessionTransport.flaw(in: next) != nil { return end(URLError(.badURL)) }
      if cargo == nil, session.isKnownToBeInvalidated { return end(URLError(.cancelled)) }
      endTask()
      if next.httpMethod != request.httpMethod { (file, hasBody) = (nil, false) }
      request = next
      start()
    }

    /// libcurl found a re-used connection dead and wants to send the body again. Unanswered it waits 7 s, answered with
    /// a stream it sends a second time behind our back, so it gets none and the retry rule decides. Where the body was a
    /// stream, none would mean an empty body, whole and in chunks, that the server applies: so it gets one that cannot be
    /// read, and gives up. This runs on URLSession's work queue: a `cancel()` here traps.
    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
      completionHandler(sendsStream ? BrokenStream(data: Data()) : nil)
      Self.queue.async { [self] in end(URLError(.networkConnectionLost)) }
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
          // «Use a credential» without one traps there.
          let choice = choice == .useCredential && credential == nil ? .performDefaultHandling : choice
          completionHandler(choice, credential)
          guard choice == .performDefaultHandling, challenge.proposedCredential == nil,
            let response = challenge.failureResponse
          else { return }
          session.delegateQueue.addOperation {
            Self.queue.async { [self] in end(NetworkOutcome(data: Data(), response: response)) }
          }
        }
      }
      guard let delegate = session.delegate as? any URLSessionTaskDelegate else {
        return decide(.performDefaultHandling, nil)
      }
      delegate.urlSession(session, task: task, didReceive: challenge, completionHandler: decide)
    }
  }

  /// Promises bytes, and fails to give them.
  nonisolated private final class BrokenStream: InputStream {
    override var hasBytesAvailable: Bool { true }
    override func read(_: UnsafeMutablePointer<UInt8>, maxLength _: Int) -> Int { -1 }
  }

  /// Gives as many bytes as were announced. More would run on into the next request of the connection, less leave the server
  /// waiting.
  nonisolated final class ExactStream: InputStream {
    private let base: InputStream
    private var left: Int64

    init(_ base: InputStream, _ length: Int64) {
      self.base = base
      left = length
      super.init(data: Data())
    }

    override func open() { base.open() }
    override func close() { base.close() }
    override var streamStatus: Stream.Status { base.streamStatus }
    override var hasBytesAvailable: Bool { left > 0 }
    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
      if left <= 0 { return 0 }
      let length = min(maxLength, Int(clamping: left))
      #if compiler(>=6.2)
        let count = unsafe base.read(buffer, maxLength: length)
      #else
        let count = base.read(buffer, maxLength: length)
      #endif
      if count <= 0 { return -1 }
      left -= Int64(count)
      return count
    }
  }

  nonisolated extension URLRequest {
    /// The next request after a 3xx (RFC 9110 §15.4): POST becomes GET after 301 and 302, everything but HEAD after 303;
    /// what stays keeps its body. Nil if Location names nothing that HTTP can fetch.
    func followingRedirect(_ response: HTTPURLResponse, additional: [AnyHashable: Any]?) -> URLRequest? {
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
      return RedirectGuard.request(next, after: self, additional: additional)
    }
  }
#endif
