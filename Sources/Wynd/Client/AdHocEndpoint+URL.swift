public import Foundation

nonisolated extension Endpoint {
  /// A GET of a URL, such as that of the next page, whose response body is parsed as `type`.
  ///
  /// ```swift
  /// let users = try await client.load(.get(url, as: [User].self))
  /// ```
  ///
  /// The query is sent as it is written in the URL. The base URL of the client applies to a URL without a host only.
  /// Header fields of the client that look like credentials are sent only to the origin of its base URL, if it has one,
  /// and the credential of an ``Authentication`` only to its own origin.
  public static func get<Value: Decodable & Sendable>(
    _ url: URL, headers: [NetworkHeader] = [], as type: Value.Type,
    serviceError: any (Error & Decodable).Type = NoServiceError.self
  ) -> Self where Self == AdHocEndpoint<Value> { .init(url, headers, serviceError) { try Self.decoded($0, $1, $2) } }
  /// A GET of a URL whose response body is ignored.
  public static func get(
    _ url: URL, headers: [NetworkHeader] = [], as type: Void.Type,
    serviceError: any (Error & Decodable).Type = NoServiceError.self
  ) -> Self where Self == AdHocEndpoint<Void> { .init(url, headers, serviceError) { _, _, _ in } }
}

nonisolated extension AdHocEndpoint {
  fileprivate init(
    _ url: URL, _ headers: [NetworkHeader], _ serviceErrorType: any (Error & Decodable).Type,
    _ parsed: @escaping @Sendable (Data, HTTPURLResponse, JSONDecoder) throws -> Response
  ) {
    let url = url.absoluteURL
    self.init(.get, url.path(percentEncoded: false), [:], headers, nil, address: url, serviceErrorType, parsed)
  }

  /// The scheme of the URL, or `https`.
  public var scheme: String { address?.scheme ?? "https" }
  /// The host of the URL, or empty, which means the base URL of the client.
  public var host: String { address.map(NetworkEndpointURL.host(of:)) ?? "" }
  /// The port of the URL. nil means the default port of the scheme.
  public var port: Int? { address?.port }
  /// The path of the URL, or ``path``, percent-encoded.
  public var percentEncodedPath: String {
    address?.path(percentEncoded: true) ?? NetworkPercentEncoding.path(path)
  }

  var queryItemsOfAddress: [URLQueryItem] {
    address.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: false)?.queryItems } ?? []
  }
}
