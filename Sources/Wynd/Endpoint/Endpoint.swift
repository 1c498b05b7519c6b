public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// One call of a web service, described: where it goes, what it sends, what comes back.
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
/// Only ``path`` and ``Response`` have to be written, and ``host`` where no client supplies a base URL. How an answer is
/// parsed follows from `Response`: `Decodable` is JSON; `Data`, `String`, `Void` and `HTTPURLResponse` are themselves; an
/// `Optional` is nil where the body is empty; ``JSONValue`` is JSON without a type; for anything else write
/// ``parse(data:response:)``.
///
/// Write each member with the type that stands here, `let port: Int? = 8080`, `var body: URLRequest.Body? { … }`: with
/// another type it is another property, which Swift ignores without a word.
///
/// In a module whose default isolation is `MainActor`, types of a response, of a body and of a service error that stand by
/// themselves are `nonisolated struct Age: Decodable`; without it the endpoint «does not conform to protocol 'Endpoint'»,
/// or there is a «main actor-isolated conformance». So are a protocol of your own above this one, its extension, and a
/// decoder of your own. A public response from another module says `Sendable` itself.
nonisolated public protocol Endpoint: Sendable {
  /// What a successful answer is parsed into.
  associatedtype Response: Sendable
  /// What the service answers with on 400 and up, if it has a format for that: it comes back as
  /// ``NetworkError/serviceError(_:_:_:)``.
  associatedtype ServiceError: Error & Decodable = NoServiceError

  /// `https` (the default) or `http`.
  var scheme: String { get }
  /// A name, in any script, or an IP address; without a port. Empty (the default) means the base URL of the client.
  var host: String { get }
  /// 1 to 65535. nil (the default) is the scheme's own.
  var port: Int? { get }
  /// The path as plain text, «/users/Jürgen»: `/` separates, and everything that needs it is percent-encoded, a `%`
  /// included. A value that may itself hold a `/` goes into ``percentEncodedPath``.
  var path: String { get }
  /// The path as it is sent. The default encodes ``path``; where this is written, that is not asked.
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
  /// The query, as plain text; none is the default. ``QueryEncoder`` makes it of any `Encodable`.
  var queryItems: [URLQueryItem] { get throws }
  /// Header fields; none is the default.
  var headers: [URLRequest.Header] { get }
  /// The body; none is the default.
  var body: URLRequest.Body? { get }
  /// What decodes a `Decodable` response and a ``ServiceError``; a `JSONDecoder` is the default. Computed, as a decoder
  /// need not be `Sendable`.
  var decoder: any EndpointDecoder { get }
  /// The retry rule of this call; nil (the default) is ``RetryPolicy/default``. An argument of `load` wins.
  var policy: RetryPolicy? { get }

  /// Changes the finished request. What it throws comes back as ``NetworkError/middlewareError(_:)``, a
  /// ``NetworkError`` as itself; nothing is sent then.
  func prepare(request: inout URLRequest) throws
  /// Makes the response of a successful answer, whose body may be empty. What it throws comes back as
  /// ``NetworkError/undecodable(_:_:_:)``, a ``NetworkError`` as itself.
  func parse(data: Data, response: HTTPURLResponse) throws -> Response
}

nonisolated extension Endpoint {
  /// `https`.
  public var scheme: String { "https" }
  /// Empty: the base URL of the client.
  public var host: String { "" }
  /// The scheme's own.
  public var port: Int? { nil }
  /// ``path``, encoded.
  public var percentEncodedPath: String { PercentEncoding.path(path) }
  /// GET.
  public var method: URLRequest.Method { .get }
  /// None.
  public var queryItems: [URLQueryItem] { [] }
  /// None.
  public var headers: [URLRequest.Header] { [] }
  /// None.
  public var body: URLRequest.Body? { nil }
  /// The client's; without one, JSON.
  public var decoder: any EndpointDecoder { EndpointCoding.decoder ?? JSONDecoder() }
  /// ``RetryPolicy/default``, or what the call says.
  public var policy: RetryPolicy? { nil }
  /// Changes nothing.
  public func prepare(request: inout URLRequest) {}

  /// A value as one segment of ``percentEncodedPath``, a `/` in it encoded too.
  public static func percentEncoded(segment: String) -> String { PercentEncoding.text(segment) }
}

/// The service has no error format: a status of 400 and up stays ``NetworkError/endpointError(_:_:)``.
nonisolated public enum NoServiceError: Error, Decodable {
  /// There is no such value.
  public init(from decoder: any Decoder) throws {
    throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "no error type is named"))
  }
}
