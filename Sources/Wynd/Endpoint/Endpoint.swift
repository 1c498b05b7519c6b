public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// One call of a web service: where it goes, what it sends, and what comes back.
///
/// ```swift
/// struct AgeEstimate: Endpoint {
///   struct Response: Decodable { let name: String; let age: Int }
///   let name: String
///
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
/// Only ``path`` and ``Response`` are required, and ``host`` where no client supplies a base URL. `Response` decides how
/// the body is parsed: a `Decodable` type is decoded from JSON; `Data`, `String`, `Void` and `HTTPURLResponse` are
/// themselves; an `Optional` is nil for an empty body; ``JSONValue`` is JSON without a type. Implement
/// ``parse(data:response:)`` for anything else. ``AdHocEndpoint`` makes a call without a type of its own.
///
/// The types in ``EndpointMemberAlternatives`` work too: `let port = 8080`, `var body: URLRequest.Body { … }`,
/// `let headers = ["X-Page": "7"]`. Swift silently ignores a member of any other type (`let port: UInt16 = 8080`) when the
/// type conforms in its own declaration; in an `extension AgeEstimate: Endpoint { … }` the compiler warns.
///
/// In a module whose default isolation is `MainActor`, declare the types of responses, bodies and service errors
/// `nonisolated`, as in `nonisolated struct Age: Decodable`; otherwise the endpoint “does not conform to protocol
/// 'Endpoint'”, or there is a “main actor-isolated conformance”. A protocol of your own above this one and its extensions
/// are `nonisolated` too, as is an extension that declares the conformance. A public response type from another module has
/// to be `Sendable`.
nonisolated public protocol Endpoint: EndpointMemberAlternatives {
  /// What the body of a successful response is parsed into.
  associatedtype Response: Sendable
  /// The body of an error response (a status of 400 and up), if the service has a format for it. It is returned as
  /// ``NetworkError/serviceError(_:_:_:)``, and so is a value of this type that ``parse(data:response:)`` throws.
  associatedtype ServiceError: Error & Decodable = NoServiceError

  /// `https` (the default) or `http`.
  var scheme: String { get }
  /// A name, in any script, or an IP address; without scheme and port. Empty (the default) means the base URL of the
  /// client.
  var host: String { get }
  /// 1 to 65535. nil (the default) is the scheme's own.
  var port: Int? { get }
  /// The path as plain text, “/users/Jürgen”: `/` separates segments, and every other character that needs it is
  /// percent-encoded, `%` included. Use ``percentEncodedPath`` for a value that may contain a `/`.
  var path: String { get }
  /// The path as it is sent. The default encodes ``path``, which is not used where this is implemented.
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
  /// GET is the default.
  var method: URLRequest.Method { get }
  /// The query, as plain text; none is the default. ``QueryEncoder`` encodes any `Encodable`.
  var queryItems: [URLQueryItem] { get throws }
  /// Header fields; none is the default.
  var headers: [URLRequest.Header] { get }
  /// The body; none is the default.
  var body: URLRequest.Body? { get }
  /// Decodes a `Decodable` response and a ``ServiceError``. The default is the client's decoder, or a `JSONDecoder()`. For
  /// another format implement ``parse(data:response:)``, and send a body as `.data(_:contentType:)`.
  var decoder: JSONDecoder { get }
  /// The retry policy of this call; nil (the default) is the client's, or ``RetryPolicy/default``. An argument of `load`
  /// takes precedence.
  var policy: RetryPolicy? { get }

  /// Changes the finished request. An error is returned as ``NetworkError/middlewareError(_:)``, a ``NetworkError`` as
  /// itself, and nothing is sent.
  func prepare(request: inout URLRequest) throws
  /// As ``prepare(request:)``.
  func prepare(_ request: inout URLRequest) throws
  /// Parses a successful response, whose body may be empty. A ``ServiceError`` and a ``NetworkError`` are returned as
  /// themselves, any other error as ``NetworkError/undecodable(_:_:_:)``.
  func parse(data: Data, response: HTTPURLResponse) throws -> Response
  /// As ``parse(data:response:)``, for a `Decodable` response.
  func parse(_ data: Data) throws -> Response
  /// As ``parse(data:response:)``, for a `Decodable` response.
  func parse(data: Data, urlResponse: URLResponse) throws -> Response
}

nonisolated extension Endpoint {
  /// `https`.
  public var scheme: String { "https" }
  /// Empty: the base URL of the client.
  public var host: String { alternatives.host ?? "" }
  /// The scheme's own.
  public var port: Int? { try? alternatives.port }
  /// ``path``, encoded.
  public var percentEncodedPath: String { PercentEncoding.path(path) }
  /// GET.
  public var method: URLRequest.Method { URLRequest.Method(rawValue: alternatives.method) }
  /// None.
  public var queryItems: [URLQueryItem] { get throws { try alternatives.queryItems ?? [] } }
  /// None.
  public var headers: [URLRequest.Header] {
    alternatives.headers.sorted { $0.key < $1.key }.map(URLRequest.Header.init)
  }
  /// None.
  public var body: URLRequest.Body? { try? alternatives.body }
  /// The client's, or a `JSONDecoder()`.
  public var decoder: JSONDecoder { ClientDecoder.current.get() ?? JSONDecoder() }
  /// The client's, or ``RetryPolicy/default``.
  public var policy: RetryPolicy? { try? alternatives.policy }
  /// Changes nothing.
  public func prepare(request: inout URLRequest) throws { try prepare(&request) }
  /// Changes nothing.
  public func prepare(_ request: inout URLRequest) {}
  /// Not implemented.
  public func parse(_ data: Data) throws -> Response { throw MemberNotImplemented() }
  /// Not implemented.
  public func parse(data: Data, urlResponse: URLResponse) throws -> Response { throw MemberNotImplemented() }

  /// A value as one segment of ``percentEncodedPath``; a `/` in it is encoded too.
  public static func percentEncoded(segment: String) -> String { PercentEncoding.text(segment) }
}

/// For a service without an error format: a status of 400 and up stays ``NetworkError/endpointError(_:_:)``.
nonisolated public enum NoServiceError: Error, Decodable {
  /// There is no such value.
  public init(from decoder: any Decoder) throws {
    throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no error type is named"))
  }
}
