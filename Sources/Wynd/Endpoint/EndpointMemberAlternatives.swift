public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Other types in which the members of an ``Endpoint`` may be written.
///
/// Swift silently uses the default of a protocol where a member has another type than the requirement. So the types that
/// come naturally are requirements too: `let port = 8080`, `var body: URLRequest.Body { … }`. Conform to ``Endpoint``; each
/// of its defaults uses the member here, where that is implemented.
///
/// Code that reads a member gets the type of ``Endpoint``, as every member here is disfavored.
nonisolated public protocol EndpointMemberAlternatives: Sendable {
  /// As ``Endpoint/host``; nil means the base URL of the client.
  @_disfavoredOverload var host: String? { get }
  /// As ``Endpoint/port``.
  @_disfavoredOverload var port: Int { get throws(MemberNotImplemented) }
  /// As ``Endpoint/method``: `let method = "PURGE"`.
  @_disfavoredOverload var method: String { get }
  /// As ``Endpoint/queryItems``.
  @_disfavoredOverload var queryItems: [URLQueryItem]? { get throws }
  /// As ``Endpoint/headers``: `let headers = ["X-Page": "7"]`.
  @_disfavoredOverload var headers: [String: String] { get }
  /// As ``Endpoint/body``.
  @_disfavoredOverload var body: URLRequest.Body { get throws(MemberNotImplemented) }
  /// As ``Endpoint/policy``.
  @_disfavoredOverload var policy: RetryPolicy { get throws(MemberNotImplemented) }
}

/// What the default of an alternative throws.
nonisolated public struct MemberNotImplemented: Error {
  init() {}
}

nonisolated extension EndpointMemberAlternatives {
  /// nil.
  @_disfavoredOverload public var host: String? { nil }
  /// Not implemented.
  @_disfavoredOverload public var port: Int {
    get throws(MemberNotImplemented) { throw MemberNotImplemented() }
  }
  /// GET.
  @_disfavoredOverload public var method: String { "GET" }
  /// nil.
  @_disfavoredOverload public var queryItems: [URLQueryItem]? { nil }
  /// None.
  @_disfavoredOverload public var headers: [String: String] { [:] }
  /// Not implemented.
  @_disfavoredOverload public var body: URLRequest.Body {
    get throws(MemberNotImplemented) { throw MemberNotImplemented() }
  }
  /// Not implemented.
  @_disfavoredOverload public var policy: RetryPolicy {
    get throws(MemberNotImplemented) { throw MemberNotImplemented() }
  }

  /// Itself, without the requirements of ``Endpoint`` of the same names.
  var alternatives: some EndpointMemberAlternatives { self }
}
