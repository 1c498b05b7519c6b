public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated extension NetworkResponse {
  /// The URL that the response links to, from its header field Link (RFC 8288). nil if there is no such link.
  ///
  /// ```swift
  /// let response = try await client.loadResponse(.get("/users", as: [User].self))
  /// let next = response.link("next")        // Link: <https://api.example.com/users?page=2>; rel="next"
  /// ```
  ///
  /// A relative target is resolved against the URL of the response. A link that another resource has (`anchor`) is
  /// ignored.
  ///
  /// - Parameter relation: The relation type, such as `next`, `prev` or `last`. Case does not matter.
  /// - Returns: The absolute URL of the first such link.
  public func link(_ relation: String) -> URL? {
    guard let field = response.value(forHTTPHeaderField: "Link") else { return nil }
    return NetworkLinkField.target(of: relation, in: field, from: response.url)
  }
}
