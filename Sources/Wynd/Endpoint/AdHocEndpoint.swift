// Endpoint: describes a request to a service, and parses its response. It needs Core and Body.
// Start with Endpoint.swift.

public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// An endpoint without a type of its own, made by `get`, `post`, `put`, `patch`, `delete`, `head` or `request`.
///
/// ```swift
/// let users: [User] = try await client.load(.get("/users", query: ["page": 2]))
/// let user = try await client.load(.post("/users", body: .json(newUser), as: User.self))
/// try await client.load(.delete("/users/\(user.id)"))
/// ```
///
/// Each takes a path, which is plain text like ``Endpoint/path``, or a whole `URL`, such as that of the next page
/// (``NetworkResponse/link(_:)``). `as:` is the type of the body of the response, and may be left out where the
/// compiler knows it. If nothing receives the response, its body is ignored.
///
/// The query of a URL is sent as it is written, before that of `query:`. The base URL of the client applies to a URL
/// without a host only. Header fields of the client that look like credentials are sent only to the origin of its base
/// URL, if it has one, and the credential of an ``Authentication`` only to its own origin.
nonisolated public struct AdHocEndpoint<Response: Sendable>: Endpoint {
  /// The method.
  public let method: NetworkMethod
  /// The header fields.
  public let headers: NetworkHeaders
  /// The body.
  public let body: RequestBody
  /// Whether a POST only reads, such as one that searches.
  public let isReadOnly: Bool
  private let location: any NetworkLocation
  private let query: NetworkQuery
  private let parsed: @Sendable (Data, HTTPURLResponse, JSONDecoder) throws -> Response

  fileprivate init(
    _ method: NetworkMethod, _ location: some NetworkLocation, _ query: NetworkQuery, _ headers: NetworkHeaders,
    _ body: RequestBody, _ isReadOnly: Bool,
    _ parsed: @escaping @Sendable (Data, HTTPURLResponse, JSONDecoder) throws -> Response
  ) {
    self.method = method
    self.headers = headers
    self.body = body
    self.isReadOnly = isReadOnly
    self.location = (location as? URL)?.absoluteURL ?? location
    self.query = query
    self.parsed = parsed
  }

  private var url: URL? { location as? URL }

  /// The scheme of the URL, or `https`.
  public var scheme: String { url?.scheme ?? "https" }
  /// The host of the URL, or empty, which means the base URL of the client.
  public var host: String { url.map(NetworkEndpointURL.host(of:)) ?? "" }
  /// The port of the URL. nil means the default port of the scheme.
  public var port: Int? { url?.port }
  /// The path, as plain text.
  public var path: String { url?.path(percentEncoded: false) ?? location as? String ?? "" }
  /// The path of the URL, or ``path``, percent-encoded.
  public var percentEncodedPath: String {
    guard let url else { return NetworkPercentEncoding.path(path) }
    // A segment “..” of a whole URL is meant as it is written. Without a host, it could leave the path of the base URL.
    return (host.isEmpty ? url : url.standardized).path(percentEncoded: true)
  }
  /// The items of `query:`.
  public var queryItems: [URLQueryItem] { get throws { try query.items() } }
  /// The query of the URL as it is written, and ``queryItems``, encoded. Encoded once more, a `+` or a signature of the
  /// URL could mean something else.
  public var percentEncodedQuery: String? {
    get throws {
      let items = try queryItems
      let own = url?.query(percentEncoded: true)
      if items.isEmpty { return own }
      let query = NetworkPercentEncoding.query(items)
      guard let own, !own.isEmpty else { return query }
      return own + (own.hasSuffix("&") ? "" : "&") + query
    }
  }

  /// Throws an error if a part of the URL would be lost.
  public func prepare(request: inout URLRequest) throws {
    guard let url else { return }
    if url.scheme != nil, host.isEmpty { throw NetworkError.invalidRequest(reason: "the URL has no host") }
    if url.user != nil || url.password != nil {
      let reason = "the URL has a user; write `headers: [.authorization(user:password:)]`"
      throw NetworkError.invalidRequest(reason: reason)
    }
  }

  /// Parses the body as the type that was passed as `as:`.
  public func parse(data: Data, response: HTTPURLResponse, decoder: JSONDecoder) throws -> Response {
    try parsed(data, response, decoder)
  }
}

/// Where an ``AdHocEndpoint`` goes: a `String`, which is a path, or a whole `URL`.
nonisolated public protocol NetworkLocation: Sendable {}
nonisolated extension String: NetworkLocation {}
nonisolated extension URL: NetworkLocation {}

nonisolated extension AdHocEndpoint: CustomStringConvertible {
  /// The method and the path or the URL: no query value, no header and nothing of the body.
  public var description: String { "\(method.rawValue) \(url?.redactedForLog ?? path)" }
}

nonisolated extension AdHocEndpoint where Response: Decodable {
  fileprivate init(
    _ method: NetworkMethod, _ location: some NetworkLocation, _ query: NetworkQuery, _ headers: NetworkHeaders,
    _ body: RequestBody = .empty, isReadOnly: Bool = false
  ) {
    self.init(method, location, query, headers, body, isReadOnly) { try Self.decoded($0, $1, $2) }
  }
}

nonisolated extension AdHocEndpoint where Response == Void {
  fileprivate init(
    _ method: NetworkMethod, _ location: some NetworkLocation, _ query: NetworkQuery, _ headers: NetworkHeaders,
    _ body: RequestBody = .empty, isReadOnly: Bool = false
  ) {
    self.init(method, location, query, headers, body, isReadOnly) { _, _, _ in }
  }
}

nonisolated extension NetworkRequestConvertible {
  /// A GET whose response body is parsed as `type`.
  public static func get<Value: Decodable & Sendable>(
    _ path: some NetworkLocation, query: NetworkQuery = [:], headers: NetworkHeaders = [],
    as type: Value.Type = Value.self
  ) -> Self where Self == AdHocEndpoint<Value> { .init(.get, path, query, headers) }
  /// A GET whose response body is ignored.
  public static func get(
    _ path: some NetworkLocation, query: NetworkQuery = [:], headers: NetworkHeaders = [],
    as type: Void.Type = Void.self
  ) -> Self where Self == AdHocEndpoint<Void> { .init(.get, path, query, headers) }
  /// A HEAD, whose response is the status code and the header fields.
  public static func head(
    _ path: some NetworkLocation, query: NetworkQuery = [:], headers: NetworkHeaders = []
  ) -> Self where Self == AdHocEndpoint<HTTPURLResponse> {
    .init(.head, path, query, headers, .empty, false) { _, response, _ in response }
  }
  /// A POST whose response body is parsed as `type`.
  public static func post<Value: Decodable & Sendable>(
    _ path: some NetworkLocation, query: NetworkQuery = [:], headers: NetworkHeaders = [], body: RequestBody = .empty,
    isReadOnly: Bool = false, as type: Value.Type = Value.self
  ) -> Self where Self == AdHocEndpoint<Value> { .init(.post, path, query, headers, body, isReadOnly: isReadOnly) }
  /// A POST whose response body is ignored.
  public static func post(
    _ path: some NetworkLocation, query: NetworkQuery = [:], headers: NetworkHeaders = [], body: RequestBody = .empty,
    isReadOnly: Bool = false, as type: Void.Type = Void.self
  ) -> Self where Self == AdHocEndpoint<Void> { .init(.post, path, query, headers, body, isReadOnly: isReadOnly) }
  /// A PUT whose response body is parsed as `type`.
  public static func put<Value: Decodable & Sendable>(
    _ path: some NetworkLocation, query: NetworkQuery = [:], headers: NetworkHeaders = [], body: RequestBody = .empty,
    as type: Value.Type = Value.self
  ) -> Self where Self == AdHocEndpoint<Value> { .init(.put, path, query, headers, body) }
  /// A PUT whose response body is ignored.
  public static func put(
    _ path: some NetworkLocation, query: NetworkQuery = [:], headers: NetworkHeaders = [], body: RequestBody = .empty,
    as type: Void.Type = Void.self
  ) -> Self where Self == AdHocEndpoint<Void> { .init(.put, path, query, headers, body) }
  /// A PATCH whose response body is parsed as `type`.
  public static func patch<Value: Decodable & Sendable>(
    _ path: some NetworkLocation, query: NetworkQuery = [:], headers: NetworkHeaders = [], body: RequestBody = .empty,
    as type: Value.Type = Value.self
  ) -> Self where Self == AdHocEndpoint<Value> { .init(.patch, path, query, headers, body) }
  /// A PATCH whose response body is ignored.
  public static func patch(
    _ path: some NetworkLocation, query: NetworkQuery = [:], headers: NetworkHeaders = [], body: RequestBody = .empty,
    as type: Void.Type = Void.self
  ) -> Self where Self == AdHocEndpoint<Void> { .init(.patch, path, query, headers, body) }
  /// A DELETE whose response body is parsed as `type`.
  public static func delete<Value: Decodable & Sendable>(
    _ path: some NetworkLocation, query: NetworkQuery = [:], headers: NetworkHeaders = [], body: RequestBody = .empty,
    as type: Value.Type = Value.self
  ) -> Self where Self == AdHocEndpoint<Value> { .init(.delete, path, query, headers, body) }
  /// A DELETE whose response body is ignored.
  public static func delete(
    _ path: some NetworkLocation, query: NetworkQuery = [:], headers: NetworkHeaders = [], body: RequestBody = .empty,
    as type: Void.Type = Void.self
  ) -> Self where Self == AdHocEndpoint<Void> { .init(.delete, path, query, headers, body) }
  /// A request of any method, such as `.request(.options, "/users")`, whose response body is parsed as `type`.
  public static func request<Value: Decodable & Sendable>(
    _ method: NetworkMethod, _ path: some NetworkLocation, query: NetworkQuery = [:], headers: NetworkHeaders = [],
    body: RequestBody = .empty, isReadOnly: Bool = false, as type: Value.Type = Value.self
  ) -> Self where Self == AdHocEndpoint<Value> { .init(method, path, query, headers, body, isReadOnly: isReadOnly) }
  /// A request of any method, whose response body is ignored.
  public static func request(
    _ method: NetworkMethod, _ path: some NetworkLocation, query: NetworkQuery = [:], headers: NetworkHeaders = [],
    body: RequestBody = .empty, isReadOnly: Bool = false, as type: Void.Type = Void.self
  ) -> Self where Self == AdHocEndpoint<Void> { .init(method, path, query, headers, body, isReadOnly: isReadOnly) }
}
