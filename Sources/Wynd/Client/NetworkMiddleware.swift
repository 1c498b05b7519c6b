#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Something that every call of a ``NetworkClient`` goes through: it may change the request, answer by itself, look at or
/// replace the answer or the error, or go on again.
///
/// ```swift
/// struct Stopwatch: NetworkMiddleware {
///   func respond(
///     to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
///   ) async throws -> NetworkResponse {
///     var request = request
///     request.setValue("7", forHTTPHeaderField: "X-Page")      // before execution
///     let began = ContinuousClock.now
///     defer { print(ContinuousClock.now - began) }             // on completion
///     do {
///       return try await next(request)                         // on success
///     } catch {
///       throw error                                            // on failure
///     }
///   }
/// }
/// ```
///
/// An error that is thrown here reaches the caller as ``NetworkError/middlewareError(_:)``, a ``NetworkError`` as itself.
nonisolated public protocol NetworkMiddleware: Sendable {
  /// Once a call, or (the default) once an attempt.
  var stage: MiddlewareStage { get }

  /// Goes on with `next`, once, again, or not at all.
  ///
  /// - Parameters:
  ///   - request: As those before have left it.
  ///   - call: What the request belongs to.
  ///   - next: The rest of the way. It throws a ``NetworkError``: in the ``MiddlewareStage/call`` stage the one that the
  ///     whole call ended with, in the ``MiddlewareStage/attempt`` stage that of one attempt.
  /// - Returns: The answer.
  /// - Throws: What the call ends with.
  func respond(
    to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
  ) async throws -> NetworkResponse

  /// After parsing: looks at the value that an endpoint was answered with, or replaces it. The default does nothing.
  ///
  /// - Parameters:
  ///   - value: What the body was parsed into.
  ///   - response: The answer.
  ///   - call: What it belongs to.
  /// - Returns: What the caller gets.
  /// - Throws: What the call ends with.
  func parsed<Value: Sendable>(_ value: Value, from response: NetworkResponse, in call: NetworkCall) async throws
    -> Value

  /// Answers that belong to one user are kept apart by this; nil (the default) if it makes no difference. Whatever adds a
  /// credential says whose it is here.
  func cacheScope(of request: URLRequest) -> String?
}

/// Where a ``NetworkMiddleware`` runs.
nonisolated public enum MiddlewareStage: Sendable {
  /// Once a call, around all its attempts: caching, a log of calls.
  case call
  /// Once an attempt: tokens, signatures, validation. What fails here is retried as any attempt.
  case attempt
}

nonisolated extension NetworkMiddleware {
  /// Once an attempt.
  public var stage: MiddlewareStage { .attempt }
  /// The value as it is.
  public func parsed<Value: Sendable>(_ value: Value, from response: NetworkResponse, in call: NetworkCall) async throws
    -> Value
  { value }
  /// None.
  public func cacheScope(of request: URLRequest) -> String? { nil }
}

/// What a request belongs to, for a middleware to look at.
nonisolated public struct NetworkCall: Sendable {
  /// The client that performs it.
  public let client: NetworkClient
  /// What was loaded; nil for a bare request.
  public let endpoint: (any Endpoint)?
  /// A download, an upload or a stream: the body of the response is not in the ``NetworkResponse``.
  public let isTransfer: Bool
  let history = History()
  /// Whether a cache can serve a stored response if this call fails, so that one attempt is enough.
  let hasFallback = NetworkLock(false)

  /// What an authentication has to know of what came before.
  final class History: @unchecked Sendable {
    private let lock = NSLock()
    // Whose call it is: with the first attempt each authentication notes who was signed in.
    private var epochs: [ObjectIdentifier: Int] = [:]
    private var hasFollowed = false
    /// The last answer is that of another request than was sent, with another method perhaps.
    var hasFollowedRedirect: Bool {
      get { lock.withLock { hasFollowed } }
      set { lock.withLock { hasFollowed = newValue } }
    }
    func epoch(of authentication: AnyObject, now: Int) -> Int {
      lock.withLock {
        let epoch = epochs[ObjectIdentifier(authentication)] ?? now
        epochs[ObjectIdentifier(authentication)] = epoch
        return epoch
      }
    }
  }
}

/// The rest of the way that a request goes.
nonisolated public struct NetworkMiddlewareNext: Sendable {
  let send: @Sendable (URLRequest) async throws -> NetworkResponse

  /// Sends the request on, through whatever comes after.
  public func callAsFunction(_ request: URLRequest) async throws -> NetworkResponse { try await send(request) }

  /// `end`, with all of these before it; the first is the outermost.
  init(
    _ middleware: [any NetworkMiddleware], in call: NetworkCall,
    end: @escaping @Sendable (URLRequest) async throws -> NetworkResponse
  ) {
    var next = NetworkMiddlewareNext(send: end)
    for middleware in middleware.reversed() {
      let rest = next
      next = NetworkMiddlewareNext {
        do { return try await middleware.respond(to: $0, in: call, next: rest) } catch {
          throw NetworkError(thrown: error)
        }
      }
    }
    self = next
  }

  private init(send: @escaping @Sendable (URLRequest) async throws -> NetworkResponse) { self.send = send }
}

nonisolated extension NetworkError {
  /// What a middleware threw, as the caller gets it.
  init(thrown error: any Error) {
    self =
      switch error {
      case let error as NetworkError: error
      case is CancellationError where Task.isCancelled: .cancelled
      default: .middlewareError(error)
      }
  }
}

/// One attempt that goes through middleware. The loop sees an ordinary attempt: its deadline and a cancellation reach into
/// it, and what a middleware sends on top counts as no retry.
nonisolated struct MiddlewareTransport: NetworkTransport {
  let base: any NetworkTransport
  let middleware: [any NetworkMiddleware]
  let call: NetworkCall
  let allowEmptyData: Bool

  var isInvalidated: Bool { base.isInvalidated }
  func validationError(for request: URLRequest) -> String? { base.validationError(for: request) }

  func prepare(
    _ request: URLRequest, _: NetworkTransferBody?, completion: @escaping Completion
  ) -> any NetworkRequestHandle {
    let sends = Sends()
    let next = NetworkMiddlewareNext(middleware, in: call) { [base, call, allowEmptyData] request in
      if let error = base.validationError(for: request) { throw NetworkError.invalidRequest(reason: error) }
      if base.isInvalidated { throw NetworkError.urlError(URLError(.cancelled)) }
      let end = await RetryAttempt(request, base).run(clock: ContinuousRetryClock())
      guard case .outcome(let outcome) = end else { throw NetworkError.cancelled }
      let result = outcome.result(isHead: request.httpMethod == "HEAD", allowEmptyData: allowEmptyData)
      sends.add(outcome, result)
      call.history.hasFollowedRedirect = outcome.hasFollowedRedirect
      return NetworkResponse(data: outcome.data ?? Data(), response: try result.get())
    }
    return TaskHandle {
      do {
        let response = try await next(request)
        completion(sends.outcome(NetworkOutcome(data: response.data, response: response.response, isAccepted: true)))
      } catch {
        completion(sends.outcome(NetworkOutcome(error: NetworkError(thrown: error))))
      }
    }
  }

  /// What is known of all that was sent in one attempt.
  private final class Sends: @unchecked Sendable {
    private let lock = NSLock()
    private var facts = NetworkOutcome()
    private var isApplied = false

    func add(_ send: NetworkOutcome, _ result: Result<HTTPURLResponse, NetworkError>) {
      var isAnswered = true
      var isRefused = false
      if case .failure(let error) = result {
        // As for a POST without a key: has the server done anything?
        let state = RetryCallState(hasFollowedRedirect: send.hasFollowedRedirect, mayHaveSent: send.mayHaveSent)
        let safety = RetryPolicy.default.safety(error, RetryRequestFacts(method: "POST"), state)
        isRefused = safety.isSafe || error.statusCode == 401
        isAnswered = error.response != nil && error.statusCode != 401
      }
      lock.withLock {
        facts.hasFollowedRedirect = facts.hasFollowedRedirect || send.hasFollowedRedirect || isApplied
        isApplied = isApplied || !isRefused
        facts.hasProgressed = facts.hasProgressed || send.hasProgressed
        // A second send that was refused does not prove that the first did nothing.
        facts.mayHaveSent = facts.mayHaveSent || send.mayHaveSent || isAnswered
      }
    }
    func outcome(_ outcome: NetworkOutcome) -> NetworkOutcome {
      var outcome = outcome
      (outcome.hasFollowedRedirect, outcome.mayHaveSent, outcome.hasProgressed) = lock.withLock {
        (facts.hasFollowedRedirect, facts.mayHaveSent, facts.hasProgressed)
      }
      return outcome
    }
  }
}

/// Async work as an attempt.
nonisolated private final class TaskHandle: NetworkRequestHandle {
  private let work: @Sendable () async -> Void
  private let task = NetworkLock<(task: Task<Void, Never>?, isCancelled: Bool)>((nil, false))

  init(_ work: @escaping @Sendable () async -> Void) { self.work = work }

  func resume() {
    let task = Task { await work() }
    let isCancelled = self.task.withLock { state in
      state.task = task
      return state.isCancelled
    }
    if isCancelled { task.cancel() }
  }

  func cancel() {
    let task = self.task.withLock { state in
      defer { state = (nil, true) }
      return state.task
    }
    task?.cancel()
  }
}
