#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

nonisolated extension URLRequest {
  /// A request method (RFC 9110 §9). Any token will do: `let method: URLRequest.Method = "PURGE"`.
  nonisolated public struct Method: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
    /// The method as it is sent. Upper and lower case differ, but URLSession makes GET, POST … of `get`, `post` ….
    public let rawValue: String
    /// Makes a method of its name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Makes a method of its name.
    public init(stringLiteral value: String) { rawValue = value }

    /// Transfers a representation of the resource.
    public static let get: Method = "GET"
    /// As GET, without the body.
    public static let head: Method = "HEAD"
    /// Lets the resource process the body. Not safe to repeat without an Idempotency-Key.
    public static let post: Method = "POST"
    /// Replaces the resource.
    public static let put: Method = "PUT"
    /// Changes a part of the resource (RFC 5789). Not safe to repeat without an Idempotency-Key.
    public static let patch: Method = "PATCH"
    /// Removes the resource.
    public static let delete: Method = "DELETE"
    /// Asks what the resource allows.
    public static let options: Method = "OPTIONS"
    /// A GET with a body (draft-ietf-httpbis-safe-method-w-body).
    public static let query: Method = "QUERY"
  }
}
