import Foundation

/// Identifies a stored response in a ``ResponseStore``.
nonisolated public struct ResponseKey: Hashable, Sendable, CustomStringConvertible {
  /// The URL of the request, without its fragment, user name and password.
  public let url: String
  /// A hash of everything that makes a response specific to a user or a session, such as the credential.
  public let scope: String
  /// A hash of the request's values for the header fields that `Vary` lists. Empty if the response depends on none.
  public let variant: String

  /// The URL without the values of its query.
  public var description: String { URL(string: url)?.redactedForLog ?? "…" }

  /// Makes a key.
  public init(url: String, scope: String = "", variant: String = "") {
    self.url = url
    self.scope = scope
    self.variant = variant
  }

  /// The key of one of several responses to the same request.
  func withVariant(_ variant: String) -> ResponseKey { ResponseKey(url: url, scope: scope, variant: variant) }

  /// The whole key as one text, for a hash. Neither a URL nor a hash contains a space.
  var text: String { "\(url) \(scope) \(variant)" }
}
