public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Processes every attempt of the calls of a ``NetworkClient``, the first in its list outermost. It may change the
/// request, respond without sending it, inspect or replace the response or the error, or send the request again.
///
/// What has to happen once per call, such as making an idempotency key, is the work of a ``NetworkPerformer`` around
/// the client: a middleware would make a new key for each attempt.
///
/// ```swift
/// struct Stopwatch: NetworkMiddleware {
///   func respond(
///     to request: URLRequest, in call: NetworkMiddlewareCall, next: NetworkMiddlewareNext
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
/// `next` is wrapped in ``NetworkError/middlewareError(_:_:)``, together with that one. A ``NetworkError`` is not
/// wrapped.
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
    to request: URLRequest, in call: NetworkMiddlewareCall, next: @escaping NetworkMiddlewareNext
  ) async throws -> NetworkResponse<Data>

  /// Inspects or replaces the value that an endpoint has parsed. The default returns it unchanged.
  ///
  /// - Parameters:
  ///   - value: The parsed value.
  ///   - response: The response that the value was parsed from.
  ///   - call: The call that the response belongs to.
  /// - Returns: The value that the caller receives.
  /// - Throws: The error that the call fails with.
  func parsed<Value: Sendable>(_ value: Value, from response: NetworkResponse<Data>, in call: NetworkMiddlewareCall)
    async throws
    -> Value

  /// Identifies the user whose credential this middleware adds, so that a cache stores responses separately for each
  /// user. nil (the default) means that it adds no credential. In a folder it is compared by a hash of 64 bits, because
  /// it may be a credential: do not use a text that users choose. (The name of ``Authentication/account`` is compared
  /// whole.)
  func cacheScope(of request: URLRequest) -> String?

  /// The names of the header fields in which this middleware sends a secret. After a redirect to another origin, the
  /// request has none of them. A field whose name or value looks like a credential, such as Authorization or X-Api-Key,
  /// does not have to be named. The default is none.
  var secretFields: Set<String> { get }
}

nonisolated extension NetworkMiddleware {
  /// Returns the value unchanged.
  public func parsed<Value: Sendable>(_ value: Value, from _: NetworkResponse<Data>, in _: NetworkMiddlewareCall)
    -> Value
  {
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

/// A middleware that is a closure, made by `.around`.
///
/// ```swift
/// let client = NetworkClient(
///   baseURL: baseURL,
///   middleware: [
///     .around { request, next in
///       var request = request
///       request.setValue("7", forHTTPHeaderField: "X-Page")
///       return try await next(request)
///     }
///   ])
/// ```
nonisolated public struct NetworkClosureMiddleware: NetworkMiddleware {
  fileprivate let body:
    @Sendable (URLRequest, NetworkMiddlewareCall, @escaping NetworkMiddlewareNext) async throws -> NetworkResponse<Data>

  /// Responds with the closure.
  public func respond(
    to request: URLRequest, in call: NetworkMiddlewareCall, next: @escaping NetworkMiddlewareNext
  ) async throws -> NetworkResponse<Data> {
    try await body(request, call, next)
  }
}

nonisolated extension NetworkMiddleware where Self == NetworkClosureMiddleware {
  /// A middleware that is a closure, which receives the request of each attempt, and `next`, which sends it.
  public static func around(
    _ body: @escaping @Sendable (URLRequest, @escaping NetworkMiddlewareNext) async throws -> NetworkResponse<Data>
  ) -> Self {
    Self { request, _, next in try await body(request, next) }
  }

  /// A middleware that is a closure, which receives the request of each attempt, the call that it belongs to, and
  /// `next`, which sends it.
  public static func around(
    _ body:
      @escaping @Sendable (URLRequest, NetworkMiddlewareCall, @escaping NetworkMiddlewareNext) async throws ->
      NetworkResponse<Data>
  ) -> Self {
    Self(body: body)
  }
}
