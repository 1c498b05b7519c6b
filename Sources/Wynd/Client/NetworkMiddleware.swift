public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Processes every call of a ``NetworkClient``. It may change the request, respond without sending it, inspect or
/// replace the response or the error, or send the request again.
///
/// ```swift
/// struct Stopwatch: NetworkMiddleware {
///   func respond(
///     to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
///   ) async throws -> NetworkResponse<Data> {
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
/// An error that it throws reaches the caller as ``NetworkError/middlewareError(_:)``, unless it is a ``NetworkError``. If
/// it throws it in place of an error of `next`, it is ``NetworkError/mappedError(_:_:)``, which keeps that error.
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
  ) async throws -> NetworkResponse<Data>

  /// Inspects or replaces the value that an endpoint has parsed. The default returns it unchanged.
  ///
  /// - Parameters:
  ///   - value: The parsed value.
  ///   - response: The response that the value was parsed from.
  ///   - call: The call that the response belongs to.
  /// - Returns: The value that the caller receives.
  /// - Throws: The error that the call fails with.
  func parsed<Value: Sendable>(_ value: Value, from response: NetworkResponse<Data>, in call: NetworkCall) async throws
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
  public func parsed<Value: Sendable>(_ value: Value, from _: NetworkResponse<Data>, in _: NetworkCall) -> Value {
    value
  }
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
  /// Whether the request only reads, although its method does not say so.
  var isReadOnly = false
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
  let send: @Sendable (URLRequest) async throws -> NetworkResponse<Data>

  /// Sends the request through the middleware that follows. Throws a ``NetworkError``.
  public func callAsFunction(_ request: URLRequest) async throws -> NetworkResponse<Data> { try await send(request) }
}

nonisolated extension NetworkMiddlewareNext {
  /// Puts the middleware in front of `end`. The first is the outermost.
  init(
    _ middleware: [any NetworkMiddleware], in call: NetworkCall,
    end: @escaping @Sendable (URLRequest) async throws -> NetworkResponse<Data>
  ) {
    self = middleware.reversed().reduce(Self(send: end)) { next, middleware in
      Self { request in
        // What `next` threw last.
        let cause = NetworkLock<NetworkError?>(nil)
        let observed = Self { request in
          do {
            let response = try await next(request)
            cause.withLock { $0 = nil }
            return response
          } catch {
            cause.withLock { $0 = error as? NetworkError }
            throw error
          }
        }
        do { return try await middleware.respond(to: request, in: call, next: observed) } catch {
          throw NetworkError(thrown: error, inPlaceOf: cause.withLock { $0 })
        }
      }
    }
  }
}

nonisolated extension NetworkError {
  /// The error that the caller receives if a middleware throws this one. `cause` is what `next` has thrown.
  init(thrown error: any Error, inPlaceOf cause: NetworkError? = nil) {
    if let error = error as? NetworkError {
      self = error
    } else if error is CancellationError, Task.isCancelled {
      self = .cancelled
    } else if let cause, !(error is URLError) {
      // A cancellation is not a failure to show, whatever a middleware makes of it.
      if case .cancelled = cause { self = cause } else { self = .mappedError(error, cause) }
    } else {
      self = .middlewareError(error)
    }
  }

  /// Whether the server, or the one that renews a credential, cannot be reached or is failing.
  var isOutage: Bool { inner?.isOutage ?? shouldRetry }
}

nonisolated extension NetworkCallPlan {
  /// Puts middleware around each attempt. For the retry loop it is still one attempt: the deadline and a cancellation
  /// apply to the middleware too, and additional requests that a middleware sends do not count as retries.
  mutating func addMiddleware(_ middleware: [any NetworkMiddleware], in call: NetworkCall) {
    let inner = around
    let allowEmptyData = allowEmptyData
    around = { send in
      let send = inner?(send) ?? send
      return { outgoing in
        let attempt = MiddlewareAttempt(outgoing, allowEmptyData: allowEmptyData, send)
        return await attempt.run(through: middleware, in: call)
      }
    }
  }
}

/// An attempt that middleware carries out, perhaps with several requests.
nonisolated private struct MiddlewareAttempt: Sendable {
  private let outgoing: NetworkOutgoing
  private let allowEmptyData: Bool
  private let send: NetworkSend
  /// Combines what the retry decision has to know about all requests of the attempt.
  private let combined = NetworkLock(NetworkOutcome())

  init(_ outgoing: NetworkOutgoing, allowEmptyData: Bool, _ send: @escaping NetworkSend) {
    self.outgoing = outgoing
    self.allowEmptyData = allowEmptyData
    self.send = send
  }

  func run(through middleware: [any NetworkMiddleware], in call: NetworkCall) async -> NetworkOutcome {
    let next = NetworkMiddlewareNext(middleware, in: call) { request in
      try await response(to: request, in: call)
    }
    do {
      let response = try await next(outgoing.request)
      var outcome = combined.withLock { $0 }
      outcome.data = response.data
      outcome.response = response.response
      outcome.isAccepted = true
      return outcome
    } catch {
      var outcome = combined.withLock { $0 }
      outcome.error = NetworkError(thrown: error)
      return outcome
    }
  }

  private func response(to request: URLRequest, in call: NetworkCall) async throws -> NetworkResponse<Data> {
    var outgoing = outgoing
    outgoing.request = request
    let outcome = await send(outgoing)
    let result = outcome.result(isHead: request.networkMethod == "HEAD", allowEmptyData: allowEmptyData)
    let mayBeApplied = mayBeApplied(outcome, result)
    combined.withLock { combined in
      if outcome.hasProgressed { combined.hasProgressed = true }
      // Once a request may have been applied, a later failure does not prove otherwise, as after a redirect.
      if outcome.hasFollowedRedirect || mayBeApplied { combined.hasFollowedRedirect = true }
    }
    call.memory.withLock { $0.hasFollowedRedirect = outcome.hasFollowedRedirect }
    return NetworkResponse(data: outcome.data ?? Data(), response: try result.get())
  }

  /// Whether the server may have applied the request, assuming a POST without an Idempotency-Key. A 401 means that it
  /// has not.
  private func mayBeApplied(_ outcome: NetworkOutcome, _ result: Result<HTTPURLResponse, NetworkError>) -> Bool {
    guard case .failure(let error) = result else { return true }
    return error.statusCode != 401 && RepeatSafety.proven(by: error, in: outcome) == nil
  }
}
