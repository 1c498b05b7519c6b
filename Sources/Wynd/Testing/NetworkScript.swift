// Testing: a performer that responds from a script, for the tests of an app. It needs Core.

public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Responds to requests in a test, in place of a session. It uses no network and no global state, and time is
/// simulated: a wait of a minute ends at once.
///
/// ```swift
/// let script = NetworkScript([.status(503), .dropped, .ok("[]")])
/// let users = try await script.load(.get("/users", as: [User].self))
/// #expect(script.requests.count == 3)
/// ```
nonisolated public final class NetworkScript: NetworkSendingPerformer {
  /// The outcome of one request.
  public enum Step: Sendable, CustomStringConvertible {
    /// A response with its complete body.
    case response(Int, headers: NetworkHeaders, body: Data)
    /// A response whose body arrives in chunks, for a transfer or a stream. If `isCut` is true, the connection is then
    /// lost.
    case chunks(Int, headers: NetworkHeaders, [Data], isCut: Bool)
    /// The request fails with this error.
    case failure(URLError)
    /// The request waits at a gate, until the test opens it. Then it continues with the other step.
    indirect case held(NetworkScriptGate, Step)
    /// No response: the attempt times out after the request's `timeoutInterval`.
    case silence
    /// A response with status 200 and a text body.
    public static func ok(_ body: String, headers: NetworkHeaders = [:]) -> Step {
      .status(200, body, headers: headers)
    }
    /// A response with a text body.
    public static func status(_ code: Int, _ body: String = "", headers: NetworkHeaders = [:]) -> Step {
      .response(code, headers: headers, body: Data(body.utf8))
    }
    /// A response with a value as JSON, with dates as ISO 8601.
    ///
    /// ```swift
    /// let script = NetworkScript([try .json([User(id: 1, name: "Ada")])])
    /// ```
    ///
    /// - Throws: The error of encoding the value.
    public static func json(
      _ value: some Encodable, status: Int = 200, headers: NetworkHeaders = ["Content-Type": "application/json"]
    ) throws -> Step {
      let encoder = JSONEncoder()
      encoder.dateEncodingStrategy = .iso8601
      return .response(status, headers: headers, body: try encoder.encode(value))
    }
    /// The request fails with an error of this code.
    public static func failure(_ code: URLError.Code) -> Step { .failure(URLError(code)) }
    /// The request fails because the connection is lost.
    public static let dropped = Step.failure(URLError.Code.networkConnectionLost)
    /// The status and the size of the body, or the error.
    public var description: String {
      switch self {
      case .response(let status, _, let body): "\(status), \(body.count) bytes"
      case .chunks(let status, _, let chunks, _): "\(status), \(chunks.reduce(0) { $0 + $1.count }) bytes"
      case .failure(let error): "URLError \(error.code.rawValue)"
      case .held(_, let step): "held: \(step)"
      case .silence: "no response"
      }
    }
  }

  /// Where completion handlers are called.
  public let delegateQueue = OperationQueue()
  /// Supplies the scheme, host and port of requests that have none, as the base URL of a client does. Its path is
  /// prepended to theirs. A client that is made on the script does not use it, so that a test finds a client whose own
  /// base URL is missing.
  public let baseURL: URL?
  /// The base URL.
  public var defaults: NetworkDefaults {
    var defaults = NetworkDefaults(baseURL: baseURL)
    defaults.isOfScript = true
    defaults.clock = NetworkScriptPlay(script: self)
    return defaults
  }
  fileprivate let respond: @Sendable (URLRequest, Int) -> Step
  fileprivate let hasSteps: Bool
  fileprivate let log = NetworkLock<(requests: [URLRequest], elapsed: Swift.Duration)>(([], .zero))

  /// Makes a script that performs the steps in order and repeats the last one. With no steps, a call fails with
  /// ``NetworkError/invalidRequest(reason:)``.
  ///
  /// - Parameters:
  ///   - steps: One for each request.
  ///   - baseURL: The base URL of requests without a host. Its path is prepended to theirs.
  public convenience init(_ steps: [Step], baseURL: URL? = URL(string: "https://example.com")) {
    self.init(baseURL, hasSteps: !steps.isEmpty) { _, number in
      number < steps.count ? steps[number] : steps.last ?? .silence
    }
  }

  /// Makes a script from a closure that receives each request and its index, counted from 0.
  ///
  /// - Parameters:
  ///   - baseURL: The base URL of requests without a host. Its path is prepended to theirs.
  ///   - respond: Returns the outcome of a request.
  public convenience init(
    baseURL: URL? = URL(string: "https://example.com"), _ respond: @escaping @Sendable (URLRequest, Int) -> Step
  ) {
    self.init(baseURL, hasSteps: true, respond)
  }

  private init(_ baseURL: URL?, hasSteps: Bool, _ respond: @escaping @Sendable (URLRequest, Int) -> Step) {
    self.baseURL = baseURL
    self.hasSteps = hasSteps
    self.respond = respond
    delegateQueue.maxConcurrentOperationCount = 1
  }

  /// Carries out a call with the steps of this script.
  public func perform(_ plan: NetworkCallPlan) async -> Swift.Result<NetworkResponse<Data>, NetworkError> {
    let play = NetworkScriptPlay(script: self)
    return await RetryLoop(prepared(plan), on: play, clock: play).run()
  }

  /// Carries out a call with the steps of this script.
  public func perform(
    _ plan: NetworkCallPlan,
    completionHandler: @escaping @Sendable (Swift.Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask {
    let play = NetworkScriptPlay(script: self)
    return RetryLoop(prepared(plan), on: play, clock: play)
      .start(on: delegateQueue, completion: completionHandler)
  }

  /// Every request that was sent, in order, with the changes of all middleware. `httpBody` is the body, even if it was
  /// not in memory: a file, a stream or a multipart form.
  public var requests: [URLRequest] { log.withLock { $0.requests } }
  /// The simulated duration of all calls together: waits between attempts, and time-outs.
  public var elapsed: Swift.Duration { log.withLock { $0.elapsed } }

  private func prepared(_ plan: NetworkCallPlan) -> NetworkCallPlan {
    var plan = plan
    plan.request.url = plan.request.url.map(completed)
    // A budget uses real time, but the script simulates time.
    plan.policy.budget = .unlimited
    return plan
  }

  /// Adds the base URL to a URL without a host.
  private func completed(_ url: URL) -> URL {
    guard url.scheme == nil, url.host?.isEmpty != false, let baseURL,
      var parts = URLComponents(url: baseURL, resolvingAgainstBaseURL: true)
    else { return url }
    var prefix = parts.percentEncodedPath
    if prefix.hasSuffix("/") { prefix.removeLast() }
    let path = url.path(percentEncoded: true)
    parts.percentEncodedPath = prefix + (path.hasPrefix("/") ? "" : "/") + path
    parts.percentEncodedQuery = url.query(percentEncoded: true)
    return parts.url ?? url
  }
}

/// Responds to one call with the steps of the script, and simulates its time. The time advances only during waits and
/// time-outs, without a delay.
nonisolated private struct NetworkScriptPlay: NetworkTransport, RetryClock {
  private struct Timer: Sendable {
    var due: Swift.Duration
    var action: @Sendable () -> Void
  }
  private struct State: Sendable {
    var now = Swift.Duration.zero
    var timers: [Int: Timer] = [:]
    var lastTimer = 0
  }
  let script: NetworkScript
  private let state = NetworkLock(State())

  func validationError(for request: URLRequest) -> String? { NetworkRequestValidation.invalidReason(of: request) }

  func start(_ outgoing: NetworkOutgoing, _ completion: NetworkAttemptCompletion) {
    var outgoing = outgoing
    do {
      if !script.hasSteps { throw NetworkError.invalidRequest(reason: "the NetworkScript has no steps") }
      outgoing.request = try recorded(outgoing)
    } catch {
      return completion.end(NetworkOutcome(error: error as? NetworkError ?? .generalError(error)))
    }
    let request = outgoing.request
    let number = script.log.withLock { log in
      log.requests.append(request)
      return log.requests.count - 1
    }
    carryOut(script.respond(request, number), outgoing, completion)
  }

  private func carryOut(_ step: NetworkScript.Step, _ outgoing: NetworkOutgoing, _ completion: NetworkAttemptCompletion)
  {
    switch step {
    case .response(let status, let headers, let body):
      completion.end(outcome(outgoing, status, headers, [body]))
    case .chunks(let status, let headers, let chunks, let isCut):
      let error = isCut ? URLError(.networkConnectionLost) : nil
      completion.end(outcome(outgoing, status, headers, chunks, error))
    case .failure(let error):
      completion.end(NetworkOutcome(error: error))
    case .held(let gate, let step):
      gate.pass { carryOut(step, outgoing, completion) }
    case .silence:
      pass(.bounded(seconds: outgoing.request.timeoutInterval)) {
        completion.end(NetworkOutcome(error: URLError(.timedOut)))
      }
    }
  }

  /// The request with its body, which is read as a session would read it.
  private func recorded(_ outgoing: NetworkOutgoing) throws -> URLRequest {
    var request = outgoing.request
    if let file = outgoing.bodies?.file {
      request.httpBody = try Data(contentsOf: file)
    } else if let stream = try outgoing.bodies?.stream?() {
      let length = request.value(forHTTPHeaderField: "Content-Length").flatMap { Int($0) }
      request.httpBody = try Self.data(of: stream, length: length)
    }
    return request
  }

  /// What a stream contains, or its first `length` bytes.
  private static func data(of stream: InputStream, length: Int?) throws -> Data {
    stream.open()
    defer { stream.close() }
    var data = Data()
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while data.count < length ?? .max {
      let count = chunk.withUnsafeMutableBufferPointer { buffer in
        buffer.baseAddress.map { stream.read($0, maxLength: buffer.count) } ?? 0
      }
      if count < 0 { throw stream.streamError ?? CocoaError(.fileReadUnknown) }
      if count == 0 { break }
      data += chunk.prefix(count)
    }
    return length.map { data.prefix($0) } ?? data
  }

  private func outcome(
    _ outgoing: NetworkOutgoing, _ status: Int, _ headers: NetworkHeaders, _ chunks: [Data],
    _ error: URLError? = nil
  ) -> NetworkOutcome {
    let request = outgoing.request
    // URLSession joins fields of the same name.
    var values: [String: String] = [:]
    for field in headers.fields where !values.keys.contains(where: field.isNamed) {
      values[field.name] = headers[field.name]
    }
    let response = request.url.flatMap {
      HTTPURLResponse(url: $0, statusCode: status, httpVersion: "HTTP/1.1", headerFields: values)
    }
    var outcome = NetworkOutcome(data: Data(chunks.joined()), response: response, error: error)
    guard let bodies = outgoing.bodies, let response else { return outcome }
    do {
      bodies.onSent(Int64(request.httpBody?.count ?? 0))
      try bodies.onHead(response)
      for chunk in chunks { try bodies.onData(chunk) }
    } catch { outcome.error = error as? NetworkError ?? .generalError(error) }
    return outcome
  }

  var now: Swift.Duration { state.withLock { $0.now } }
  var date: Foundation.Date { Foundation.Date(timeIntervalSince1970: 1_767_225_600 + now.secondsAsDouble) }
  func random() -> Double { 0.5 }

  func sleep(for delay: Swift.Duration) async throws {
    try _Concurrency.Task.checkCancellation()
    pass(delay) {}
  }

  func timer(after delay: Swift.Duration, _ action: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let id = state.withLock { state in
      state.lastTimer += 1
      state.timers[state.lastTimer] = Timer(due: state.now + max(.zero, delay), action: action)
      return state.lastTimer
    }
    return { [state] in
      _ = state.withLock { $0.timers.removeValue(forKey: id) }
    }
  }

  /// Advances the clock by the delay, and performs the action. If a timer is due before that, advances to the timer,
  /// and fires it instead.
  private func pass(_ delay: Swift.Duration, _ action: @escaping @Sendable () -> Void) {
    let (passing, action) = state.withLock { state -> (Swift.Duration, @Sendable () -> Void) in
      let before = state.now
      let first = state.timers.min { $0.value.due < $1.value.due }
      if let first, first.value.due <= before + delay {
        state.timers[first.key] = nil
        state.now = max(before, first.value.due)
        return (state.now - before, first.value.action)
      }
      state.now = before + delay
      return (delay, action)
    }
    script.log.withLock { $0.elapsed += passing }
    action()
  }
}
