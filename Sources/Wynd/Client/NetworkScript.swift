import Dispatch
public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Responds to calls in a test: one step after the other, the last for all that follow. No
/// network, no global state, and no time passes: a wait of a minute is over at once.
///
/// ```swift
/// let script = NetworkScript.scripted([.status(503), .dropped, .ok("{}")])
/// let client = NetworkClient(script: script)
/// let data = try await client.performNetworkRequest(request)
/// #expect(script.requests.count == 3)
/// ```
nonisolated public final class NetworkScript: NetworkPerformer, NetworkLoopSource, @unchecked Sendable {
  /// What comes of one send.
  public enum Step: Sendable {
    /// An answer.
    case answer(Int, headers: [String: String], body: Data)
    /// A response whose body comes in pieces, for a transfer or a stream; `isCut`: then the connection is lost.
    case chunks(Int, headers: [String: String], [Data], isCut: Bool)
    /// A failure of the transport.
    case failure(URLError.Code)
    /// Nothing comes: the attempt times out, after the seconds of the request's `timeoutInterval`.
    case silence
    /// Status 200 with a body of text.
    public static func ok(_ body: String, headers: [String: String] = [:]) -> Step {
      .status(200, body, headers: headers)
    }
    /// An answer with a body of text.
    public static func status(_ code: Int, _ body: String = "", headers: [String: String] = [:]) -> Step {
      .answer(code, headers: headers, body: Data(body.utf8))
    }
    /// The connection is lost.
    public static let dropped = Step.failure(.networkConnectionLost)
  }

  let completionQueue = OperationQueue()
  private let lock = NSLock()
  private let respond: @Sendable (URLRequest, Int) -> Step
  private var sent: [URLRequest] = []
  private var waited = Duration.zero

  /// Answers by a closure that gets the request and its number, counted from 0.
  public init(_ respond: @escaping @Sendable (URLRequest, Int) -> Step) {
    self.respond = respond
    completionQueue.maxConcurrentOperationCount = 1
  }

  /// Answers in this order; an empty script never answers.
  public static func scripted(_ steps: [Step]) -> NetworkScript {
    NetworkScript { _, number in number < steps.count ? steps[number] : steps.last ?? .silence }
  }

  /// The calls that this script responds to.
  public var networkCaller: NetworkCaller { NetworkCaller(source: self) }

  /// Every request that was sent, in order, as the last middleware left it.
  public var requests: [URLRequest] { lock.withLock { sent } }
  /// How long all calls together would have taken, had time passed: waits between attempts and time-outs.
  public var elapsed: Duration { lock.withLock { waited } }

  func loop(for call: NetworkCallPlan) -> RetryLoop {
    var policy = call.policy ?? .default
    // Its clock is another.
    policy.budget = nil
    let clock = ScriptClock { [self] delay in lock.withLock { waited += delay } }
    return call.loop(on: ScriptTransport(script: self, clock: clock), policy: policy, clock: clock)
  }

  fileprivate func step(for request: URLRequest) -> Step {
    let number = lock.withLock {
      sent.append(request)
      return sent.count - 1
    }
    return respond(request, number)
  }
}

/// Answers with the steps of the script.
nonisolated private struct ScriptTransport: NetworkTransport {
  let script: NetworkScript
  let clock: ScriptClock

  var isInvalidated: Bool { false }
  func validationError(for request: URLRequest) -> String? { SessionTransport.validationError(for: request) }

  func prepare(
    _ request: URLRequest, _ transfer: NetworkTransferBody?, completion: @escaping Completion
  ) -> any NetworkRequestHandle {
    ScriptHandle { [self] in
      switch script.step(for: request) {
      case .answer(let status, let headers, let body):
        respond(to: request, transfer, status, headers, [body], error: nil, completion)
      case .chunks(let status, let headers, let chunks, let isCut):
        let error = isCut ? URLError(.networkConnectionLost) : nil
        respond(to: request, transfer, status, headers, chunks, error: error, completion)
      case .failure(let code):
        completion(NetworkOutcome(error: URLError(code)))
      case .silence:
        // A deadline may come first.
        _ = clock.timer(after: .bounded(seconds: request.timeoutInterval)) {
          completion(NetworkOutcome(error: URLError(.timedOut)))
        }
        clock.passToNextTimer()
      }
    }
  }

  private func respond(
    to request: URLRequest, _ transfer: NetworkTransferBody?, _ status: Int, _ headers: [String: String],
    _ chunks: [Data], error: URLError?, _ completion: Completion
  ) {
    let head = request.url.flatMap {
      HTTPURLResponse(url: $0, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)
    }
    var outcome = NetworkOutcome(data: chunks.reduce(Data(), +), response: head, error: error)
    if let transfer, let head {
      outcome.data = Data()
      do throws(NetworkError) {
        transfer.receiver.sent(try transfer.size ?? Int64(request.httpBody?.count ?? 0))
        try transfer.receiver.receive(head)
        for chunk in chunks { try transfer.receiver.receive(chunk) }
      } catch {
        outcome.error = error
      }
    }
    completion(outcome)
  }
}

nonisolated extension NetworkTransferBody {
  /// Bytes of the body, which is read as a session would; nil if it is in the request.
  fileprivate var size: Int64? {
    get throws(NetworkError) {
      do {
        if let file { return Int64(try Data(contentsOf: file, options: .mappedIfSafe).count) }
        guard let stream = try stream?() else { return nil }
        stream.open()
        defer { stream.close() }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var size = Int64(0)
        while true {
          let count = stream.read(&buffer, maxLength: buffer.count)
          if count < 0 { throw stream.streamError ?? CocoaError(.fileReadUnknown) }
          if count == 0 { return size }
          size += Int64(count)
        }
      } catch {
        throw .transferFailed(error)
      }
    }
  }
}

nonisolated private final class ScriptHandle: NetworkRequestHandle {
  private let start: @Sendable () -> Void
  private let isCancelled = NetworkLock(false)
  init(_ start: @escaping @Sendable () -> Void) { self.start = start }
  func resume() { if !isCancelled.withLock({ $0 }) { start() } }
  func cancel() { isCancelled.withLock { $0 = true } }
}

/// Time that passes only in waits and in silence, and then at once.
nonisolated private final class ScriptClock: RetryClock {
  private struct State: Sendable {
    var time = Duration.zero
    var timers: [Int: (due: Duration, action: @Sendable () -> Void)] = [:]
    var lastTimer = 0
  }
  private let state = NetworkLock(State())
  private let waited: @Sendable (Duration) -> Void

  init(_ waited: @escaping @Sendable (Duration) -> Void) { self.waited = waited }

  var now: Duration { state.withLock { $0.time } }
  var date: Date { Date(timeIntervalSince1970: 1_767_225_600 + now.secondsAsDouble) }
  func random() -> Double { 0.5 }

  func sleep(for delay: Duration) async throws {
    try Task.checkCancellation()
    state.withLock { $0.time += delay }
    waited(delay)
  }

  func timer(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let number = state.withLock { state in
      state.lastTimer += 1
      state.timers[state.lastTimer] = (state.time + max(.zero, delay), action)
      return state.lastTimer
    }
    return { [state] in state.withLock { _ = $0.timers.removeValue(forKey: number) } }
  }

  func passToNextTimer() {
    let next = state.withLock { state -> (delay: Duration, action: @Sendable () -> Void)? in
      guard let next = state.timers.min(by: { ($0.value.due, $0.key) < ($1.value.due, $1.key) }) else { return nil }
      state.timers[next.key] = nil
      defer { state.time = max(state.time, next.value.due) }
      return (max(.zero, next.value.due - state.time), next.value.action)
    }
    guard let next else { return }
    waited(next.delay)
    next.action()
  }
}
