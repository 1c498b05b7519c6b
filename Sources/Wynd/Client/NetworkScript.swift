import Dispatch
public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// What a ``NetworkClient`` is answered with in a test: one answer after the other, the last for all that follow. No
/// network, no global state, and no time passes: a wait of a minute is over at once.
///
/// ```swift
/// let script = NetworkScript.scripted([.status(503), .dropped, .ok("{}")])
/// let client = NetworkClient(transport: script)
/// let data = try await client.performNetworkRequest(request)
/// #expect(script.requests.count == 3)
/// ```
nonisolated public final class NetworkScript: @unchecked Sendable {
  /// What comes of one send.
  public enum Step: Sendable {
    /// An answer.
    case answer(Int, headers: [String: String], body: Data)
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

  let queue = OperationQueue()
  private let lock = NSLock()
  private let respond: @Sendable (URLRequest, Int) -> Step
  private var sent: [URLRequest] = []
  private var waited = Duration.zero

  /// Answers by a closure that gets the request and its number, counted from 0.
  public init(_ respond: @escaping @Sendable (URLRequest, Int) -> Step) {
    self.respond = respond
    queue.maxConcurrentOperationCount = 1
  }

  /// Answers in this order; an empty script never answers.
  public static func scripted(_ steps: [Step]) -> NetworkScript {
    NetworkScript { _, number in number < steps.count ? steps[number] : steps.last ?? .silence }
  }

  /// Every request that was sent, in order, as the last middleware left it.
  public var requests: [URLRequest] { lock.withLock { sent } }
  /// How long all calls together would have taken, had time passed: waits between attempts and time-outs.
  public var elapsed: Duration { lock.withLock { waited } }

  func run(
    _ request: URLRequest, _ policy: RetryPolicy, _ allowEmptyData: Bool,
    _ through: (any NetworkTransport) -> any NetworkTransport
  ) async throws(NetworkError) -> NetworkResponse {
    var policy = policy
    // Its clock is another.
    policy.budget = nil
    let clock = ScriptClock { [self] delay in lock.withLock { waited += delay } }
    let transport = ScriptTransport(script: self, clock: clock, inner: nil)
    let outer = ScriptTransport(script: self, clock: clock, inner: through(transport))
    let loop = RetryLoop(request, policy: policy, allowEmptyData: allowEmptyData, transport: outer, clock: clock)
    return try await loop.run {
      clock.stop()
      return $0
    }.get()
  }

  fileprivate func step(for request: URLRequest) -> Step {
    let number = lock.withLock {
      sent.append(request)
      return sent.count - 1
    }
    return respond(request, number)
  }
}

/// Twice around the attempt: outside, the clock is told that something is under way; inside, the script answers.
nonisolated private struct ScriptTransport: NetworkTransport {
  let script: NetworkScript
  let clock: ScriptClock
  let inner: (any NetworkTransport)?

  var isOver: Bool { false }
  func refusal(of request: URLRequest) -> String? { SessionTransport.flaw(in: request) }

  func send(_ request: URLRequest, completion: @escaping @Sendable (NetworkOutcome) -> Void) -> any NetworkFlight {
    if let inner {
      clock.begin()
      return inner.send(request) { [clock] outcome in
        completion(outcome)
        clock.end()
      }
    }
    switch script.step(for: request) {
    case .answer(let status, let headers, let body):
      let response = request.url.flatMap {
        HTTPURLResponse(url: $0, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)
      }
      completion(NetworkOutcome(data: body, response: response))
    case .failure(let code): completion(NetworkOutcome(error: URLError(code)))
    case .silence:
      let wait = clock.wait(.bounded(seconds: request.timeoutInterval)) { [clock] in
        clock.begin()
        completion(NetworkOutcome(error: URLError(.timedOut)))
      }
      clock.end()
      return ScriptFlight(clock, wait)
    }
    return ScriptFlight(clock, nil)
  }
}

nonisolated private final class ScriptFlight: NetworkFlight {
  private let clock: ScriptClock
  private let wait: RetryWait?
  init(_ clock: ScriptClock, _ wait: RetryWait?) { (self.clock, self.wait) = (clock, wait) }
  func cancel() { wait.map(clock.cancel) }
}

/// Time that passes only while nothing is under way, and then at once.
nonisolated private final class ScriptClock: RetryClock, @unchecked Sendable {
  private static let queue = DispatchQueue(label: "Wynd.ScriptClock", qos: .userInitiated)
  private let lock = NSLock()
  private let waited: @Sendable (Duration) -> Void
  private var time = Duration.zero
  private var waits: [UInt64: (due: Duration, action: @Sendable () -> Void)] = [:]
  private var lastID: UInt64 = 0
  // The start of the call counts until the first send takes its place.
  private var underWay = 1
  private var hasBegun = false

  init(_ waited: @escaping @Sendable (Duration) -> Void) { self.waited = waited }

  var now: Duration { lock.withLock { time } }
  var date: Date { Date(timeIntervalSince1970: 1_767_225_600 + now.secondsAsDouble) }
  func random() -> Double { 0.5 }

  func wait(_ delay: Duration, _ action: @escaping @Sendable () -> Void) -> RetryWait {
    let id = lock.withLock {
      lastID += 1
      waits[lastID] = (time + max(.zero, delay), action)
      return lastID
    }
    pass()
    return RetryWait(id: id)
  }

  func cancel(_ wait: RetryWait) { lock.withLock { waits[wait.id] = nil } }

  /// The call has ended: no time passes after it.
  func stop() { lock.withLock { (waits, underWay) = ([:], .max / 2) } }
  func begin() {
    lock.withLock {
      underWay += hasBegun ? 1 : 0
      hasBegun = true
    }
  }
  func end() {
    lock.withLock { underWay -= 1 }
    pass()
  }

  private func pass() {
    Self.queue.async { [self] in
      let action: (@Sendable () -> Void)? = lock.withLock {
        guard underWay <= 0, let next = waits.min(by: { ($0.value.due, $0.key) < ($1.value.due, $1.key) }) else {
          return nil
        }
        waits[next.key] = nil
        let delay = max(.zero, next.value.due - time)
        time += delay
        waited(delay)
        return next.value.action
      }
      guard let action else { return }
      action()
      pass()
    }
  }
}
