public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

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
