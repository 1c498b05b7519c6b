#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking

  /// One attempt on swift-corelibs-foundation's URLSession, with workarounds for its defects. It always completes, can
  /// be canceled at any time, fails at once on a dead connection, follows redirects as in RFC 9110, and times out in
  /// fractions of a second. OnLinux.md lists the defects.
  nonisolated final class LinuxAttempt: NSObject, URLSessionTaskDelegate, Sendable {
    /// All tasks are canceled, and all challenges completed, on this serial queue: `cancel()` on URLSession's own
    /// queues deadlocks every session, and completing a challenge after a cancellation crashes. It is not a global
    /// queue, because completion handlers of the app can block the threads of those.
    static let queue = DispatchQueue(label: "Wynd.LinuxAttempt", qos: .userInitiated)

    /// The caller's session, and its delegate when the call began.
    let session: URLSession
    private let callersDelegate: (any URLSessionDelegate)?
    let transfer: NetworkBodies?
    private let firstRoute: LinuxRoute
    /// Stands on the caller's session for a task on ours.
    private let placeholder: NetworkPlaceholder?
    /// The app has invalidated its session, although it is inside the call.
    private let hasNoSession: Bool
    private let handlesCookies: Bool
    private let secretFields: Set<String>
    private let isReadOnly: Bool
    private let timeout: TimeInterval
    private let reply: NetworkReply

    private struct State: Sendable {
      var request: URLRequest
      // False after a redirect that changed the method and removed the body.
      var hasBody = true
      /// The number of redirects so far. Each one starts a new task, and callbacks of earlier tasks are ignored.
      var hop = 0
      var task: URLSessionTask?
      /// The session of ours that runs the task; nil for the caller's.
      var active: LinuxOwnSession?
      /// Nil if the request is safe to repeat.
      var lease: LinuxExclusiveSessions.Lease?
      /// The body of the task is a stream.
      var sendsStream = false
      var cancelTimer: (@Sendable () -> Void)?
      /// The task before the first redirect, if it ran on the caller's session. It stands for the later ones, which run
      /// on ours: invalidating the caller's session cancels it, which ends the attempt, and
      /// `finishTasksAndInvalidate()` waits for it.
      var firstTask: URLSessionTask?
      var hasEnded = false

      /// Prepares for the task after a redirect.
      mutating func startHop(with next: URLRequest) {
        if next.httpMethod != request.httpMethod { hasBody = false }
        let ranOnCallersSession = active == nil
        if ranOnCallersSession { firstTask = task }
        request = next
        hop += 1
        releaseTask()
      }

      /// A task retains its delegate, which is the attempt.
      mutating func releaseTask() {
        task = nil
        active = nil
        lease = nil
        cancelTimer = nil
      }
    }
    private let state: NetworkLock<State>

    init(
      _ outgoing: NetworkOutgoing, for session: URLSession, _ callersDelegate: (any URLSessionDelegate)?,
      _ reply: NetworkReply
    ) {
      self.session = session
      self.callersDelegate = callersDelegate
      self.reply = reply
      transfer = outgoing.bodies
      firstRoute = LinuxRoute.first(outgoing, on: session)
      let needsPlaceholder = outgoing.isInsideCall && firstRoute != .callersSession
      placeholder = needsPlaceholder ? NetworkPlaceholder(on: session) : outgoing.placeholder
      hasNoSession = needsPlaceholder && placeholder == nil
      handlesCookies = outgoing.request.httpShouldHandleCookies
      secretFields = outgoing.secretFields
      isReadOnly = outgoing.isReadOnly
      timeout = Self.timeout(of: outgoing.request, session.configuration)
      state = NetworkLock(State(request: outgoing.request))
      super.init()
      session.removeCache()
    }

    func start() {
      if hasNoSession { return reply.end(NetworkOutcome(error: URLError(.cancelled))) }
      placeholder?.onSessionEnd { [weak self] in self?.end(URLError(.cancelled)) }
      reply.onCancel { [self] in end(URLError(.cancelled)) }
      sendRequest()
    }

    // MARK: One task after another

    /// Sends the first request, or the one after a redirect.
    private func sendRequest() {
      let (request, hasBody, hop) = state.withLock { ($0.request, $0.hasBody, $0.hop) }
      var outgoing = request
      setTimeout(of: &outgoing)
      outgoing.setLowercaseScheme()
      do { try outgoing.streamBody(of: hasBody ? transfer : nil) } catch {
        return end(NetworkOutcome(error: NetworkError.transferFailed(error)))
      }
      outgoing.setContentType(from: session.configuration.httpAdditionalHeaders)
      switch hop == 0 ? firstRoute : .afterRedirect(request, isReadOnly: isReadOnly) {
      case .callersSession: sendOnCallersSession(outgoing, hop)
      case .ourSession: send(outgoing, hop, on: LinuxOwnSession.of(session, handlesCookies: handlesCookies))
      case .exclusiveSession: sendOnExclusiveSession(outgoing, hop)
      }
    }

    private func sendOnExclusiveSession(_ request: URLRequest, _ hop: Int) {
      var outgoing = request
      let isUnused = outgoing.needsUnusedConnection
      // Most servers close the connection after that, and the session can be used again.
      if isUnused { outgoing.setValue("close", forHTTPHeaderField: "Connection") }
      let sessions = LinuxOwnSession.exclusive(session, handlesCookies: handlesCookies)
      sessions.lease(outgoing.url, isUnused: isUnused) { [self, outgoing] lease in
        if state.withLock({ $0.hasEnded }) { return lease.end() }
        send(outgoing, hop, on: lease.session, lease)
      }
    }

    private func sendOnCallersSession(_ outgoing: URLRequest, _ hop: Int) {
      // Created under the lock, so that a cancellation waits for it: the app may invalidate its session afterwards.
      let task = state.withLock { state -> URLSessionTask? in
        if state.hasEnded { return nil }
        state.task = makeTaskOnCallersSession(outgoing)
        state.sendsStream = outgoing.httpBodyStream != nil
        return state.task
      }
      // Does nothing if the attempt has ended already.
      guard let task else { return end(URLError(.cancelled)) }
      resume(task, outgoing, hop)
    }

    /// Sends the request on a session of ours. `lease` is its use for this request, if no other one may run there.
    private func send(
      _ outgoing: URLRequest, _ hop: Int, on ours: LinuxOwnSession, _ lease: LinuxExclusiveSessions.Lease? = nil
    ) {
      // Not created under the lock, because a callback for the task before a redirect may wait for it.
      let task = makeTask(outgoing, hop, on: ours)
      let hasEnded = state.withLock { state in
        if state.hasEnded { return true }
        state.task = task
        state.active = ours
        state.lease = lease
        state.sendsStream = outgoing.httpBodyStream != nil
        return false
      }
      if hasEnded {
        return Self.queue.async {
          task.cancel()
          lease?.end()
        }
      }
      resume(task, outgoing, hop)
    }

    /// To be called as soon as the task exists: it is slow if URLSession works on it on another thread before that.
    private func resume(_ task: URLSessionTask, _ outgoing: URLRequest, _ hop: Int) {
      // URLSession counts whole seconds, so a fraction needs a timer. While a body is sent, only URLSession knows whether
      // it makes progress. The counter is 0 until the headers of the response have arrived. After that, URLSession's own
      // timer applies.
      let hasFraction = timeout != timeout.rounded(.up)
      if hasFraction, isSentAtOnce(outgoing) {
        startTimer(hop) { task.countOfBytesExpectedToReceive == 0 }
      }
      task.resume()
    }

    /// Whether there is no body, or such a small one that a silence after it is that of the server: 16 KiB fit into the send
    /// buffer of a socket, and libcurl reads that much of a body at a time.
    private func isSentAtOnce(_ outgoing: URLRequest) -> Bool {
      // A body in memory may be sent as a stream, so its size is that in the request before that.
      if let body = state.withLock({ $0.request.httpBody }) { return body.count <= 16_384 }
      return outgoing.httpBodyStream == nil
    }

    private func makeTask(_ request: URLRequest, _ hop: Int, on active: LinuxOwnSession) -> URLSessionTask {
      if transfer != nil { return active.task(with: request, for: self) }
      let task = active.urlSession.dataTask(with: request) { [self] data, response, error in
        end(NetworkOutcome(data: data, response: response, error: error), hop: hop, isFinished: true)
      }
      task.delegate = self
      return task
    }

    /// Nil if the caller's session has been invalidated.
    private func makeTaskOnCallersSession(_ request: URLRequest) -> URLSessionTask? {
      let task = session.unlessInvalidated {
        session.dataTask(with: request) { [self] data, response, error in
          // Canceled with its session, perhaps after a redirect: the current task is canceled too.
          if (error as? URLError)?.code == .cancelled { return end(NetworkOutcome(error: error)) }
          end(NetworkOutcome(data: data, response: response, error: error), hop: 0, isFinished: true)
        }
      }
      task?.delegate = self
      return task
    }

    /// The response to the task has begun.
    func receivedHead() { state.withLock { $0.lease }?.respond() }

    /// Follows a redirect with a new task. URLSession's completion handler for redirects is never called: URLSession
    /// would send a 307 without its body and resolve a relative Location wrongly, and it crashes if the task ends
    /// meanwhile.
    private func follow(_ next: URLRequest, from hop: Int) {
      if hop >= 20 { return end(URLError(.httpTooManyRedirects), hop: hop) }
      // The first request has read the stream. A second one would be sent empty, and look like a success.
      if next.httpBodyStream != nil { return end(URLError(.requestBodyStreamExhausted), hop: hop) }
      if NetworkRequestValidation.invalidReason(of: next) != nil { return end(URLError(.badURL), hop: hop) }
      let previous = state.withLock { state -> State? in
        guard !state.hasEnded, state.hop == hop else { return nil }
        let previous = state
        state.startHop(with: next)
        return previous
      }
      guard let previous else { return }
      previous.cancelTimer?()
      if previous.active != nil { previous.task?.cancel() }
      previous.lease?.end()
      sendRequest()
    }

    // MARK: The end

    /// Ends the attempt with the first outcome. Later ones, and those of a task before a redirect, are ignored.
    /// `isFinished` means that the task has completed and need not be canceled.
    func end(_ outcome: NetworkOutcome, hop: Int? = nil, isFinished: Bool = false) {
      guard let ended = endState(ofHop: hop) else { return }
      if isFinished { return report(outcome, ended) }
      Self.queue.async { [self] in
        ended.task?.cancel()
        report(outcome, ended)
      }
    }

    private func end(_ error: URLError, hop: Int? = nil) { end(NetworkOutcome(error: error), hop: hop) }

    /// The state at the end, for the one who ends the attempt; nil for all others. A `hop` of nil is the current one.
    private func endState(ofHop hop: Int?) -> State? {
      state.withLock { state in
        let isCurrent = hop == nil || hop == state.hop
        guard isCurrent, !state.hasEnded else { return nil }
        let ended = state
        state.hasEnded = true
        state.firstTask = nil
        state.releaseTask()
        return ended
      }
    }

    /// Passes the outcome to the reply, with what is known about the connection.
    private func report(_ outcome: NetworkOutcome, _ ended: State) {
      ended.cancelTimer?()
      var outcome = outcome
      outcome.error = outcome.error.map { LinuxFault.normalized($0) }
      outcome.hasFollowedRedirect = ended.hop > 0
      let activeSession = ended.active?.urlSession ?? session
      let urlError = outcome.error as? URLError
      if let urlError, NetworkError.urlError(urlError).failedBeforeSending {
        outcome.mayHaveSent = LinuxConnections.mayExist(activeSession, ended.request.url)
      } else if ended.task != nil, !LinuxConnections.ends(after: outcome.response) {
        // Even without a response: a silent connection may be reused over HTTP/2.
        LinuxConnections.add(activeSession, ended.request.url)
      }
      ended.lease?.end()
      reply.end(outcome)
      if let firstTask = ended.firstTask { Self.queue.async { firstTask.cancel() } }
    }

    /// Nil if the attempt has ended, or if the task is that of a request before a redirect.
    func hop(of task: URLSessionTask) -> Int? { state.withLock { $0.task === task ? $0.hop : nil } }

    // MARK: The timer

    /// Ends the attempt after its time-out, if the task is still the current one and `isDue` returns true then.
    private func startTimer(_ hop: Int, isDue: @escaping @Sendable () -> Bool = { true }) {
      let cancelTimer = ContinuousRetryClock().timer(after: .bounded(seconds: timeout)) { [weak self] in
        if isDue() { self?.end(URLError(.timedOut), hop: hop) }
      }
      replaceTimer(by: cancelTimer, hop)
    }

    /// Cancels the timer of the task, or the new one if the task is not the current one.
    private func replaceTimer(by cancelTimer: (@Sendable () -> Void)?, _ hop: Int) {
      let unused = state.withLock { state -> (@Sendable () -> Void)? in
        if state.hasEnded || state.hop != hop { return cancelTimer }
        let previous = state.cancelTimer
        state.cancelTimer = cancelTimer
        return previous
      }
      unused?()
    }

    // MARK: Called by URLSession. A method whose signature differs slightly is never called, without a warning.

    /// Calls the delegate of the caller's session on its queue, also for tasks on a session of ours.
    private func onDelegateQueue(_ activeSession: URLSession, _ ask: @escaping @Sendable () -> Void) {
      if activeSession === session || callersDelegate == nil { ask() } else { session.delegateQueue.addOperation(ask) }
    }

    func urlSession(
      _ activeSession: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest _: URLRequest, completionHandler _: @escaping @Sendable (URLRequest?) -> Void
    ) {
      guard let hop = hop(of: task) else { return }
      let request = state.withLock { $0.request }
      if !LinuxConnections.ends(after: response) { LinuxConnections.add(activeSession, request.url) }
      guard let proposed = request.following(response, in: session.configuration, secretFields: secretFields) else {
        return end(URLError(.unsupportedURL), hop: hop)
      }
      // Without the timer, a delegate that never calls back would leave the call without a result.
      if callersDelegate != nil { startTimer(hop) }
      onDelegateQueue(activeSession) { [self] in
        let decide: @Sendable (URLRequest?) -> Void = { chosen in
          Self.queue.async { [self] in
            // Nil means that the redirect is not followed: the 3xx is the response, without its body.
            guard let chosen else { return end(NetworkOutcome(data: Data(), response: response), hop: hop) }
            follow(chosen, from: hop)
          }
        }
        guard let delegate = callersDelegate as? any URLSessionTaskDelegate else { return decide(proposed) }
        delegate.urlSession(
          session, task: task, willPerformHTTPRedirection: response, newRequest: proposed, completionHandler: decide)
      }
    }

    /// libcurl has reused a dead connection, or the server has refused an HTTP/2 stream, and libcurl wants to send the
    /// body again, without regard to the retry rule. The completion handler must be called, because otherwise every
    /// session is blocked for 7 s. For a body in memory, nil makes the request fail. For a body stream, nil would send
    /// an empty body, which the server may accept, so libcurl gets a stream that cannot be read. The attempt ends
    /// before any response to such a request can arrive.
    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
      let sendsStream = state.withLock { $0.sendsStream }
      if let hop = hop(of: task) { end(URLError(.networkConnectionLost), hop: hop) }
      completionHandler(sendsStream ? LinuxBodyStream(nil, nil) { nil } : nil)
    }

    /// After a 401 with a Basic challenge for which there is no credential, URLSession up to 6.3.1 never completes the
    /// task (swift-corelibs-foundation#5457). The response is reported here, without its body. Where the defect is
    /// fixed, the task's own completion is on the delegate queue before this, and ends the attempt first.
    func urlSession(
      _ activeSession: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      guard let hop = hop(of: task) else { return }
      let decide: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void = {
        [self] choice, credential in
        Self.queue.async { [self] in
          guard self.hop(of: task) != nil else { return }
          replaceTimer(by: nil, hop)
          // `.useCredential` without a credential crashes.
          let isWithoutCredential = choice == .useCredential && credential == nil
          let usedChoice = isWithoutCredential ? .performDefaultHandling : choice
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
      // Without the timer, a delegate that never calls back would leave the call without a result.
      startTimer(hop)
      onDelegateQueue(activeSession) { [self] in
        delegate.urlSession(session, task: task, didReceive: challenge, completionHandler: decide)
      }
    }

    // MARK: Values that URLSession cannot handle

    /// The time-out in seconds, in a range that URLSession can convert. 60 is the default of a request, so it means the
    /// value of the session.
    private static func timeout(of request: URLRequest, _ configuration: URLSessionConfiguration) -> TimeInterval {
      let seconds = request.timeoutInterval == 60 ? configuration.timeoutIntervalForRequest : request.timeoutInterval
      return seconds > 0 ? min(max(seconds, 0.001), 1e8) : 60
    }

    /// URLSession drops the fraction, so 0.4 s would fail at once. It uses the time-out of a request only if that was
    /// set as a property. A value that was passed to the request's initializer has to be set again.
    private func setTimeout(of request: inout URLRequest) {
      let seconds = timeout.rounded(.up)
      let isUsedAnyway =
        request.timeoutInterval == seconds && session.configuration.timeoutIntervalForRequest == seconds
      if !isUsedAnyway { request.timeoutInterval = seconds }
    }
  }
#endif
