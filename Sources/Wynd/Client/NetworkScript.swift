/// Responds to requests in a test, in place of a session. It uses no network and no global state, and time is
/// simulated: a wait of a minute ends at once.
///
/// ```swift
/// let script = NetworkScript.scripted([.status(503), .dropped, .ok("{}")])
/// let client = NetworkClient(script: script)
/// let data = try await client.performNetworkRequest(request)
/// #expect(script.requests.count == 3)
/// ```
nonisolated public final class NetworkScript: NetworkPerformer, RetryLoopFactory {
  /// The outcome of one request.
  public enum Step: Sendable {
    /// A response with its complete body.
    case response(Int, headers: [String: String], body: Data)
    /// A response whose body arrives in chunks, for a transfer or a stream. If `isCut` is true, the connection is then
    /// lost.
    case chunks(Int, headers: [String: String], [Data], isCut: Bool)
    /// The request fails with this error.
    case failure(URLError.Code)
    /// No response: the attempt times out after the request's `timeoutInterval`.
    case silence
    /// A response with status 200 and a text body.
    public static func ok(_ body: String, headers: [String: String] = [:]) -> Step {
      .status(200, body, headers: headers)
    }
    /// A response with a text body.
    public static func status(_ code: Int, _ body: String = "", headers: [String: String] = [:]) -> Step {
      .response(code, headers: headers, body: Data(body.utf8))
    }
    /// The request fails because the connection is lost.
    public static let dropped = Step.failure(.networkConnectionLost)
  }

  let completionQueue = OperationQueue()
  fileprivate let respond: @Sendable (URLRequest, Int) -> Step
  fileprivate let log = NetworkLock<(requests: [URLRequest], elapsed: Duration)>(([], .zero))

  /// Makes a script from a closure that receives each request and its index, counted from 0.
  public init(_ respond: @escaping @Sendable (URLRequest, Int) -> Step) {
    self.respond = respond
    completionQueue.maxConcurrentOperationCount = 1
  }

  /// Makes a script that performs the steps in order and repeats the last one. An empty script never responds.
  public static func scripted(_ steps: [Step]) -> NetworkScript {
    NetworkScript { _, number in number < steps.count ? steps[number] : steps.last ?? .silence }
  }

  /// Starts the calls that this script responds to.
  public var networkCaller: NetworkCaller { NetworkCaller(source: self) }

  /// Every request that was sent, in order, with the changes of all middleware.
  public var requests: [URLRequest] { log.withLock { $0.requests } }
  /// The simulated duration of all calls together: waits between attempts, and time-outs.
  public var elapsed: Duration { log.withLock { $0.elapsed } }

  func loop(for call: NetworkCallPlan) -> RetryLoop {
    var call = call
    call.policy = call.policy ?? .default
    // A budget uses real time, but the script simulates time.
    call.policy?.budget = nil
    let play = ScriptPlay(script: self)
    return RetryLoop(call, on: play, clock: play)
  }
}

/// Responds to one call with the steps of the script, and simulates its time, which advances only during waits and
/// time-outs, and without delay.
nonisolated private struct ScriptPlay: NetworkTransport, RetryClock {
  typealias Timer = (due: Duration, action: @Sendable () -> Void)
  let script: NetworkScript
  /// A call has at most one timer, for its deadline.
  let state = NetworkLock<(now: Duration, timer: Timer?)>((.zero, nil))

  var forLaterAttempts: (any NetworkTransport)? { self }
  func validationError(for request: URLRequest) -> String? { SessionTransport.validationError(for: request) }

  func prepare(
    _ request: URLRequest, _ transfer: StreamedBodies?, completion: @escaping Completion
  ) -> any NetworkRequestHandle { DeferredRequestHandle { $0.run { perform(request, transfer, completion) } } }

  private func perform(_ request: URLRequest, _ transfer: StreamedBodies?, _ completion: @escaping Completion) {
    let number = script.log.withLock { log in
      log.requests.append(request)
      return log.requests.count - 1
    }
    switch script.respond(request, number) {
    case .response(let status, let headers, let body): completion(outcome(request, transfer, status, headers, [body]))
    case .chunks(let status, let headers, let chunks, let isCut):
      completion(outcome(request, transfer, status, headers, chunks, isCut ? URLError(.networkConnectionLost) : nil))
    case .failure(let code): completion(NetworkOutcome(error: URLError(code)))
    case .silence:
      pass(.bounded(seconds: request.timeoutInterval)) { completion(NetworkOutcome(error: URLError(.timedOut))) }
    }
  }

  private func outcome(
    _ request: URLRequest, _ transfer: StreamedBodies?, _ status: Int, _ headers: [String: String],
    _ chunks: [Data], _ error: URLError? = nil
  ) -> NetworkOutcome {
    let response = request.url.flatMap {
      HTTPURLResponse(url: $0, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)
    }
    var outcome = NetworkOutcome(data: Data(chunks.joined()), response: response, error: error)
    guard let transfer, let response else { return outcome }
    do {
      // Open the stream as a session would. Its size is known only from Content-Length.
      _ = try transfer.stream?()
      let length = request.value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) }
      let size = try transfer.file.map { Int64(try Data(contentsOf: $0).count) } ?? length
      transfer.onSent(size ?? Int64(request.httpBody?.count ?? 0))
      try transfer.onHead(response)
      for chunk in chunks { try transfer.onData(chunk) }
    } catch { outcome.error = error as? NetworkError ?? .transferFailed(error) }
    return outcome
  }

  var now: Duration { state.withLock { $0.now } }
  var date: Date { Date(timeIntervalSince1970: 1_767_225_600 + now.secondsAsDouble) }
  func random() -> Double { 0.5 }

  func sleep(for delay: Duration) async throws {
    try Task.checkCancellation()
    pass(delay) {}
  }

  func timer(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    state.withLock { $0.timer = ($0.now + max(.zero, delay), action) }
    return { [state] in state.withLock { $0.timer = nil } }
  }

  /// Advances the clock by the delay and performs the action, or advances to the timer if that is due first and fires
  /// it.
  private func pass(_ delay: Duration, _ action: @escaping @Sendable () -> Void) {
    let (passing, action) = state.withLock { state -> (Duration, @Sendable () -> Void) in
      let end: Timer = (state.now + delay, action)
      let next = state.timer.flatMap { $0.due <= end.due ? $0 : nil } ?? end
      defer { state.now = max(state.now, next.due) }
      return (max(.zero, next.due - state.now), next.action)
    }
    script.log.withLock { $0.elapsed += passing }
    action()
  }
}
