/// Processes every call of a ``NetworkClient``. It may change the request, respond without sending it, inspect or
/// replace the response or the error, or send the request again.
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
  /// Whether it runs once per call, or once per attempt (the default).
  var stage: MiddlewareStage { get }

  /// Responds to a request, usually by calling `next` once. It may also call `next` several times, or not at all.
  ///
  /// - Parameters:
  ///   - request: The request, including the changes of earlier middleware.
  ///   - call: The call that the request belongs to.
  ///   - next: Passes the request on. It throws the ``NetworkError`` of the entire call in the ``MiddlewareStage/call``
  ///     stage, and that of one attempt in the ``MiddlewareStage/attempt`` stage.
  /// - Returns: The response.
  /// - Throws: The error that the call or the attempt fails with.
  func respond(
    to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
  ) async throws -> NetworkResponse

  /// Inspects or replaces the value that an endpoint has parsed. The default returns it unchanged.
  ///
  /// - Parameters:
  ///   - value: The parsed value.
  ///   - response: The response that the value was parsed from.
  ///   - call: The call that the response belongs to.
  /// - Returns: The value that the caller receives.
  /// - Throws: The error that the call fails with.
  func parsed<Value: Sendable>(_ value: Value, from response: NetworkResponse, in call: NetworkCall) async throws
    -> Value

  /// Identifies the user whose credential this middleware adds, so that a cache stores responses separately for each
  /// user. nil (the default) means that it adds no credential.
  func cacheScope(of request: URLRequest) -> String?
}

/// When a ``NetworkMiddleware`` runs.
nonisolated public enum MiddlewareStage: Sendable {
  /// Once per call, around all its attempts. Use it for caching, or for logging calls.
  case call
  /// Once per attempt. Use it for tokens, signatures or validation. A failure can be retried like any other failure of
  /// an attempt.
  case attempt
}

nonisolated extension NetworkMiddleware {
  /// Once per attempt.
  public var stage: MiddlewareStage { .attempt }
  /// Returns the value unchanged.
  public func parsed<Value: Sendable>(_ value: Value, from _: NetworkResponse, in _: NetworkCall) -> Value { value }
  /// Returns nil.
  public func cacheScope(of request: URLRequest) -> String? { nil }
}

/// The call that a request belongs to.
nonisolated public struct NetworkCall: Sendable {
  /// The client that performs the call.
  public let client: NetworkClient
  /// The endpoint that is loaded, or nil for a `URLRequest`.
  public let endpoint: (any Endpoint)?
  /// Whether this is a download, an upload or a stream. The ``NetworkResponse`` has only the response body of an upload.
  public let isTransfer: Bool
  /// State that the middleware of a call shares between stages and attempts.
  struct Memory: Sendable {
    /// A cache can serve a stored response if this call fails, so only one attempt is made.
    var hasFallback = false
    /// The last response is to a redirected request, whose URL and method may differ from the original.
    var hasFollowedRedirect = false
  }
  let memory = NetworkLock(Memory())
  /// The epoch in which the call began, for each `Authentication`. 0 means that there was no credential.
  var signIns = NetworkLock<[ObjectIdentifier: Int]>([:])
  /// The `Authentication` objects whose credential the current task renews. Its requests must not wait for these
  /// renewals.
  static let renewals = TaskLocal<Set<ObjectIdentifier>>(wrappedValue: [])
}

/// Passes a request on to the middleware that follows, and finally to the session.
nonisolated public struct NetworkMiddlewareNext: Sendable {
  let send: @Sendable (URLRequest) async throws -> NetworkResponse

  /// Sends the request through the middleware that follows. Throws a ``NetworkError``.
  public func callAsFunction(_ request: URLRequest) async throws -> NetworkResponse { try await send(request) }
}

nonisolated extension NetworkMiddlewareNext {
  /// Puts the middleware in front of `end`. The first is the outermost.
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
  /// The error that the caller receives if a middleware throws this one.
  init(thrown error: any Error) {
    let isCancelled = error is CancellationError && Task.isCancelled
    self = error as? NetworkError ?? (isCancelled ? .cancelled : .middlewareError(error))
  }

  /// Whether the server, or the one that renews a credential, cannot be reached or is failing.
  var isOutage: Bool { inner?.isOutage ?? shouldRetry }
}

nonisolated extension NetworkCallPlan {
  /// Makes attempts that run through middleware. For the retry loop they are ordinary attempts. The deadline and a
  /// cancellation apply to the middleware too, and additional requests that a middleware sends do not count as retries.
  func attempt(through middleware: [any NetworkMiddleware], in call: NetworkCall) -> NetworkTransport.MakeAttempt {
    { [makeAttempt, allowEmptyData] base, request, completion in
      // Combines the outcomes of all requests of this attempt for the retry decision.
      let facts = NetworkLock(NetworkOutcome())
      let next = NetworkMiddlewareNext(middleware, in: call) { request in
        if let error = base.validationError(for: request) { throw NetworkError.invalidRequest(reason: error) }
        if Task.isCancelled { throw NetworkError.cancelled }
        // The session has been invalidated.
        if base.forLaterAttempts == nil { throw NetworkError.urlError(URLError(.cancelled)) }
        let outcome = await RetryAttempt(request, base, makeAttempt).run(clock: ContinuousRetryClock())
        let result = outcome.result(isHead: request.httpMethod == "HEAD", allowEmptyData: allowEmptyData)
        let mayBeApplied = Self.mayBeApplied(outcome, result)
        facts.withLock {
          $0.hasProgressed = $0.hasProgressed || outcome.hasProgressed
          // Once a request may have been applied, a later failure does not prove otherwise, as after a redirect.
          $0.hasFollowedRedirect = $0.hasFollowedRedirect || outcome.hasFollowedRedirect || mayBeApplied
        }
        call.memory.withLock { $0.hasFollowedRedirect = outcome.hasFollowedRedirect }
        return NetworkResponse(data: outcome.data ?? Data(), response: try result.get())
      }
      return DeferredRequestHandle { task in
        task.run {
          do {
            let response = try await next(request)
            facts.withLock { ($0.data, $0.response, $0.isAccepted) = (response.data, response.response, true) }
          } catch { facts.withLock { $0.error = NetworkError(thrown: error) } }
          completion(facts.withLock { $0 })
        }
      }
    }
  }

  /// Whether the server may have applied the request, assuming a POST without an Idempotency-Key. A 401 means that it
  /// has not.
  private static func mayBeApplied(_ send: NetworkOutcome, _ result: Result<HTTPURLResponse, NetworkError>) -> Bool {
    guard case .failure(let error) = result else { return true }
    let state = RetryCallState(hasFollowedRedirect: send.hasFollowedRedirect, mayHaveSent: send.mayHaveSent)
    return error.statusCode != 401 && state.proof(in: error) == nil
  }
}
