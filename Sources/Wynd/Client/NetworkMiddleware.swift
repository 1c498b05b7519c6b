#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Processes every call of a ``NetworkClient``. It may change the request, respond without sending it, inspect or replace
/// the response or the error, or send again.
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
/// An error that it throws reaches the caller as ``NetworkError/middlewareError(_:)``, unless it is a ``NetworkError``.
nonisolated public protocol NetworkMiddleware: Sendable {
  /// Once a call, or (the default) once an attempt.
  var stage: MiddlewareStage { get }

  /// Responds to a request, usually by calling `next` once. It may also call it again, or not at all.
  ///
  /// - Parameters:
  ///   - request: The request, with the changes of earlier middleware.
  ///   - call: The call that the request belongs to.
  ///   - next: Passes the request on. It throws a ``NetworkError``: that of the whole call in the
  ///     ``MiddlewareStage/call`` stage, that of one attempt in the ``MiddlewareStage/attempt`` stage.
  /// - Returns: The response.
  /// - Throws: The error of the call.
  func respond(
    to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
  ) async throws -> NetworkResponse

  /// Inspects or replaces the value that an endpoint has parsed. The default returns it unchanged.
  ///
  /// - Parameters:
  ///   - value: The parsed value.
  ///   - response: The response.
  ///   - call: The call that it belongs to.
  /// - Returns: The value that the caller receives.
  /// - Throws: The error of the call.
  func parsed<Value: Sendable>(_ value: Value, from response: NetworkResponse, in call: NetworkCall) async throws
    -> Value

  /// Identifies the user whose credential this middleware adds, so that a cache keeps the responses of users apart. Nil,
  /// the default, if it adds none.
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
  public func parsed<Value: Sendable>(_ value: Value, from _: NetworkResponse, in _: NetworkCall) -> Value { value }
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
  /// What the middleware keeps from one stage or attempt to the next.
  struct Memory: Sendable {
    /// A cache can serve a stored response if this call fails, so one attempt is enough.
    var hasFallback = false
    /// The last response is that of another request than was sent, perhaps with another method.
    var hasFollowedRedirect = false
    /// For each authentication the sign-in under which the call began; 0 if it began without a credential.
    var epochs: [ObjectIdentifier: Int] = [:]
  }
  let memory = NetworkLock(Memory())
}

/// The rest of the way that a request goes.
nonisolated public struct NetworkMiddlewareNext: Sendable {
  let send: @Sendable (URLRequest) async throws -> NetworkResponse

  /// Sends the request on, through the middleware that follows.
  public func callAsFunction(_ request: URLRequest) async throws -> NetworkResponse { try await send(request) }
}

nonisolated extension NetworkMiddlewareNext {
  /// `end`, with all of these before it; the first is the outermost.
  init(
    _ middleware: [any NetworkMiddleware], in call: NetworkCall,
    end: @escaping @Sendable (URLRequest) async throws -> NetworkResponse
  ) {
    self = middleware.reversed().reduce(Self(send: end)) { next, middleware in
      Self { request in
        do { return try await middleware.respond(to: request, in: call, next: next) } catch {
          throw NetworkError(thrown: error)
        }
      }
    }
  }
}

nonisolated extension NetworkError {
  /// What a middleware threw, as the caller gets it.
  init(thrown error: any Error) {
    let isCancelled = error is CancellationError && Task.isCancelled
    self = error as? NetworkError ?? (isCancelled ? .cancelled : .middlewareError(error))
  }
}

/// One attempt that goes through middleware. For the loop it is an ordinary attempt: its deadline and its cancellation apply
/// to the middleware too, and further requests that a middleware sends do not count as retries.
nonisolated struct MiddlewareTransport: NetworkTransport {
  let base: any NetworkTransport
  let middleware: [any NetworkMiddleware]
  let call: NetworkCall
  let allowEmptyData: Bool

  var isInvalidated: Bool { base.isInvalidated }
  func validationError(for request: URLRequest) -> String? { base.validationError(for: request) }

  func prepare(
    _ request: URLRequest, _: StreamedBodies?, completion: @escaping Completion
  ) -> any NetworkRequestHandle {
    // What all requests of this attempt together tell the retry rule.
    let facts = NetworkLock(NetworkOutcome())
    let next = NetworkMiddlewareNext(middleware, in: call) { [base, call, allowEmptyData] request in
      if let error = base.validationError(for: request) { throw NetworkError.invalidRequest(reason: error) }
      if base.isInvalidated { throw NetworkError.urlError(URLError(.cancelled)) }
      let end = await RetryAttempt(request, base).run(clock: ContinuousRetryClock())
      guard case .outcome(let outcome) = end else { throw NetworkError.cancelled }
      let result = outcome.result(isHead: request.httpMethod == "HEAD", allowEmptyData: allowEmptyData)
      let mayBeApplied = Self.mayBeApplied(outcome, result)
      facts.withLock {
        $0.hasProgressed = $0.hasProgressed || outcome.hasProgressed
        // After a request that may have been applied no failure proves anything, as after a redirect.
        $0.hasFollowedRedirect = $0.hasFollowedRedirect || outcome.hasFollowedRedirect || mayBeApplied
      }
      call.memory.withLock { $0.hasFollowedRedirect = outcome.hasFollowedRedirect }
      return NetworkResponse(data: outcome.data ?? Data(), response: try result.get())
    }
    return TaskHandle {
      do {
        let response = try await next(request)
        facts.withLock { ($0.data, $0.response, $0.isAccepted) = (response.data, response.response, true) }
      } catch {
        facts.withLock { $0.error = NetworkError(thrown: error) }
      }
      completion(facts.withLock { $0 })
    }
  }

  /// Whether a server may have applied the request: the question for a POST without an Idempotency-Key. A 401 refuses it.
  private static func mayBeApplied(_ send: NetworkOutcome, _ result: Result<HTTPURLResponse, NetworkError>) -> Bool {
    guard case .failure(let error) = result else { return true }
    let state = RetryCallState(hasFollowedRedirect: send.hasFollowedRedirect, mayHaveSent: send.mayHaveSent)
    let safety = RetryPolicy.default.safety(error, RetryRequestFacts(method: "POST"), state)
    return error.statusCode != 401 && !safety.isSafe
  }
}

/// Async work as an attempt.
nonisolated final class TaskHandle: NetworkRequestHandle {
  private let work: @Sendable () async -> Void
  private let task = NetworkTask()

  init(_ work: @escaping @Sendable () async -> Void) { self.work = work }

  func resume() {
    let running = Task { [work] in await work() }
    task.setCancellation { running.cancel() }
  }
  func cancel() { task.cancel() }
}
