/// A request method (RFC 9110 §9). Any token is valid: `let method: NetworkMethod = "PURGE"`.
nonisolated public struct NetworkMethod: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
  /// The name of the method. It is case-sensitive, but URLSession changes `get`, `post` and others to uppercase.
  public let rawValue: String
  /// Makes a method from its name.
  public init(rawValue: String) { self.rawValue = rawValue }
  /// Makes a method from its name.
  public init(stringLiteral value: String) { rawValue = value }

  /// Whether requests with this method only read.
  var isReadOnly: Bool { RepeatSafety.isReadOnly(rawValue.uppercased()) }

  /// Transfers a representation of the resource.
  public static let get: NetworkMethod = "GET"
  /// Like GET, but the response has no body.
  public static let head: NetworkMethod = "HEAD"
  /// Sends the body to the resource for processing. Not safe to repeat without an Idempotency-Key.
  public static let post: NetworkMethod = "POST"
  /// Replaces the resource.
  public static let put: NetworkMethod = "PUT"
  /// Changes a part of the resource (RFC 5789). Not safe to repeat without an Idempotency-Key.
  public static let patch: NetworkMethod = "PATCH"
  /// Removes the resource.
  public static let delete: NetworkMethod = "DELETE"
  /// Requests the options that the resource supports.
  public static let options: NetworkMethod = "OPTIONS"
  /// Like GET, but with a request body (draft-ietf-httpbis-safe-method-w-body).
  public static let query: NetworkMethod = "QUERY"
}
