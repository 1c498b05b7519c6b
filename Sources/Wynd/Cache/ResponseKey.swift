/// Identifies a stored response in a ``ResponseStore``.
nonisolated struct ResponseKey: Hashable, Sendable {
  /// The URL of the request, without its fragment, user name and password.
  let url: String
  /// A hash of everything that makes a response specific to a user or a session, such as the credential.
  let scope: String
  /// A hash of the request's values for the header fields that `Vary` lists. Empty if the response depends on none.
  var variant = ""

  /// The key of one of several responses to the same request.
  func withVariant(_ variant: String) -> ResponseKey { ResponseKey(url: url, scope: scope, variant: variant) }

  /// The whole key as one text, for a hash. Neither a URL nor a hash contains a space.
  var text: String { "\(url) \(scope) \(variant)" }
}
