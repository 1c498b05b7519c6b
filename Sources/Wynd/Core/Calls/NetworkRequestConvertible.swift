public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// What a call sends: a `URL`, which is a GET, a `URLRequest`, or an ``Endpoint``.
///
/// A type of your own can conform too. It makes its call from a request:
///
/// ```swift
/// struct Ping: NetworkRequestConvertible {
///   func networkCallPlan(_ defaults: NetworkDefaults) throws(NetworkError) -> NetworkCallPlan {
///     var request = URLRequest(url: url)
///     request.httpMethod = "HEAD"
///     return request.networkCallPlan(defaults)
///   }
/// }
/// let response = try await session.networkResponse(for: Ping())
/// ```
nonisolated public protocol NetworkRequestConvertible: Sendable {
  /// Describes the call, before the policy and the other arguments of the method that makes it.
  ///
  /// - Parameter defaults: What the performer supplies: a base URL, and the coders.
  /// - Returns: The call.
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if there is no valid request.
  func networkCallPlan(_ defaults: NetworkDefaults) throws(NetworkError) -> NetworkCallPlan
}

nonisolated extension URLRequest: NetworkRequestConvertible {
  /// The call that sends this request.
  public func networkCallPlan(_ defaults: NetworkDefaults) -> NetworkCallPlan { NetworkCallPlan(self) }
}

nonisolated extension URL: NetworkRequestConvertible {
  /// A GET of this URL.
  public func networkCallPlan(_ defaults: NetworkDefaults) -> NetworkCallPlan { NetworkCallPlan(URLRequest(url: self)) }
}
