public import Foundation

/// A bearer token (RFC 6750).
nonisolated public struct BearerToken: NetworkCredential, Hashable, Codable, CustomStringConvertible {
  /// The token as the server issued it.
  public var token: String
  /// When the token expires, if that is known.
  public var expiresAt: Foundation.Date?
  /// Makes a credential from a token.
  public init(_ token: String, expiresAt: Foundation.Date? = nil) {
    self.token = token
    self.expiresAt = expiresAt
  }
  /// `Authorization: Bearer …`
  public var headers: [String: String] { ["Authorization": "Bearer \(token)"] }
  /// A description without the token, for logs.
  public var description: String { "Bearer …" }
}
