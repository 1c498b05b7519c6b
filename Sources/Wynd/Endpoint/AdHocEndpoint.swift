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
/// - `query:` is a dictionary, such as `["page": 2, "q": text]`. `get` and `request` also take `.encoding(filter)` and
///   `.items(queryItems)`. The query of a URL is sent as it is written, before that of `query:`.
/// - `headers:` is a dictionary, such as `["X-Page": "7", "X-Next": next]`. A field whose value is nil is not sent.
/// - `idempotencyKey:` makes a POST or PATCH safe to repeat, if the server supports the key. The same order must have
///   the same key whenever it is sent.
/// - `policy:` is the retry policy of the endpoint; that of the call takes precedence.
/// - `timeout:` is the time in seconds without any data after which an attempt ends (`URLRequest.timeoutInterval`).
///   The limit of the whole call is `policy: RetryPolicy(deadline: .seconds(5))`.
///
/// The base URL of the client applies to a URL without a host only. Header fields of the client that look like
/// credentials are sent only to the origin of its base URL, if it has one, and the credential of an ``Authentication``
/// only to its own origin.
nonisolated public struct AdHocEndpoint<Response: Sendable>: Endpoint {
  /// The path, as plain text; empty for a URL.
  public let path: String
  /// The method.
  public let method: NetworkMethod
  /// The header fields.
  public let headers: [String: String]
  /// The body.
  public let body: RequestBody
  /// Whether the call only reads, such as a POST that searches.
  public let isReadOnly: Bool
  /// The retry policy.
  public let policy: RetryPolicy
  private let timeout: TimeInterval?
  private let idempotencyKey: UUID?
  private let wholeURL: URL?
  private let query: NetworkQuery
  private let parsed: @Sendable (Data, HTTPURLResponse, JSONDecoder) throws -> Response

  init(
    _ method: NetworkMethod, _ location: some NetworkLocation, _ query: NetworkQuery, _ headers: [String: String?],
    _ body: RequestBody = .empty, isReadOnly: Bool? = nil, key: UUID? = nil, policy: RetryPolicy,
    timeout: TimeInterval?, _ parsed: @escaping @Sendable (Data, HTTPURLResponse, JSONDecoder) throws -> Response
  ) {
    (path, wholeURL) = location.networkLocation
    self.method = method
    self.headers = headers.compactMapValues { $0 }
    self.body = body
    self.isReadOnly = isReadOnly ?? method.isReadOnly
    self.policy = policy
    self.timeout = timeout
    idempotencyKey = key
    self.query = query
    self.parsed = parsed
  }

  /// The items of `query:`.
  public var queryItems: [URLQueryItem] { get throws { try query.items() } }

  /// A URL as it is written, with the items of `query:` after its own query. Encoded once more, a `+` or a signature of
  /// the URL could mean something else. Of a path, the default of ``Endpoint/url``.
  public var url: URL {
    get throws {
      guard let url = wholeURL else { return try NetworkEndpointURL.url(of: self) }
      let items: [URLQueryItem]
      do { items = try queryItems } catch { throw NetworkError.unencodable(error, as: "query") }
      return try NetworkEndpointURL.url(url, adding: items)
    }
  }

  /// Sets the idempotency key and the time-out.
  public func prepare(request: inout URLRequest) {
    if let idempotencyKey { request.idempotencyKey = idempotencyKey }
    if let timeout { request.timeoutInterval = timeout }
  }

  /// Parses the body as the type that was passed as `as:`.
  public func parse(data: Data, response: HTTPURLResponse, decoder: JSONDecoder) throws -> Response {
    try parsed(data, response, decoder)
  }
}

nonisolated extension AdHocEndpoint: CustomStringConvertible {
  /// The method and the path or the URL: no query value, no header and nothing of the body.
  public var description: String { "\(method.rawValue) \(wholeURL?.redactedForLog ?? path)" }
}

/// Where an ``AdHocEndpoint`` goes: a `String`, which is a path, or a whole `URL`.
nonisolated public protocol NetworkLocation: Sendable {
  /// A path, as plain text, or a whole URL, whose path is not used.
  var networkLocation: (path: String, url: URL?) { get }
}
nonisolated extension String: NetworkLocation {
  /// The path.
  public var networkLocation: (path: String, url: URL?) { (self, nil) }
}
nonisolated extension URL: NetworkLocation {
  /// The whole URL.
  public var networkLocation: (path: String, url: URL?) { ("", self) }
}
