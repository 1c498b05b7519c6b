#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

nonisolated extension URLRequest {
  /// A header field.
  ///
  /// ```swift
  /// var headers: [URLRequest.Header] { [.authorization(bearer: token), .init("X-Page", "7")] }
  /// ```
  nonisolated public struct Header: Sendable, Hashable {
    /// The name; upper and lower case do not differ.
    public var name: String
    /// The value. A line break or NUL in it is refused before anything is sent: it would forge further fields.
    public var value: String
    /// Why it cannot be sent.
    var flaw: String?
    /// Makes a field of name and value.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }

    /// A bearer token (RFC 6750).
    public static func authorization(bearer token: String) -> Header { .init("Authorization", "Bearer \(token)") }
    /// User and password as UTF-8 (RFC 7617). A user with a colon is ``NetworkError/invalidRequest(reason:)``: the server
    /// would take what follows it for the password.
    public static func authorization(user: String, password: String) -> Header {
      var header = Header("Authorization", "Basic \(Data("\(user):\(password)".utf8).base64EncodedString())")
      if user.utf8.contains(58) { header.flaw = "the user of Basic authentication holds a colon" }
      return header
    }
    /// The media type that is wanted, `application/json`.
    public static func accept(_ mediaType: String) -> Header { .init("Accept", mediaType) }
    /// The media type of the body.
    public static func contentType(_ mediaType: String) -> Header { .init("Content-Type", mediaType) }
    /// The program that asks.
    public static func userAgent(_ product: String) -> Header { .init("User-Agent", product) }
    /// Only if the resource is no longer the one of this ETag, quotes included; else the answer is an empty 304, so the
    /// response has to be an `Optional`.
    public static func ifNoneMatch(_ etag: String) -> Header { .init("If-None-Match", etag) }
    /// Makes a POST safe to repeat, if the server knows the key. Keep it with the endpoint: the same order must carry the
    /// same key whenever it is sent.
    public static func idempotencyKey(_ key: String) -> Header { .init("Idempotency-Key", key) }
  }
}

nonisolated extension URLRequest.Header: CustomStringConvertible {
  /// Name and value; not the value of what sounds like a credential.
  public var description: String { "\(name): \(SensitiveHeader.matches(name, value) ? "…" : value)" }
}
