// Linux: how one attempt runs on the URLSession of swift-corelibs-foundation, which is built on libcurl: always on a
// private session, and with workarounds for its defects. OnLinux.md lists them. Apple's platforms compile nothing of
// this folder. LinuxRequest prepares a request, LinuxSession chooses the session, and LinuxAttempt runs it.

#if canImport(FoundationNetworking)
  import Foundation
  // URLSession is in a module of its own on Linux. With this, `import Wynd` is enough to use it there, as `import
  // Foundation` is on Apple's platforms.
  @_documentation(visibility: internal) @_exported public import FoundationNetworking

  /// One attempt on swift-corelibs-foundation's URLSession, with workarounds for its defects. It always completes, can
  /// be canceled at any time, fails at once on a dead connection, and follows redirects as in RFC 9110. OnLinux.md
  /// lists the defects.
  nonisolated final class LinuxAttempt: NSObject, URLSessionTaskDelegate, Sendable {
    /// All tasks are canceled, and all challenges completed, on this serial queue: `cancel()` on URLSession's own
    /// queues deadlocks every session, and completing a challenge after a cancellation crashes. It is not a global
    /// queue, because completion handlers of the app can block the threads of global queues.
    static let queue = DispatchQueue.network("LinuxAttempt")

    /// The caller's session, and its delegate at the start of the call.
    let session: URLSession
    let callersDelegate: (any URLSessionDelegate)?
    let outgoing: NetworkOutgoing
    private let completion: NetworkAttemptCompletion

    struct State: Sendable {
      var request: URLRequest
      // False after a redirect that changed the method and removed the body.
      var hasBody = true
      var challenges = 0
      /// Whether the app's delegate has canceled a challenge. URLSession reports that as a cancellation.
      var hasRefusedChallenge = false
      /// The number of redirects so far. Each one starts a new task, and callbacks of earlier tasks are ignored.
      var hop = 0
      var task: URLSessionTask?
      /// What has become of the body of the task; nil without a body.
      var body: NetworkLock<LinuxBodyStream.Reading>?
      /// The place of the task among the connections to its host; nil if it needs none.
      var place: LinuxConnectionLimit.Place?
      var hasEnded = false

      /// Prepares for the task after a redirect.
      mutating func startHop(with next: URLRequest) {
        if next.httpMethod != request.httpMethod { hasBody = false }
        request = next
        hop += 1
        challenges = 0
        releaseTask()
      }

      /// A task retains its delegate, which is the attempt.
      mutating func releaseTask() {
        task = nil
        body = nil
        place = nil
      }
    }
    let state: NetworkLock<State>

    init(
      _ outgoing: NetworkOutgoing, for session: URLSession, _ callersDelegate: (any URLSessionDelegate)?,
      _ completion: NetworkAttemptCompletion
    ) {
      self.session = session
      self.callersDelegate = callersDelegate
      self.completion = completion
      self.outgoing = outgoing
      state = NetworkLock(State(request: outgoing.request))
      super.init()
    }

    func start() {
      if completion.hasEnded { return }
      if outgoing.bodies == nil, let stored = outgoing.request.outcomeOfURLCache(of: session) {
        return completion.end(stored)
      }
      completion.onCancel { [self] in end(URLError(.cancelled)) }
      sendRequest()
    }

    // MARK: One task after another

    /// Sends the first request, or the one after a redirect.
    private func sendRequest() {
      let (current, hasBody, hop) = state.withLock { ($0.request, $0.hasBody, $0.hop) }
      // Only for what libcurl repeats itself. The retry loop judges the request of the call.
      let isRepeatable = RepeatSafety(of: current, isReadOnly: outgoing.isReadOnly).isSafe
      let bodies = hasBody ? outgoing.bodies : nil
      do {
        var request = try current.prepared(bodies, isRepeatable: isRepeatable, in: session.configuration)
        let kind = LinuxSessionKind(for: request, outgoing, isRepeatable: isRepeatable)
        if kind.contains(.closesConnections) { request.setValue("close", forHTTPHeaderField: "Connection") }
        if kind.isAlone(request) { return sendAlone(request, hop, kind) }
        send(request, hop, on: kind.sharedSession(of: session))
      } catch { end(NetworkOutcome(error: NetworkError.generalError(error))) }
    }

    /// Sends the request on a session of its own, as soon as the caller's session may have another connection to the
    /// host. A server that closes a connection after its response without saying so might carry out the next request on
    /// it, or not. On this session, no request is the next one.
    private func sendAlone(_ request: URLRequest, _ hop: Int, _ kind: LinuxSessionKind) {
      let isForTransfers = kind.contains(.isForTransfers)
      let place = LinuxConnectionLimit.Place(session, request.url, isForTransfers: isForTransfers) { [self] in
        let ownSession = kind.makeSession(like: session)
        send(request, hop, on: ownSession)
        ownSession.finishTasksAndInvalidate()
      }
      let hasEnded = state.withLock { state in
        if !state.hasEnded { state.place = place }
        return state.hasEnded
      }
      if hasEnded { return }
      place.take()
      // The attempt may have ended, and released its place, before it was taken.
      if state.withLock({ $0.hasEnded }) { place.release() }
    }

    private func send(_ request: URLRequest, _ hop: Int, on privateSession: URLSession) {
      // Not created under the lock, because a callback for the task before a redirect may wait for it.
      let task = makeTask(request, hop, on: privateSession)
      let hasEnded = state.withLock { state in
        if state.hasEnded { return true }
        state.task = task
        state.body = request.linuxBody?.reading
        return false
      }
      if hasEnded { return Self.queue.async { task.cancel() } }
      // At once, because resuming is slow after URLSession has worked on the task on another thread.
      task.resume()
    }

    private func makeTask(_ request: URLRequest, _ hop: Int, on privateSession: URLSession) -> URLSessionTask {
      // With its type, because an app may have an extension of URLSession with the same method and another result.
      let task: URLSessionDataTask
      if outgoing.bodies == nil {
        // Without a handler, URLSession would call a delegate for each chunk, each time as an operation of the queue.
        task = privateSession.dataTask(with: request) { [self] data, response, error in
          end(NetworkOutcome(data: data, response: response, error: error), hop: hop, isFinished: true)
        }
      } else {
        task = privateSession.dataTask(with: request)
      }
      task.delegate = self
      return task
    }

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
      previous.task?.cancel()
      previous.place?.release()
      sendRequest()
    }

    // MARK: The end

    /// Ends the attempt with the first outcome. Later ones, and those of a task before a redirect, are ignored.
    /// `isFinished` means that the task has completed and need not be canceled.
    // Inlined, each caller would get a copy of it.
    @inline(never)
    func end(_ outcome: NetworkOutcome, hop: Int? = nil, isFinished: Bool = false) {
      guard let ended = endState(ofHop: hop) else { return }
      if isFinished {
        ended.place?.release()
        return report(outcome, ended)
      }
      Self.queue.async { [self] in
        ended.task?.cancel()
        ended.place?.release()
        report(outcome, ended)
      }
    }

    func end(_ error: URLError, hop: Int? = nil) { end(NetworkOutcome(error: error), hop: hop) }

    /// Ends the attempt, and returns its last state. Nil if it has ended already, or has followed a redirect after this
    /// `hop`. A `hop` of nil is the current one.
    private func endState(ofHop hop: Int?) -> State? {
      state.withLock { state in
        let isCurrent = hop == nil || hop == state.hop
        guard isCurrent, !state.hasEnded else { return nil }
        let ended = state
        state.hasEnded = true
        state.releaseTask()
        return ended
      }
    }

    /// Completes the attempt with the outcome, and with what is known about the request.
    private func report(_ outcome: NetworkOutcome, _ ended: State) {
      var outcome = outcome
      let body = ended.body?.withLock { $0 }
      outcome.error = outcome.error.map { body?.failure ?? LinuxFault.normalized($0) }
      if ended.hasRefusedChallenge, outcome.error != nil { outcome.error = URLError(.userCancelledAuthentication) }
      // If a server has closed a kept-alive connection, libcurl tries another one, and reports the error of the last
      // one, such as a refusal. A body that was read may have been sent on the first one. A request without a body that
      // is alone on its session has only one.
      let mayHaveSent = body?.hasStarted ?? (ended.place == nil)
      outcome.note(mayHaveSent: mayHaveSent, hasFollowedRedirect: ended.hop > 0)
      completion.end(outcome)
    }

    /// Nil if the attempt has ended, or if the task sent a request before a redirect.
    func hop(of task: URLSessionTask) -> Int? { state.withLock { $0.task === task ? $0.hop : nil } }
  }
#endif
