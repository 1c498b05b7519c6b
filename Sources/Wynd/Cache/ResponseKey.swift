import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Identifies a stored response in a ``ResponseStore``. Keys are compared whole, byte by byte. A hash proves nothing: for
/// the name of a user, another name with the same hash can be found. To `==`, two normal forms of a name are equal.
nonisolated struct ResponseKey: Hashable, Sendable, Codable {
  /// A user whose credential is sent.
  struct User: Sendable, Codable {
    /// The name, or what else identifies the user, such as the credential at sign-in.
    var id: String
    /// Whether it is the name that the app has set, and so no secret.
    let isName: Bool
  }

  /// The URL of the request, without its fragment, user name and password. Then the field Host, if the request has one.
  let target: String
  var users: [User] = []
  /// What else makes a response specific to a user or a session, such as a credential.
  var scope = ""
  /// The values of the header fields that `Vary` lists. Empty if the response depends on none.
  var variant = ""

  /// All of it. UTF-8 has no byte 0xFF, so different keys have different bytes.
  var bytes: [UInt8] {
    let ofUsers = users.flatMap { [$0.id, $0.isName ? "name" : ""] }
    return Array((ofUsers + [target, scope, variant]).map { Array($0.utf8) }.joined(separator: [0xFF]))
  }

  static func == (one: ResponseKey, other: ResponseKey) -> Bool { one.bytes == other.bytes }

  func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

  /// Whether the same users are signed in as for another key.
  func hasUsers(_ users: [User]) -> Bool {
    users.elementsEqual(self.users) { $0.isName == $1.isName && $0.id.utf8.elementsEqual($1.id.utf8) }
  }

  /// The key of one of several responses to the same request.
  func withVariant(_ variant: String) -> ResponseKey {
    var key = self
    key.variant = variant
    return key
  }

  /// The key as a file may contain it, with hashes in place of what may be secret. Whoever looks for a second credential
  /// with the hash of another user's has to know that one.
  var withoutSecrets: ResponseKey {
    var key = self
    for index in users.indices where !users[index].isName {
      key.users[index].id = NetworkHash.text(of: users[index].id)
    }
    key.scope = NetworkHash.text(of: scope)
    key.variant = NetworkHash.text(of: variant)
    return key
  }
}

nonisolated extension ResponseKey {
  /// What a call asks for, and for whom. `fieldsOfSession` are those that the session adds.
  init(_ plan: NetworkCallPlan, fieldsOfSession: [String]) {
    let request = plan.request
    target = Self.target(of: request)
    users = Self.users(of: plan)
    let secretFields = plan.clientMiddleware.secretFields
    let own = (request.allHTTPHeaderFields ?? [:]).filter { name, value in
      // A CSRF token is not a credential, and is sent only with unsafe requests.
      let isOfForm = ["csrf", "xsrf"].contains { name.lowercased().contains($0) }
      return NetworkSensitiveHeader.matches(name, value, known: secretFields) && !isOfForm
    }
    // The session adds Accept-Language. The URL may contain a user name and a password.
    let others = fieldsOfSession + Locale.preferredLanguages + [request.url?.absoluteString ?? ""]
    scope = (own.map { "\($0.key.lowercased()):\($0.value)" }.networkSorted + others).joined(separator: "\n")
  }

  /// What a request is about (RFC 9110 §7.1).
  static func target(of request: URLRequest) -> String {
    let url = request.url?.networkWithoutUserAndFragment?.absoluteString ?? ""
    guard let host = request.value(forHTTPHeaderField: "Host") else { return url }
    return "\(url) \(host.lowercased())"
  }

  /// The users whose credentials the clients of a call add now.
  static func users(of plan: NetworkCallPlan) -> [User] {
    plan.clientMiddleware.compactMap { middleware in
      guard let id = middleware.cacheScope(of: plan.request) else { return nil }
      return User(id: id, isName: (middleware as? any NetworkUser)?.account == id)
    }
  }
}
