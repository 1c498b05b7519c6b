// Endpoint: describes a request to a service, and parses its response. It needs Core and Body.
// Endpoint+Request makes the request, NetworkEndpointURL its URL with the encoding of path and query, and
// Endpoint+Response parses the response.

public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A request to a web service, and the type of its response.
///
/// ```swift
/// struct AgeEstimate: Endpoint {
///   struct Response: Decodable { let name: String; let age: Int }
///   let name: String
///   let host = "api.agify.io"
///   let path = "/"
///   var queryItems: [URLQueryItem] { [URLQueryItem(name: "name", value: name)] }
/// }
///
/// let estimate = try await URLSession.shared.load(AgeEstimate(name: "Bella"))
/// ```
///
/// Only ``path`` and ``Response`` are required, and ``host`` if no client supplies a base URL. `Response` determines
/// how the body is parsed. A `Decodable` type is decoded from JSON. `Data` is the body, and `String` its text. `Void`
/// ignores the body, and `HTTPURLResponse` is the status code and header fields. An `Optional` is nil if the body is
/// empty. Implement ``parse(data:response:decoder:)`` for anything else. ``AdHocEndpoint`` needs no type of its own.
///
/// A ``method``, ``body``, `headers`, ``queryItems`` or ``port`` of another type does not compile, such as
/// `let port = 8080`, which is an `Int` and not an `Int?`. Swift silently ignores what <doc:Endpoints> lists, and warns
/// about some of it in an extension that declares the conformance. Endpoints with more than a host, a path and a query
/// are therefore best written this way:
///
/// ```swift
/// nonisolated struct Deletion {
///   typealias Response = Void
///   let id: Int
/// }
/// nonisolated extension Deletion: Endpoint {
///   var path: String { "/expenses/\(id)" }
///   var method: NetworkMethod { .delete }
/// }
/// ```
///
/// In a module whose default isolation is `MainActor`, an extension that declares the conformance, a protocol that
/// refines this one and its extensions have to be `nonisolated`. So do the types of responses, bodies and service
/// errors, unless they are declared inside the endpoint. Otherwise, the compiler reports that the endpoint “does not
/// conform to protocol 'Endpoint'”, or a “main actor-isolated conformance”. A public response type from another module
/// has to be `Sendable`.
nonisolated public protocol Endpoint<Response>: NetworkEndpointMembers {
  /// The type that a successful response is parsed into. An `any Endpoint<[User]>` is any endpoint that gives users.
  associatedtype Response: Sendable

  /// `https` (the default) or `http`.
  var scheme: String { get }
  /// A domain name, which may be internationalized, or an IP address, without scheme and port. An IPv6 address may be
  /// in brackets, and has no zone (`%eth0`). Empty (the default) means the base URL of the client.
  var host: String { get }
  /// 1 to 65535. nil (the default) means the default port of the scheme.
  var port: Int? { get }
  /// The path as plain text, such as “/users/Jürgen”. `/` separates segments. Other characters are percent-encoded
  /// where necessary, including `%`. A `?` is not encoded but makes the call fail, because a query is passed as
  /// ``queryItems``. Use ``percentEncodedPath`` for a value that may contain a `/` or a `?`.
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
  /// The URL of the request. Without a host, it is relative to the base URL of the client. The default is made of
  /// ``scheme``, ``host``, ``port``, ``percentEncodedPath`` and ``queryItems``, which are ignored if you implement this
  /// property. Give another name to a link that the endpoint only carries.
  var url: URL { get throws }
  /// The request method. The default is GET.
  var method: NetworkMethod { get }
  /// Whether the call only reads, such as a POST that searches or a query in GraphQL: it is retried like a GET then. A
  /// GET that changes something is false, and is retried like a POST. The default is what the method says.
  var isReadOnly: Bool { get }
  /// The query items, as plain text. The default is none.
  var queryItems: [URLQueryItem] { get throws }
  /// The header fields, such as `["X-Page": "7"]`. The default is none.
  var headers: [String: String] { get }
  /// The body. The default is ``RequestBody/empty``. If it throws, the call fails with that error, in
  /// ``NetworkError/generalError(_:)``.
  var body: RequestBody { get throws }
  /// Decodes a `Decodable` response. The default stands for the client's, or one that reads dates as ISO 8601. For a
  /// format other than JSON, implement ``parse(data:response:decoder:)``, and send a body as `.data(_:contentType:)`.
  var decoder: JSONDecoder { get }
  /// The retry policy of this call. Fields that it does not set are taken from the client's policy. The `policy`
  /// argument of a call takes precedence. The default sets nothing.
  var policy: RetryPolicy { get }

  /// Changes the request, before a client adds its base URL and its header fields. If it throws, nothing is sent, and
  /// the call fails with ``NetworkError/generalError(_:)``, or with the error itself if it is a ``NetworkError``.
  func prepare(request: inout URLRequest) throws
  /// Parses a successful response, whose body may be empty.
  ///
  /// - Parameters:
  ///   - data: The body.
  ///   - response: The status code and the header fields.
  ///   - decoder: The ``decoder`` of the endpoint or of the client.
  /// - Returns: The value that the caller receives.
  /// - Throws: What the call fails with: a ``NetworkError`` stays as it is, and any other error becomes
  ///   ``NetworkError/undecodable(_:_:_:)``, with which ``NetworkError/serviceError(as:decoder:)`` finds it.
  func parse(data: Data, response: HTTPURLResponse, decoder: JSONDecoder) throws -> Response
}

nonisolated extension Endpoint {
  /// `https`.
  public var scheme: String { "https" }
  /// Empty, which means the base URL of the client.
  public var host: String { "" }
  /// nil, which means the default port of the scheme.
  public var port: Int? { nil }
  /// ``path``, percent-encoded.
  public var percentEncodedPath: String {
    NetworkPercentEncoding.text(path, keeping: NetworkPercentEncoding.pathCharacters)
  }
  /// Made of the scheme, the host, the port, the path and the query.
  public var url: URL { get throws { try NetworkEndpointURL.url(of: self) } }
  /// GET.
  public var method: NetworkMethod { .get }
  /// What the method says.
  public var isReadOnly: Bool { method.isReadOnly }
  /// None.
  public var queryItems: [URLQueryItem] { get throws { [] } }
  /// None.
  public var headers: [String: String] { [:] }
  /// ``RequestBody/empty``.
  public var body: RequestBody { .empty }
  /// Stands for the client's decoder, or one that reads dates as ISO 8601.
  public var decoder: JSONDecoder { .networkDefault }
  /// Sets nothing.
  public var policy: RetryPolicy { .default }
  /// Changes nothing.
  public func prepare(request: inout URLRequest) {}

  /// Encodes a value as one segment of ``percentEncodedPath``, including any `/` in it.
  public static func percentEncoded(segment: String) -> String { NetworkPercentEncoding.text(segment) }
}
