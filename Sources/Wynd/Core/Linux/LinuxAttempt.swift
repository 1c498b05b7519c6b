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
    let callersDelegate: (any URLSessionDelegate)?
    let transfer: NetworkBodies?
    private let firstRoute: LinuxRoute
    /// Stands on the caller's session for a task on ours.
    private let placeholder: NetworkPlaceholder?
    /// The app has invalidated its session, although it is inside the call.
    private let hasNoSession: Bool
    private let handlesCookies: Bool
    let secretFields: Set<String>
    private let isReadOnly: Bool
    private let timeout: TimeInterval
    private let reply: NetworkReply

    struct State: Sendable {
      var request: URLRequest
      // False after a redirect that changed the method and removed the body.
      var hasBody = true
      var challenges = 0
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
      /// Ends the wait for a session. Does nothing after it.
      var endWait: (@Sendable () -> Void)?
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
        challenges = 0
        releaseTask()
      }

      /// A task retains its delegate, which is the attempt.
      mutating func releaseTask() {
        task = nil
        active = nil
        lease = nil
        cancelTimer = nil
        endWait = nil
      }
    }
    let state: NetworkLock<State>

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
      timeout = outgoing.request.usedTimeout(in: session.configuration)
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
      outgoing.setTimeout(timeout, in: session.configuration)
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
      let endWait = sessions.lease(outgoing.url, isUnused: isUnused) { [self, outgoing] lease in
        if state.withLock({ $0.hasEnded }) { return lease.end() }
        send(outgoing, hop, on: lease.session, lease)
      }
      if let endWait { limitWait(hop, endWait) }
    }

    /// A request waits for a session as long as for a response: other requests may never get theirs.
    private func limitWait(_ hop: Int, _ endWait: @escaping @Sendable () -> Void) {
      let cancelTimer = ContinuousRetryClock().timer(after: .bounded(seconds: timeout)) { [weak self] in
        self?.end(NetworkOutcome(error: URLError(.timedOut)), hop: hop, ifUnsent: true)
      }
      let endWaitAndTimer: @Sendable () -> Void = {
        cancelTimer()
        endWait()
      }
      let isWaiting = state.withLock { state in
        let isWaiting = !state.hasEnded && state.hop == hop && state.task == nil
        if isWaiting { state.endWait = endWaitAndTimer }
        return isWaiting
      }
      if !isWaiting { endWaitAndTimer() }
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
    func follow(_ next: URLRequest, from hop: Int) {
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
    /// `isFinished` means that the task has completed and need not be canceled, `ifUnsent` that nothing happens if there
    /// is a task.
    func end(_ outcome: NetworkOutcome, hop: Int? = nil, isFinished: Bool = false, ifUnsent: Bool = false) {
      guard let ended = endState(ofHop: hop, ifUnsent: ifUnsent) else { return }
      ended.endWait?()
      if isFinished { return report(outcome, ended) }
      Self.queue.async { [self] in
        ended.task?.cancel()
        report(outcome, ended)
      }
    }

    func end(_ error: URLError, hop: Int? = nil) { end(NetworkOutcome(error: error), hop: hop) }

    /// The state at the end, for the one who ends the attempt; nil for all others. A `hop` of nil is the current one.
    private func endState(ofHop hop: Int?, ifUnsent: Bool) -> State? {
      state.withLock { state in
        let isCurrent = hop == nil || hop == state.hop
        guard isCurrent, !state.hasEnded else { return nil }
        if ifUnsent, state.task != nil { return nil }
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
      outcome.hasSentNothing = ended.task == nil
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
    func startTimer(_ hop: Int, isDue: @escaping @Sendable () -> Bool = { true }) {
      let cancelTimer = ContinuousRetryClock().timer(after: .bounded(seconds: timeout)) { [weak self] in
        if isDue() { self?.end(URLError(.timedOut), hop: hop) }
      }
      replaceTimer(by: cancelTimer, hop)
    }

    /// Cancels the timer of the task, or the new one if the task is not the current one.
    func replaceTimer(by cancelTimer: (@Sendable () -> Void)?, _ hop: Int) {
      let unused = state.withLock { state -> (@Sendable () -> Void)? in
        if state.hasEnded || state.hop != hop { return cancelTimer }
        let previous = state.cancelTimer
        state.cancelTimer = cancelTimer
        return previous
      }
      unused?()
    }
  }
#endif
