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

nonisolated extension URLRequest {
  /// This request, declared to only read, or to change something, whatever its method says.
  ///
  /// ```swift
  /// let found = try await session.networkData(for: search.declared(isReadOnly: true))     // a POST, retried like a GET
  /// let cleared = try await session.networkData(for: clear.declared(isReadOnly: false))   // a GET, retried like a POST
  /// ```
  ///
  /// On Apple's platforms, URLSession itself sends a GET again if a kept-alive connection turns out to be closed. No
  /// wrapper prevents that: if you can, let the service take a POST.
  ///
  /// The server receives nothing of this. It is no property of `URLRequest`, because on Linux the copies of a request
  /// keep only what is sent.
  ///
  /// - Parameter isReadOnly: Whether it only reads; nil means what its method says.
  /// - Returns: The call of this request, for every method that takes a request.
  public func declared(isReadOnly: Bool?) -> NetworkCallPlan { NetworkCallPlan(self, isReadOnly: isReadOnly) }
}

nonisolated extension NetworkCallPlan: NetworkRequestConvertible {
  /// Another call with the same properties.
  public func networkCallPlan(_ defaults: NetworkDefaults) -> NetworkCallPlan { withNewID() }
}

nonisolated extension URL: NetworkRequestConvertible {
  /// A GET of this URL.
  public func networkCallPlan(_ defaults: NetworkDefaults) -> NetworkCallPlan { NetworkCallPlan(URLRequest(url: self)) }
}
