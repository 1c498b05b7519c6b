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
  /// A relative target is resolved against the URL of the response. A link with an `anchor` is ignored, because another
  /// resource may have it.
  ///
  /// - Parameter relation: The relation type, such as `next`, `prev` or `last`. Case does not matter.
  /// - Returns: The absolute URL of the first such link.
  public func link(_ relation: String) -> URL? {
    let field = response.value(forHTTPHeaderField: "Link") ?? ""
    let links = NetworkListField.split(field, at: ",").map { NetworkListField.split($0, at: ";") }
    let link = links.first { Self.isLink($0, relation.lowercased()) }
    guard let target = link?.first?.dropFirst().dropLast() else { return nil }
    // A user name and a password of the request do not belong to the target.
    let own = response.url?.networkWithoutUserAndFragment
    // An empty reference is the response itself (RFC 3986 §4.4), which Foundation does not accept.
    return target.isEmpty ? own : URL.networkReference(String(target), relativeTo: own)
  }

  /// Whether the parts are a target and parameters, and the link has this relation.
  private static func isLink(_ parts: [String], _ relation: String) -> Bool {
    guard let target = parts.first, target.hasPrefix("<"), target.hasSuffix(">") else { return false }
    let parameters = parts.dropFirst().map { NetworkListField.Element($0) }
    // An empty anchor is the response itself.
    if parameters.contains(where: { $0.name == "anchor" && $0.value != "" }) { return false }
    // A quoted string without an end goes to the end of the field (Appendix B.3).
    let relations = parameters.first { $0.name == "rel" }?.value?.trimmingPrefix("\"") ?? ""
    // Relation types are separated by white space, and compared without regard to case (§2.1).
    return relations.lowercased().components(separatedBy: .whitespaces).contains(relation)
  }
}

nonisolated extension URL {
  /// The URL without its fragment, which is not sent, and without the user name and password, which must not be stored
  /// or logged. The scheme is in lowercase, because URLSession may write it so in the URL of a response.
  var networkWithoutUserAndFragment: URL? {
    var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
    parts?.user = nil
    parts?.password = nil
    parts?.fragment = nil
    let scheme = parts?.scheme?.lowercased()
    if parts?.scheme != scheme { parts?.scheme = scheme }
    return parts?.url
  }
}
