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
    /// A response whose body arrives in chunks, for a transfer or a stream. If `isCut` is true, the connection is then
    /// lost.
    case chunks(Int, headers: [String: String], [Data], isCut: Bool)
    /// The request fails with this error.
    case failure(URLError)
    /// No response: the attempt times out after the request's `timeoutInterval`.
    case silence
    /// A response with its complete body.
    public static func response(_ code: Int, headers: [String: String] = [:], body: Data) -> Step {
      .chunks(code, headers: headers, [body], isCut: false)
    }
    /// A response with status 200 and a text body.
    public static func ok(_ body: String, headers: [String: String] = [:]) -> Step {
      .status(200, body, headers: headers)
    }
    /// A response with a text body.
    public static func status(_ code: Int, _ body: String = "", headers: [String: String] = [:]) -> Step {
      .response(code, headers: headers, body: Data(body.utf8))
    }
    /// A response with a value as JSON, with dates as ISO 8601, in whole seconds.
    ///
    /// ```swift
    /// let script = NetworkScript([try .json([User(id: 1, name: "Ada")])])
    /// ```
    ///
    /// - Throws: The error of encoding the value.
    public static func json(
      _ value: some Encodable, status: Int = 200, headers: [String: String] = ["Content-Type": "application/json"]
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
      case .chunks(let status, _, let chunks, _): "\(status), \(chunks.reduce(0) { $0 + $1.count }) bytes"
      case .failure(let error): "URLError \(error.code.rawValue)"
      case .silence: "no response"
      }
    }
  }

  fileprivate let respond: @Sendable (URLRequest, Int) async -> Step
  fileprivate let hasSteps: Bool
  fileprivate let log = NetworkLock<(requests: [URLRequest], elapsed: Swift.Duration)>(([], .zero))

  /// Makes a script that performs the steps in order and repeats the last one. With no steps, a call fails with
  /// ``NetworkError/invalidRequest(reason:)``.
  ///
  /// - Parameter steps: One for each request.
  public convenience init(_ steps: [Step]) {
    self.init(hasSteps: !steps.isEmpty) { _, number in
      number < steps.count ? steps[number] : steps.last ?? .silence
    }
  }

  /// Makes a script from a closure that receives each request and its index, counted from 0.
  ///
  /// It may wait, so that a test sees what the app shows meanwhile. The simulated time stands still then: a deadline
  /// does not end the call, but a cancellation does. Canceling a call that waits for an `AsyncStream` ends that stream,
  /// and so lets other calls continue that wait for it.
  ///
  /// ```swift
  /// let (gate, opening) = AsyncStream.makeStream(of: Void.self)
  /// let script = NetworkScript { _, _ in
  ///   for await _ in gate { break }
  ///   return .ok("[]")
  /// }
  /// // Here, the app shows that it is loading.
  /// opening.yield()
  /// ```
  ///
  /// - Parameter respond: Returns the outcome of a request.
  public convenience init(_ respond: @escaping @Sendable (URLRequest, Int) async -> Step) {
    self.init(hasSteps: true, respond)
  }

  private init(hasSteps: Bool, _ respond: @escaping @Sendable (URLRequest, Int) async -> Step) {
    self.hasSteps = hasSteps
    self.respond = respond
  }

  /// The default coders, and simulated time for the waits between the connections of an event stream.
  public var defaults: NetworkDefaults {
    var defaults = NetworkDefaults()
    defaults.clock = NetworkScriptPlay(script: self)
    return defaults
  }

  /// Carries out a call with the steps of this script.
  public func perform(_ plan: NetworkCallPlan) async -> Swift.Result<NetworkResponse<Data>, NetworkError> {
    var plan = plan
    // A budget uses real time, but the script simulates time.
    plan.policy.budget = .unlimited
    let play = NetworkScriptPlay(script: self)
    return await RetryLoop(plan, on: play, clock: play).run()
  }

  /// Every request that was sent, in order, with the changes of all middleware. `httpBody` is the body, even if it was
  /// not in memory: a file, a stream or a multipart form.
  public var requests: [URLRequest] { log.withLock { $0.requests } }
  /// The simulated duration of all calls together: waits between attempts, and time-outs.
  public var elapsed: Swift.Duration { log.withLock { $0.elapsed } }
}

/// Responds to one call with the steps of the script, and simulates its time. The time advances only during waits and
/// time-outs, without a delay.
nonisolated private struct NetworkScriptPlay: NetworkTransport, RetryClock {
  private struct State: Sendable {
    var now = Swift.Duration.zero
    /// The timers that have not been canceled: the limits of the attempt and of the call.
    var timers: [(id: Int, due: Swift.Duration, action: @Sendable () -> Void)] = []
    var lastTimer = 0
  }
  let script: NetworkScript
  private let state = NetworkLock(State())

  func send(_ outgoing: NetworkOutgoing, _ completion: NetworkAttemptCompletion) {
    if let reason = NetworkRequestValidation.invalidReason(of: outgoing.request) {
      return completion.end(.invalid(reason))
    }
    var outgoing = outgoing
    outgoing.setLengthOfStream()
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
    let responding = _Concurrency.Task { [outgoing] in
      carryOut(await script.respond(request, number), outgoing, completion)
    }
    completion.onCancel { responding.cancel() }
  }

  private func carryOut(_ step: NetworkScript.Step, _ outgoing: NetworkOutgoing, _ completion: NetworkAttemptCompletion)
  {
    switch step {
    case .chunks(let status, let headers, let chunks, let isCut):
      let error = isCut ? URLError(.networkConnectionLost) : nil
      completion.end(outcome(outgoing, status, headers, chunks, error))
    case .failure(let error):
      completion.end(NetworkOutcome(error: error))
    case .silence:
      run(after: .bounded(seconds: outgoing.request.timeoutInterval)) {
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
      let length = request.value(forHTTPHeaderField: "Content-Length").flatMap(NetworkDigits.number)
      request.httpBody = try Self.data(of: stream, length: length.map { Int(clamping: $0) })
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
    _ outgoing: NetworkOutgoing, _ status: Int, _ headers: [String: String], _ chunks: [Data],
    _ error: URLError? = nil
  ) -> NetworkOutcome {
    let request = outgoing.request
    let response = request.url.flatMap {
      HTTPURLResponse(url: $0, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)
    }
    var outcome = NetworkOutcome(data: chunks.reduce(into: Data(), +=), response: response, error: error)
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
    run(after: delay) {}
  }

  func timer(after delay: Swift.Duration, _ action: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let id = state.withLock { state in
      state.lastTimer += 1
      state.timers.append((state.lastTimer, state.now + max(.zero, delay), action))
      return state.lastTimer
    }
    return { [state] in state.withLock { $0.timers.removeAll { $0.id == id } } }
  }

  /// Advances the clock by the delay, and performs the action. If a limit is reached before that, advances to it, and
  /// ends the attempt instead.
  private func run(after delay: Swift.Duration, _ action: @escaping @Sendable () -> Void) {
    let (passing, action) = state.withLock { state -> (Swift.Duration, @Sendable () -> Void) in
      let before = state.now
      // The older one of two that are due at once.
      if let first = state.timers.min(by: { $0.due < $1.due }), first.due <= before + delay {
        state.timers.removeAll { $0.id == first.id }
        state.now = max(before, first.due)
        return (state.now - before, first.action)
      }
      state.now = before + delay
      return (delay, action)
    }
    script.log.withLock { $0.elapsed += passing }
    action()
  }
}
