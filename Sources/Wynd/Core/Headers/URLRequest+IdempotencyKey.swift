public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

nonisolated extension URLRequest {
  /// Makes a POST safe to repeat, if the server supports the key: the header field `Idempotency-Key`
  /// (draft-ietf-httpapi-idempotency-key-header). Each request that places the same order has the same key, even in a
  /// later call.
  ///
  /// ```swift
  /// request.idempotencyKey = UUID()
  /// let data = try await session.performNetworkRequest(request)
  /// ```
  ///
  /// Nothing in Wynd makes a key: only the app knows which requests place the same order. A retry sends the same one.
  ///
  /// The value of the field is in double quotes, because it is a string of structured fields (RFC 9651). nil means that
  /// the request has no such field, or another key than a UUID.
  public var idempotencyKey: UUID? {
    get {
      let value = value(forHTTPHeaderField: "Idempotency-Key") ?? ""
      return UUID(uuidString: value.replacingOccurrences(of: "\"", with: ""))
    }
    set { setValue(newValue.map { "\"\($0.uuidString)\"" }, forHTTPHeaderField: "Idempotency-Key") }
  }
}
