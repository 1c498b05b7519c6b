public import Foundation

/// Alternative types for the members of an ``Endpoint``.
///
/// If the type of a member differs from the requirement, Swift silently uses the default of the protocol. So the likely
/// types are requirements too: `let port = 8080`, `var body: URLRequest.Body { … }`. Conform to ``Endpoint``, whose
/// defaults use the members that you implement here.
///
/// Code that reads a member gets the type in ``Endpoint``, because every member here is a disfavored overload.
nonisolated public protocol EndpointMemberAlternatives: Sendable {
  /// Like ``Endpoint/host``. nil means the base URL of the client.
  @_disfavoredOverload var host: String? { get }
  /// Like ``Endpoint/port``, but not optional.
  @_disfavoredOverload var port: Int { get throws(MemberNotImplemented) }
  /// Like ``Endpoint/method``, as a string: `let method = "PURGE"`.
  @_disfavoredOverload var method: String { get }
  /// Like ``Endpoint/queryItems``, but optional.
  @_disfavoredOverload var queryItems: [URLQueryItem]? { get throws }
  /// Like ``Endpoint/headers``, as a dictionary: `let headers = ["X-Page": "7"]`.
  @_disfavoredOverload var headers: [String: String] { get }
  /// Like ``Endpoint/body``, but not optional.
  @_disfavoredOverload var body: URLRequest.Body { get throws(MemberNotImplemented) }
  /// Like ``Endpoint/policy``, but not optional.
  @_disfavoredOverload var policy: RetryPolicy { get throws(MemberNotImplemented) }
}

/// Thrown by the default of a member that is not implemented.
nonisolated public struct MemberNotImplemented: Error {}

nonisolated extension EndpointMemberAlternatives {
  /// nil.
  @_disfavoredOverload public var host: String? { nil }
  /// Not implemented.
  @_disfavoredOverload public var port: Int { get throws(MemberNotImplemented) { throw .init() } }
  /// GET.
  @_disfavoredOverload public var method: String { "GET" }
  /// nil.
  @_disfavoredOverload public var queryItems: [URLQueryItem]? { nil }
  /// None.
  @_disfavoredOverload public var headers: [String: String] { [:] }
  /// Not implemented.
  @_disfavoredOverload public var body: URLRequest.Body { get throws(MemberNotImplemented) { throw .init() } }
  /// Not implemented.
  @_disfavoredOverload public var policy: RetryPolicy { get throws(MemberNotImplemented) { throw .init() } }

  /// `self`, without the members of ``Endpoint`` that have the same names.
  var alternatives: some EndpointMemberAlternatives { self }
}
