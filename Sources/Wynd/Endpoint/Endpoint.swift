public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A request to a web service, and the type of its response.
///
/// ```swift
/// struct AgeEstimate {
///   struct Response: Decodable { let name: String; let age: Int }
///   let name: String
/// }
/// extension AgeEstimate: Endpoint {
///   var host: String { "api.agify.io" }
///   var path: String { "/" }
///   var queryItems: [URLQueryItem] { [URLQueryItem(name: "name", value: name)] }
/// }
///
/// extension Endpoint where Self == AgeEstimate {
///   static func age(of name: String) -> Self { AgeEstimate(name: name) }
/// }
///
/// let estimate = try await URLSession.shared.load(.age(of: "Bella"))
/// ```
///
/// Only ``path`` and ``Response`` are required, and ``host`` if no client supplies a base URL. `Response` determines
/// how the body is parsed. A `Decodable` type is decoded from JSON, and ``JSONValue`` is untyped JSON. `Data` is the
/// body, and `String` its text. `Void` ignores the body, and `HTTPURLResponse` is the status code and header fields. An
/// `Optional` is nil if the body is empty. Implement ``parse(data:response:)`` for anything else. ``AdHocEndpoint``
/// needs no type of its own.
///
/// A member can also have its type in ``EndpointMemberAlternatives``: `let port = 8080`,
/// `var body: URLRequest.Body { … }`, `let headers = ["X-Page": "7"]`. Swift silently ignores a member of any other
/// type (`let port: UInt16 = 8080`), but warns about members of an `extension AgeEstimate: Endpoint { … }`. So declare
/// the members there.
///
/// In a module whose default isolation is `MainActor`, declare the types of responses, bodies and service errors
/// `nonisolated`, as in `nonisolated struct Age: Decodable`. Otherwise, the compiler reports that the endpoint
/// “does not conform to protocol 'Endpoint'”, or a “main actor-isolated conformance”. A protocol that refines this one,
/// its extensions, and an extension that declares the conformance have to be `nonisolated` too. A public response type
/// from another module has to be `Sendable`.
nonisolated public protocol Endpoint: EndpointMemberAlternatives {
  /// The type that a successful response is parsed into.
  associatedtype Response: Sendable
  /// The type of the body of an error response (a status of 400 and up), if the service has a format for it. The call
  /// fails with ``NetworkError/serviceError(_:_:_:)``, also if ``parse(data:response:)`` throws a value of this type.
  associatedtype ServiceError: Error & Decodable = NoServiceError

  /// `https` (the default) or `http`.
  var scheme: String { get }
  /// A domain name, which may be internationalized, or an IP address, without scheme and port. An IPv6 address may be
  /// in brackets, and has no zone (`%eth0`). Empty (the default) means the base URL of the client.
  var host: String { get }
  /// 1 to 65535. nil (the default) means the default port of the scheme.
  var port: Int? { get }
  /// The path as plain text, such as “/users/Jürgen”. `/` separates segments. Other characters are percent-encoded
  /// where necessary, including `%`. Use ``percentEncodedPath`` for a value that may contain a `/`.
  var path: String { get }
  /// The percent-encoded path. The default encodes ``path``, which is ignored if you implement this property.
  ///
  /// ```swift
  /// struct FileContent: Endpoint {
  ///   typealias Response = Data
  ///   var name: String
  ///   var path: String { "" }
  ///   var percentEncodedPath: String { "/files/\(Self.percentEncoded(segment: name))/content" }
  /// }
  /// ```
  var percentEncodedPath: String { get }
  /// The request method. The default is GET.
  var method: URLRequest.Method { get }
  /// The query items, as plain text. The default is none. ``QueryEncoder`` encodes any `Encodable`.
  var queryItems: [URLQueryItem] { get throws }
  /// The header fields. The default is none.
  var headers: [URLRequest.Header] { get }
  /// The body. The default is nil.
  var body: URLRequest.Body? { get }
  /// Decodes a `Decodable` response and a ``ServiceError``. The default is the client's decoder, or a `JSONDecoder()`.
  /// For a format other than JSON, implement ``parse(data:response:)``, and send a body as `.data(_:contentType:)`.
  var decoder: JSONDecoder { get }
  /// The retry policy of this call. nil (the default) means the client's policy, or ``RetryPolicy/default``. The
  /// `policy` argument of `load` takes precedence.
  var policy: RetryPolicy? { get }

  /// Changes the finished request. If it throws, nothing is sent, and the call fails with
  /// ``NetworkError/middlewareError(_:)``, or with the error itself if it is a ``NetworkError``.
  func prepare(request: inout URLRequest) throws
  /// An alternative to ``prepare(request:)``.
  func prepare(_ request: inout URLRequest) throws
  /// Parses a successful response, whose body may be empty. If it throws, the call fails with
  /// ``NetworkError/serviceError(_:_:_:)`` for a ``ServiceError``, with the error itself for a ``NetworkError``, and
  /// with ``NetworkError/undecodable(_:_:_:)`` for any other error.
  func parse(data: Data, response: HTTPURLResponse) throws -> Response
  /// An alternative to ``parse(data:response:)``.
  func parse(_ data: Data) throws -> Response
  /// An alternative to ``parse(data:response:)``.
  func parse(data: Data, urlResponse: URLResponse) throws -> Response
}

nonisolated extension Endpoint {
  /// `https`.
  public var scheme: String { "https" }
  /// Empty, which means the base URL of the client.
  public var host: String { alternatives.host ?? "" }
  /// nil, which means the default port of the scheme.
  public var port: Int? { try? alternatives.port }
  /// ``path``, percent-encoded.
  public var percentEncodedPath: String { NetworkPercentEncoding.path(path) }
  /// GET.
  public var method: URLRequest.Method { URLRequest.Method(rawValue: alternatives.method) }
  /// None.
  public var queryItems: [URLQueryItem] { get throws { try alternatives.queryItems ?? [] } }
  /// None.
  public var headers: [URLRequest.Header] { alternatives.headers.sorted { $0.key < $1.key }.map { .init($0, $1) } }
  /// nil.
  public var body: URLRequest.Body? { try? alternatives.body }
  /// The client's decoder, or a `JSONDecoder()`.
  public var decoder: JSONDecoder { NetworkClientDecoder.current.get() ?? JSONDecoder() }
  /// nil, which means the client's policy, or ``RetryPolicy/default``.
  public var policy: RetryPolicy? { try? alternatives.policy }
  /// Changes nothing.
  public func prepare(request: inout URLRequest) throws { try prepare(&request) }
  /// Changes nothing.
  public func prepare(_ request: inout URLRequest) {}
  /// Not implemented.
  public func parse(_ data: Data) throws -> Response { throw MemberNotImplemented() }
  /// Calls ``parse(_:)``.
  public func parse(data: Data, urlResponse: URLResponse) throws -> Response { try parse(data) }

  /// Encodes a value as one segment of ``percentEncodedPath``, including any `/` in it.
  public static func percentEncoded(segment: String) -> String { NetworkPercentEncoding.text(segment) }
}

/// The default ``Endpoint/ServiceError``. With it, a call fails with ``NetworkError/endpointError(_:_:)`` for a status
/// of 400 and up.
nonisolated public struct NoServiceError: Error, Decodable {}

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
