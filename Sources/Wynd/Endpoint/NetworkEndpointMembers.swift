public import Foundation

/// The members of an ``Endpoint``, with whatever type they are written.
///
/// If the type is not that of the requirement, Swift would silently use the default. The member satisfies the
/// requirement of this protocol, and the compiler says what to write.
@_documentation(visibility: internal)
nonisolated public protocol NetworkEndpointMembers: NetworkRequestConvertible {
  /// The type of `method`.
  associatedtype MethodValue
  /// The type of `body`.
  associatedtype BodyValue
  /// The type of `headers`.
  associatedtype HeadersValue
  /// The type of `queryItems`.
  associatedtype QueryItemsValue
  /// The type of `port`.
  associatedtype PortValue

  /// ``Endpoint/method``.
  var method: MethodValue { get }
  /// ``Endpoint/body``.
  var body: BodyValue { get throws }
  /// ``Endpoint/headers``.
  var headers: HeadersValue { get }
  /// ``Endpoint/queryItems``.
  var queryItems: QueryItemsValue { get throws }
  /// ``Endpoint/port``.
  var port: PortValue { get }
  /// Available if each member has the type that an endpoint needs.
  static func allowTypesOfMembers()
}

nonisolated extension NetworkEndpointMembers
where
  MethodValue == NetworkMethod, BodyValue == RequestBody, HeadersValue == [String: String],
  QueryItemsValue == [URLQueryItem], PortValue == Int?
{
  /// Does nothing.
  public static func allowTypesOfMembers() {}
}

nonisolated extension NetworkEndpointMembers {
  /// Tells the author of an endpoint what to write.
  @available(
    *, unavailable,
    message:
      "a member has another type; write `method: NetworkMethod`, `body: RequestBody`, `headers: [String: String]`, `queryItems: [URLQueryItem]`, `port: Int?`"
  )
  public static func allowTypesOfMembers() {}
}
