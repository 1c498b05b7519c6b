public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A credential that authenticates requests and is sent in header fields.
///
/// ```swift
/// nonisolated struct SignIn: NetworkCredential {
///   var token: String
///   var refreshToken: String
///   var expiresAt: Date?
///   var headers: [String: String] { ["Authorization": "Bearer \(token)"] }
/// }
/// ```
///
/// ``BearerToken`` and ``BasicCredential`` are ready-made. An API key is one that does not expire:
///
/// ```swift
/// nonisolated struct APIKey: NetworkCredential {
///   var key: String
///   var headers: [String: String] { ["X-Api-Key": key] }
/// }
/// ```
nonisolated public protocol NetworkCredential: Sendable {
  /// The header fields that contain the credential.
  var headers: [String: String] { get }
  /// When the credential expires. An expired credential is renewed before the next request is sent. nil (the default)
  /// means unknown.
  var expiresAt: Foundation.Date? { get }
  /// Whether this error response (a status of 400 and up) means that the credential is invalid. By default, only a 401
  /// does.
  func isRejected(by response: HTTPURLResponse) -> Bool
}

nonisolated extension NetworkCredential {
  /// nil, which means unknown.
  public var expiresAt: Foundation.Date? { nil }
  /// True for status 401.
  public func isRejected(by response: HTTPURLResponse) -> Bool { response.statusCode == 401 }

  /// Whether it has to be renewed, by the clock of the device.
  var hasExpired: Bool {
    guard let expiresAt else { return false }
    return expiresAt <= Foundation.Date()
  }
}
