public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated extension NetworkHeader {
  /// A bearer token (RFC 6750).
  public static func authorization(bearer token: String) -> NetworkHeader {
    .init("Authorization", "Bearer \(token)")
  }
  /// Basic authentication with user name and password in UTF-8 (RFC 7617). If the user name contains a colon, the
  /// call fails with ``NetworkError/invalidRequest(reason:)``, because the server would read the text after it as the
  /// password.
  public static func authorization(user: String, password: String) -> NetworkHeader {
    var header = NetworkHeader("Authorization", "Basic \(Data("\(user):\(password)".utf8).base64EncodedString())")
    if user.utf8.contains(UInt8(ascii: ":")) {
      header.invalidReason = "the user of Basic authentication contains a colon"
    }
    return header
  }
  /// The accepted media type, such as `application/json`.
  public static func accept(_ mediaType: String) -> NetworkHeader { .init("Accept", mediaType) }
  /// The media type of the body.
  public static func contentType(_ mediaType: String) -> NetworkHeader { .init("Content-Type", mediaType) }
  /// The name of the app, with or without its version.
  public static func userAgent(_ product: String) -> NetworkHeader { .init("User-Agent", product) }
  /// Requests the resource only if it no longer has this ETag (with its quotes). Otherwise, the response is a 304
  /// without a body, so the response type has to be an `Optional`.
  public static func ifNoneMatch(_ etag: String) -> NetworkHeader { .init("If-None-Match", etag) }
  /// Makes a POST safe to repeat, if the server supports the key. Store it with the endpoint, because the same order
  /// must have the same key whenever it is sent.
  ///
  /// The value is sent in double quotes, as a string of structured fields (RFC 9651). A key that is not printable ASCII
  /// is ``NetworkError/invalidRequest(reason:)``. For a server that expects a key without quotes, write
  /// `.init("Idempotency-Key", key)`.
  public static func idempotencyKey(_ key: UUID) -> NetworkHeader { idempotencyKey(key.uuidString) }
  /// The same with a key that is text, such as the number of an order.
  public static func idempotencyKey(_ key: String) -> NetworkHeader {
    let escaped = key.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"")
    var header = NetworkHeader("Idempotency-Key", "\"\(escaped)\"")
    let printable = UInt8(ascii: " ")...UInt8(ascii: "~")
    if !key.utf8.allSatisfy(printable.contains) {
      header.invalidReason = "the Idempotency-Key is not printable ASCII (RFC 9651 §3.3.3)"
    }
    return header
  }
}

nonisolated extension NetworkHeader {
  func add(to request: inout URLRequest) throws(NetworkError) {
    if let invalid = invalidReason ?? NetworkRequestValidation.invalidReason(ofField: name, value) {
      throw .invalidRequest(reason: invalid)
    }
    request.addValue(value, forHTTPHeaderField: name)
  }
}

nonisolated extension NetworkHeaders {
  /// Adds the fields to a request.
  func add(to request: inout URLRequest) throws(NetworkError) {
    for field in fields { try field.add(to: &request) }
  }
}
