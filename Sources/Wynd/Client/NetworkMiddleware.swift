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
/// An error that it throws reaches the caller as ``NetworkError/middlewareError(_:)``. If it throws it in place of an
/// error of `next`, it is ``NetworkError/mappedError(_:_:)``, which keeps that error. A ``NetworkError`` reaches the
/// caller as it is.
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
    to request: URLRequest, in call: NetworkCall, next: @escaping NetworkMiddlewareNext
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

  /// The names of the header fields in which this middleware sends a secret. After a redirect to another origin, the
  /// request has none of them. A field whose name or value looks like a credential, such as Authorization or X-Api-Key,
  /// does not have to be named. The default is none.
  var secretFields: Set<String> { get }
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
  /// None.
  public var secretFields: Set<String> { [] }
}

/// Passes a request on to the middleware that follows, and finally to the session. Throws a ``NetworkError``.
///
/// A middleware that calls it in a closure of its own, such as the work of a `Task`, or passes it to another middleware,
/// declares its parameter as `next: @escaping NetworkMiddlewareNext`.
public typealias NetworkMiddlewareNext = @Sendable (URLRequest) async throws -> NetworkResponse<Data>

/// The call that a request belongs to.
nonisolated public struct NetworkCall: Sendable {
  /// The client that performs the call.
  public let client: NetworkClient
  /// The endpoint that is loaded, or nil for a `URLRequest`.
  public let endpoint: (any Endpoint)?
  /// Whether this is a download, an upload or a stream; also a call of an endpoint whose body is not in memory. The
  /// ``NetworkResponse`` of an upload has the body of the response, that of a download or a stream has none.
  public let isTransfer: Bool
  /// Whether the request only reads, although its method does not say so.
  let isReadOnly: Bool
  /// The middleware of the clients that are made on this one, whose attempts are outside those of this one.
  let outerMiddleware: [any NetworkMiddleware]
  /// Who is signed in for this call.
  let signIns: NetworkSignIns
  /// Whether a 2xx response with an empty body is a success.
  let allowEmptyData: Bool
  /// The `id` of the plan of this call.
  let id: Int
  /// The current attempt; nil in the ``MiddlewareStage/call`` stage.
  var attempt: NetworkMiddlewareAttempt?

  init(client: NetworkClient, _ plan: NetworkCallPlan) {
    self.client = client
    id = plan.id
    endpoint = plan.endpoint as? any Endpoint
    isTransfer = plan.isTransfer
    isReadOnly = plan.isReadOnly
    allowEmptyData = plan.allowEmptyData
    outerMiddleware = plan.outerMiddleware as? [any NetworkMiddleware] ?? []
    signIns = plan.signIns ?? NetworkSignIns()
  }

  /// The middleware of all clients that the call passes.
  var allMiddleware: [any NetworkMiddleware] { outerMiddleware + client.allMiddleware }

  /// The names of the header fields in which any of these clients sends a secret.
  var secretFields: Set<String> { allMiddleware.reduce(into: []) { $0.formUnion($1.secretFields) } }

  /// The `Authentication` objects whose credential the current task renews. Its requests must not wait for these
  /// renewals.
  static let renewals = TaskLocal<Set<ObjectIdentifier>>(wrappedValue: [])
}

nonisolated extension NetworkCall: CustomStringConvertible {
  /// The number of the call, and the type of its endpoint.
  public var description: String { "[\(id)] \(endpoint.map { "\(type(of: $0))" } ?? "URLRequest")" }
}

/// What a cache changes for a request that the current task sends. Other requests of the call are not concerned, such as
/// one that a middleware around the cache sends, and neither are those of other calls.
nonisolated struct NetworkCacheChanges: Sendable {
  let callID: Int
  /// Replaces the `maxRetries` of the call, if there is a stored response to serve in place of an error.
  var maxRetries: Int?
  /// The request has attempts and events of its own.
  var isAnotherCall = false

  static let current = TaskLocal<NetworkCacheChanges?>(wrappedValue: nil)
}

/// Remembers what `next` threw last: a middleware may replace it with an error of its own.
nonisolated struct NetworkErrorCause: Sendable {
  private let stored = NetworkLock<NetworkError?>(nil)

  var last: NetworkError? { stored.withLock { $0 } }

  func observing<Input>(
    _ next: @escaping @Sendable (Input) async throws -> NetworkResponse<Data>
  ) -> @Sendable (Input) async throws -> NetworkResponse<Data> {
    { input in
      do {
        let response = try await next(input)
        stored.withLock { $0 = nil }
        return response
      } catch {
        stored.withLock { $0 = error as? NetworkError }
        throw error
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
    } else if let cause {
      // A cancellation is not a failure to show, whatever a middleware makes of it.
      if case .cancelled = cause { self = cause } else { self = .mappedError(error, cause) }
    } else {
      self = .middlewareError(error)
    }
  }

  /// Whether the server, or the one that renews a credential, cannot be reached or is failing.
  var isOutage: Bool { inner?.isOutage ?? shouldRetry }
}
