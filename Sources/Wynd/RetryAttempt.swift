/// One attempt. It ends once: with its outcome, at the deadline, or when it is canceled. Copies are the same attempt.
nonisolated struct RetryAttempt: Sendable {
  private struct State: Sendable {
    var completion: NetworkTransport.Completion?
    var end: NetworkOutcome?
    var handle: (any NetworkRequestHandle)?
    var cancelTimer: (@Sendable () -> Void)?
  }
  private let state = NetworkLock(State())

  /// Prepares the attempt without sending anything, so that a session that is invalidated later can still send it.
  init(_ request: URLRequest, _ transport: any NetworkTransport, _ make: NetworkTransport.MakeAttempt?) {
    let finish: NetworkTransport.Completion = { [self] in self.finish($0) }
    let handle = make?(transport, request, finish) ?? transport.prepare(request, nil, completion: finish)
    state.withLock { if $0.end == nil { $0.handle = handle } }
  }

  /// Sends the request, unless the attempt has ended already. `deadline` is the time that is left.
  func start(deadline: Duration? = nil, clock: any RetryClock, completion: @escaping NetworkTransport.Completion) {
    let cancelTimer = deadline.map { clock.timer(after: $0) { [self] in finish(.deadline) } }
    let (end, handle) = state.withLock { state in
      if state.end == nil { (state.completion, state.cancelTimer) = (completion, cancelTimer) }
      return (state.end, state.handle)
    }
    if end != nil { cancelTimer?() }
    if let end { completion(end) } else { handle?.resume() }
  }

  /// The same for an async caller. Resumes `events` when the attempt has started. Canceling its task cancels the
  /// attempt.
  func run(deadline: Duration? = nil, clock: any RetryClock, events: DispatchQueue? = nil) async -> NetworkOutcome {
    await withTaskCancellationHandler {
      await withCheckedContinuation { reply in
        start(deadline: deadline, clock: clock) { reply.resume(returning: $0) }
        events?.resume()
      }
    } onCancel: {
      cancel()
    }
  }

  /// May be called at any time, from any thread.
  func cancel() { finish(.cancelled) }

  private func finish(_ end: NetworkOutcome) {
    // Released outside the lock: a deinit may cancel another call.
    let ended = state.withLock { state in
      defer { if state.end == nil { state = State(end: end) } }
      return state
    }
    if ended.end != nil { return }
    ended.cancelTimer?()
    if end.interruption != nil { ended.handle?.cancel() }
    var end = end
    // On Apple's platforms the handle is a task. Its completion handler cannot ask this: it would retain its own task.
    if let task = ended.handle as? URLSessionTask, task.countOfBytesSent > 0 { end.mayHaveSent = true }
    ended.completion?(end)
  }
}
