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
  nonisolated public struct Header: Sendable, Hashable, CustomStringConvertible {
    /// The name, which is case-insensitive.
    public var name: String
    /// The value. If it contains a line break or NUL, the call fails with ``NetworkError/invalidRequest(reason:)``,
    /// because the value could inject other fields.
    public var value: String
    /// Why the field cannot be sent, or nil.
    var invalidReason: String?
    /// Makes a field from name and value.
    public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
    /// The name and the value, or “…” in place of a sensitive value.
    public var description: String { "\(name): \(NetworkSensitiveHeader.matches(name, value) ? "…" : value)" }

    func add(to request: inout URLRequest) throws(NetworkError) {
      if let invalid = invalidReason ?? NetworkRequestValidation.error(inField: name, value) {
        throw .invalidRequest(reason: invalid)
      }
      request.addValue(value, forHTTPHeaderField: name)
    }

    /// A bearer token (RFC 6750).
    public static func authorization(bearer token: String) -> Header { .init("Authorization", "Bearer \(token)") }
    /// Basic authentication with user name and password in UTF-8 (RFC 7617). If the user name contains a colon, the
    /// call fails with ``NetworkError/invalidRequest(reason:)``, because the server would read the text after it as the
    /// password.
    public static func authorization(user: String, password: String) -> Header {
      var header = Header("Authorization", "Basic \(Data("\(user):\(password)".utf8).base64EncodedString())")
      if user.utf8.contains(58) { header.invalidReason = "the user of Basic authentication contains a colon" }
      return header
    }
    /// The accepted media type, such as `application/json`.
    public static func accept(_ mediaType: String) -> Header { .init("Accept", mediaType) }
    /// The media type of the body.
    public static func contentType(_ mediaType: String) -> Header { .init("Content-Type", mediaType) }
    /// The name of the app, with or without its version.
    public static func userAgent(_ product: String) -> Header { .init("User-Agent", product) }
    /// Requests the resource only if it no longer has this ETag (with its quotes). Otherwise, the response is a 304
    /// without a body, so the response type has to be an `Optional`.
    public static func ifNoneMatch(_ etag: String) -> Header { .init("If-None-Match", etag) }
    /// Makes a POST safe to repeat, if the server supports the key. Store it with the endpoint, because the same order
    /// must have the same key whenever it is sent.
    public static func idempotencyKey(_ key: String) -> Header { .init("Idempotency-Key", key) }
  }

  /// A request method (RFC 9110 §9). Any token is valid: `let method: URLRequest.Method = "PURGE"`.
  nonisolated public struct Method: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
    /// The name of the method. It is case-sensitive, but URLSession changes `get`, `post` and others to uppercase.
    public let rawValue: String
    /// Makes a method from its name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Makes a method from its name.
    public init(stringLiteral value: String) { rawValue = value }

    /// Transfers a representation of the resource.
    public static let get: Method = "GET"
    /// Like GET, but the response has no body.
    public static let head: Method = "HEAD"
    /// Sends the body to the resource for processing. Not safe to repeat without an Idempotency-Key.
    public static let post: Method = "POST"
    /// Replaces the resource.
    public static let put: Method = "PUT"
    /// Changes a part of the resource (RFC 5789). Not safe to repeat without an Idempotency-Key.
    public static let patch: Method = "PATCH"
    /// Removes the resource.
    public static let delete: Method = "DELETE"
    /// Requests the options that the resource supports.
    public static let options: Method = "OPTIONS"
    /// Like GET, but with a request body (draft-ietf-httpbis-safe-method-w-body).
    public static let query: Method = "QUERY"
  }
}

/// Builds a list of query items or header fields, one per line.
///
/// ```swift
/// @ListBuilder<URLQueryItem> var queryItems: [URLQueryItem] {
///   URLQueryItem(name: "q", value: text)
///   if let page { URLQueryItem(name: "page", value: "\(page)") }
/// }
/// ```
@resultBuilder nonisolated public enum ListBuilder<Element>: Sendable {
  /// One element, or none.
  public static func buildExpression(_ element: Element?) -> [Element] { element.map { [$0] } ?? [] }
  /// Several elements.
  public static func buildExpression(_ elements: [Element]) -> [Element] { elements }
  /// Joins the elements of all lines.
  public static func buildBlock(_ lists: [Element]...) -> [Element] { lists.flatMap { $0 } }
  /// `if` without `else`.
  public static func buildOptional(_ list: [Element]?) -> [Element] { list ?? [] }
  /// `if`.
  public static func buildEither(first list: [Element]) -> [Element] { list }
  /// `else`.
  public static func buildEither(second list: [Element]) -> [Element] { list }
  /// `for`.
  public static func buildArray(_ lists: [[Element]]) -> [Element] { lists.flatMap { $0 } }
}
