public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// An endpoint without a type of its own, made by `get`, `post`, `put`, `patch` or `delete`.
///
/// ```swift
/// let users = try await client.load(.get("/users", query: ["page": 2], as: [User].self))
/// let user = try await client.load(.post("/users", body: .json(newUser), as: User.self))
/// try await client.load(.delete("/users/\(user.id)"))
/// ```
///
/// The path is plain text, like ``Endpoint/path``. A ``QueryEncoder`` encodes `query`. Without `as:`, the body of the
/// response is ignored. `serviceError:` is the type of the body of an error response, like ``Endpoint/ServiceError``.
/// A `get` takes a URL, too, such as that of the next page (``NetworkResponse/link(_:)``).
nonisolated public struct AdHocEndpoint<Response: Sendable>: Endpoint, NetworkServiceErrorSource,
  NetworkAddressedEndpoint
{
  /// The path, as plain text.
  public let path: String
  /// The method.
  public let method: NetworkMethod
  /// The header fields.
  public let headers: [NetworkHeader]
  /// The body.
  public let body: RequestBody?
  /// Whether a POST only reads, such as one that searches.
  public let isReadOnly: Bool
  let query: QueryEncoder.Values
  let serviceErrorType: any (Error & Decodable).Type
  /// The URL of a call that has no path of its own.
  let address: URL?
  let parsed: @Sendable (Data, HTTPURLResponse, JSONDecoder) throws -> Response

  /// The encoded query. Throws an error if a value cannot be encoded.
  public var queryItems: [URLQueryItem] {
    get throws { try query.isEmpty ? queryItemsOfAddress : QueryEncoder().encode(query) }
  }
  /// Parses the body as the type that was passed as `as:`.
  public func parse(data: Data, response: HTTPURLResponse, decoder: JSONDecoder) throws -> Response {
    try parsed(data, response, decoder)
  }
}

nonisolated extension AdHocEndpoint: CustomStringConvertible {
  /// The method and the path or the URL: no query value, no header and nothing of the body.
  public var description: String { "\(method.rawValue) \(address?.redactedForLog ?? path)" }
}

nonisolated extension AdHocEndpoint {
  init(
    _ method: NetworkMethod, _ path: String, _ query: QueryEncoder.Values, _ headers: [NetworkHeader],
    _ body: RequestBody?, isReadOnly: Bool = false, address: URL? = nil,
    _ serviceErrorType: any (Error & Decodable).Type,
    _ parsed: @escaping @Sendable (Data, HTTPURLResponse, JSONDecoder) throws -> Response
  ) {
    self.init(
      path: path, method: method, headers: headers, body: body, isReadOnly: isReadOnly, query: query,
      serviceErrorType: serviceErrorType, address: address, parsed: parsed)
  }
}

nonisolated extension Endpoint {
  /// A GET whose response body is parsed as `type`.
  public static func get<Value: Decodable & Sendable>(
    _ path: String, query: QueryEncoder.Values = [:], headers: [NetworkHeader] = [], as type: Value.Type,
    serviceError: any (Error & Decodable).Type = NoServiceError.self
  ) -> Self where Self == AdHocEndpoint<Value> {
    .init(.get, path, query, headers, nil, serviceError) { try Self.decoded($0, $1, $2) }
  }
  /// A GET whose response body is ignored.
  public static func get(
    _ path: String, query: QueryEncoder.Values = [:], headers: [NetworkHeader] = [], as type: Void.Type,
    serviceError: any (Error & Decodable).Type = NoServiceError.self
  ) -> Self where Self == AdHocEndpoint<Void> { .init(.get, path, query, headers, nil, serviceError) { _, _, _ in } }
  /// A POST whose response body is parsed as `type`.
  public static func post<Value: Decodable & Sendable>(
    _ path: String, query: QueryEncoder.Values = [:], headers: [NetworkHeader] = [], body: RequestBody? = nil,
    isReadOnly: Bool = false, as type: Value.Type,
    serviceError: any (Error & Decodable).Type = NoServiceError.self
  ) -> Self where Self == AdHocEndpoint<Value> {
    .init(.post, path, query, headers, body, isReadOnly: isReadOnly, serviceError) { try Self.decoded($0, $1, $2) }
  }
  /// A POST whose response body is ignored.
  public static func post(
    _ path: String, query: QueryEncoder.Values = [:], headers: [NetworkHeader] = [], body: RequestBody? = nil,
    isReadOnly: Bool = false, as type: Void.Type = Void.self,
    serviceError: any (Error & Decodable).Type = NoServiceError.self
  ) -> Self where Self == AdHocEndpoint<Void> {
    .init(.post, path, query, headers, body, isReadOnly: isReadOnly, serviceError) { _, _, _ in }
  }
  /// A PUT whose response body is parsed as `type`.
  public static func put<Value: Decodable & Sendable>(
    _ path: String, query: QueryEncoder.Values = [:], headers: [NetworkHeader] = [], body: RequestBody? = nil,
    as type: Value.Type,
    serviceError: any (Error & Decodable).Type = NoServiceError.self
  ) -> Self where Self == AdHocEndpoint<Value> {
    .init(.put, path, query, headers, body, serviceError) { try Self.decoded($0, $1, $2) }
  }
  /// A PUT whose response body is ignored.
  public static func put(
    _ path: String, query: QueryEncoder.Values = [:], headers: [NetworkHeader] = [], body: RequestBody? = nil,
    as type: Void.Type = Void.self,
    serviceError: any (Error & Decodable).Type = NoServiceError.self
  ) -> Self where Self == AdHocEndpoint<Void> { .init(.put, path, query, headers, body, serviceError) { _, _, _ in } }
  /// A PATCH whose response body is parsed as `type`.
  public static func patch<Value: Decodable & Sendable>(
    _ path: String, query: QueryEncoder.Values = [:], headers: [NetworkHeader] = [], body: RequestBody? = nil,
    as type: Value.Type,
    serviceError: any (Error & Decodable).Type = NoServiceError.self
  ) -> Self where Self == AdHocEndpoint<Value> {
    .init(.patch, path, query, headers, body, serviceError) { try Self.decoded($0, $1, $2) }
  }
  /// A PATCH whose response body is ignored.
  public static func patch(
    _ path: String, query: QueryEncoder.Values = [:], headers: [NetworkHeader] = [], body: RequestBody? = nil,
    as type: Void.Type = Void.self,
    serviceError: any (Error & Decodable).Type = NoServiceError.self
  ) -> Self where Self == AdHocEndpoint<Void> { .init(.patch, path, query, headers, body, serviceError) { _, _, _ in } }
  /// A DELETE whose response body is parsed as `type`.
  public static func delete<Value: Decodable & Sendable>(
    _ path: String, query: QueryEncoder.Values = [:], headers: [NetworkHeader] = [], body: RequestBody? = nil,
    as type: Value.Type,
    serviceError: any (Error & Decodable).Type = NoServiceError.self
  ) -> Self where Self == AdHocEndpoint<Value> {
    .init(.delete, path, query, headers, body, serviceError) { try Self.decoded($0, $1, $2) }
  }
  /// A DELETE whose response body is ignored.
  public static func delete(
    _ path: String, query: QueryEncoder.Values = [:], headers: [NetworkHeader] = [], body: RequestBody? = nil,
    as type: Void.Type = Void.self,
    serviceError: any (Error & Decodable).Type = NoServiceError.self
  ) -> Self where Self == AdHocEndpoint<Void> {
    .init(.delete, path, query, headers, body, serviceError) { _, _, _ in }
  }
}
