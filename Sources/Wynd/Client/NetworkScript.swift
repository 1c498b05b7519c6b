public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Responds to calls in a test: one step after the other, the last one for all requests that follow. It uses no network and
/// no global state, and no time passes: a wait of a minute is over at once.
///
/// ```swift
/// let script = NetworkScript.scripted([.status(503), .dropped, .ok("{}")])
/// let client = NetworkClient(script: script)
/// let data = try await client.performNetworkRequest(request)
/// #expect(script.requests.count == 3)
/// ```
nonisolated public final class NetworkScript: NetworkPerformer, RetryLoopFactory {
  /// What happens to one request.
  public enum Step: Sendable {
    /// A response with its whole body.
    case response(Int, headers: [String: String], body: Data)
    /// A response whose body comes in pieces, for a transfer or a stream; `isCut`: then the connection is lost.
    case chunks(Int, headers: [String: String], [Data], isCut: Bool)
    /// A failure of the transport.
    case failure(URLError.Code)
    /// No response: the attempt times out, after the seconds of the request's `timeoutInterval`.
    case silence
    /// Status 200 with a body of text.
    public static func ok(_ body: String, headers: [String: String] = [:]) -> Step {
      .status(200, body, headers: headers)
    }
    /// A response with a body of text.
    public static func status(_ code: Int, _ body: String = "", headers: [String: String] = [:]) -> Step {
      .response(code, headers: headers, body: Data(body.utf8))
    }
    /// The connection is lost.
    public static let dropped = Step.failure(.networkConnectionLost)
  }

  let completionQueue = OperationQueue()
  private let respond: @Sendable (URLRequest, Int) -> Step
  private let log = NetworkLock<(requests: [URLRequest], elapsed: Duration)>(([], .zero))

  /// Responds with a closure that gets the request and its number, counted from 0.
  public init(_ respond: @escaping @Sendable (URLRequest, Int) -> Step) {
    self.respond = respond
    completionQueue.maxConcurrentOperationCount = 1
  }

  /// Responds in this order; an empty script never responds.
  public static func scripted(_ steps: [Step]) -> NetworkScript {
    NetworkScript { _, number in number < steps.count ? steps[number] : steps.last ?? .silence }
  }

  /// The calls that this script responds to.
  public var networkCaller: NetworkCaller { NetworkCaller(source: self) }

  /// Every request that was sent, in order, as the last middleware left it.
  public var requests: [URLRequest] { log.withLock { $0.requests } }
  /// How long all calls together would have taken, had time passed: waits between attempts and time-outs.
  public var elapsed: Duration { log.withLock { $0.elapsed } }

  func loop(for call: NetworkCallPlan) -> RetryLoop {
    var policy = call.policy ?? .default
    // Its time is another than the script's.
    policy.budget = nil
    let clock = ScriptClock { [log] delay in log.withLock { $0.elapsed += delay } }
    return call.loop(on: ScriptTransport(script: self, clock: clock), policy: policy, clock: clock)
  }

  fileprivate func step(for request: URLRequest) -> Step {
    let number = log.withLock { log in
      log.requests.append(request)
      return log.requests.count - 1
    }
    return respond(request, number)
  }
}

/// Responds with the steps of the script.
nonisolated private struct ScriptTransport: NetworkTransport {
  let script: NetworkScript
  let clock: ScriptClock

  var isInvalidated: Bool { false }
  func validationError(for request: URLRequest) -> String? { SessionTransport.validationError(for: request) }

  func prepare(
    _ request: URLRequest, _ transfer: StreamedBodies?, completion: @escaping Completion
  ) -> any NetworkRequestHandle {
    TaskHandle { [self] in
      switch script.step(for: request) {
      case .response(let status, let headers, let body): completion(outcome(request, transfer, status, headers, [body]))
      case .chunks(let status, let headers, let chunks, let isCut):
        var outcome = outcome(request, transfer, status, headers, chunks)
        if isCut { outcome.error = outcome.error ?? URLError(.networkConnectionLost) }
        completion(outcome)
      case .failure(let code): completion(NetworkOutcome(error: URLError(code)))
      case .silence:
        let timeout = Duration.bounded(seconds: request.timeoutInterval)
        clock.pass(timeout) { completion(NetworkOutcome(error: URLError(.timedOut))) }
      }
    }
  }

  private func outcome(
    _ request: URLRequest, _ transfer: StreamedBodies?, _ status: Int, _ headers: [String: String],
    _ chunks: [Data]
  ) -> NetworkOutcome {
    let response = request.url.flatMap {
      HTTPURLResponse(url: $0, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)
    }
    guard let transfer, let response else { return NetworkOutcome(data: Data(chunks.joined()), response: response) }
    do {
      // A stream is made, as a session would; only its announced length is known.
      _ = try transfer.stream?()
      let length = request.value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) }
      let size = try transfer.file.map { Int64(try Data(contentsOf: $0).count) } ?? length
      transfer.onSent(size ?? Int64(request.httpBody?.count ?? 0))
      try transfer.onHead(response)
      for chunk in chunks { try transfer.onData(chunk) }
      return NetworkOutcome(data: Data(), response: response)
    } catch {
      let error = error as? NetworkError ?? .transferFailed(error)
      return NetworkOutcome(data: Data(), response: response, error: error)
    }
  }
}

/// Time that passes only in waits and in silence, and then at once.
nonisolated private struct ScriptClock: RetryClock {
  typealias Timer = (due: Duration, action: @Sendable () -> Void)
  let passed: @Sendable (Duration) -> Void
  /// A call has one timer at most: that of its deadline.
  let state = NetworkLock<(now: Duration, timer: Timer?)>((.zero, nil))

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

  /// Until the end of the delay, or until the timer if that comes first.
  func pass(_ delay: Duration, _ action: @escaping @Sendable () -> Void) {
    let (passing, action) = state.withLock { state -> (Duration, @Sendable () -> Void) in
      let end: Timer = (state.now + delay, action)
      let next = state.timer.flatMap { $0.due <= end.due ? $0 : nil } ?? end
      defer { state.now = max(state.now, next.due) }
      return (max(.zero, next.due - state.now), next.action)
    }
    passed(passing)
    action()
  }
}
