public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Processes every attempt of the calls of a ``NetworkClient``. It may change the request, respond without sending it,
/// inspect or replace the response or the error, or send the request again.
///
/// What has to happen once per call, such as making an idempotency key, is the work of a ``NetworkPerformer`` around
/// the client: a middleware would make a new key for each attempt.
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
/// One that is used once may be a closure: `.around { request, next in try await next(request) }`.
///
/// An error that a middleware throws is wrapped in ``NetworkError/generalError(_:)``. An error in place of one of
/// `next` is wrapped in ``NetworkError/mappedError(_:_:)``, together with that one. A ``NetworkError`` is not wrapped.
nonisolated public protocol NetworkMiddleware: Sendable {
  /// Responds to a request, usually by calling `next` once. It may also call `next` several times, or not at all.
  ///
  /// - Parameters:
  ///   - request: The request, including the changes of earlier middleware.
  ///   - call: The call that the request belongs to.
  ///   - next: Passes the request on. It throws the ``NetworkError`` of one attempt.
  /// - Returns: The response.
  /// - Throws: The error that the attempt fails with.
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

nonisolated extension NetworkMiddleware {
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
/// A middleware that calls it in a closure of its own, such as the work of a `Task`, or passes it to another
/// middleware, declares its parameter as `next: @escaping NetworkMiddlewareNext`.
public typealias NetworkMiddlewareNext = @Sendable (URLRequest) async throws -> NetworkResponse<Data>

/// The call that a request belongs to.
nonisolated public struct NetworkCall: Sendable {
  /// The client that performs the call.
  public let client: NetworkClient
  /// The endpoint that is loaded, or nil for a `URLRequest`.
  public var endpoint: (any Endpoint)? { plan.endpoint }
  /// Whether this is a download, an upload or a stream, including a call of an endpoint whose body is not in memory.
  /// The ``NetworkResponse`` of an upload has the body of the response. The one of a download or a stream has none.
  public var isTransfer: Bool { plan.transfer != nil }
  /// The plan of the call, as it has reached the session.
  let plan: NetworkCallPlan
  /// The current attempt; nil for a parsed value.
  var attempt: NetworkMiddlewareAttempt?

  init(client: NetworkClient, _ plan: NetworkCallPlan) {
    self.client = client
    self.plan = plan
  }

  /// The names of the header fields in which the clients that this call passes send a secret. A sign-in or a renewal
  /// may have added one since the start of the call.
  var secretFields: Set<String> {
    client.middleware.reduce(into: plan.ofClients.secretFields) { $0.formUnion($1.secretFields) }
  }

  /// The `Authentication` objects whose credential the current task renews. Its requests must not wait for these
  /// renewals.
  static let renewals = TaskLocal<Set<ObjectIdentifier>>(wrappedValue: [])
}

nonisolated extension NetworkCall: CustomStringConvertible {
  /// The number of the call, and the type of its endpoint.
  public var description: String { "[\(plan.id)] \(endpoint.map { "\(type(of: $0))" } ?? "URLRequest")" }
}

/// A middleware that adds the credential of a user.
nonisolated protocol NetworkUser: AnyObject, Sendable {
  /// The number of the sign-in; 0 if nobody is signed in.
  var currentSignIn: Int { get }
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
  init(thrown error: any Swift.Error, inPlaceOf cause: NetworkError? = nil) {
    if let error = error as? NetworkError {
      self = error
    } else if error is CancellationError, _Concurrency.Task.isCancelled {
      self = .cancelled
    } else if let cause {
      // A cancellation is not a failure to show, whatever a middleware makes of it.
      if case .cancelled = cause { self = cause } else { self = .mappedError(error, cause) }
    } else {
      self = .generalError(error)
    }
  }

  /// Whether the server, or the one that renews a credential, cannot be reached or is failing.
  var isOutage: Bool { inner?.isOutage ?? shouldRetry }
}
