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

/// A user name and a password (Basic authentication, RFC 7617), in UTF-8.
///
/// ```swift
/// let credential = try BasicCredential(user: name, password: password)
/// let authentication = Authentication(for: baseURL, credential)
/// ```
nonisolated public struct BasicCredential: NetworkCredential, Hashable, CustomStringConvertible {
  /// The user name, which contains no colon.
  public let user: String
  /// The password.
  public let password: String

  /// Makes a credential.
  ///
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if the user name contains a colon: the server would read the
  ///   text after it as the password.
  public init(user: String, password: String) throws(NetworkError) {
    if user.utf8.contains(UInt8(ascii: ":")) {
      throw .invalidRequest(reason: "the user of Basic authentication contains a colon")
    }
    self.user = user
    self.password = password
  }

  /// `Authorization: Basic …`
  public var headers: [String: String] {
    ["Authorization": "Basic \(Data("\(user):\(password)".utf8).base64EncodedString())"]
  }
  /// A description without the user and the password, for logs.
  public var description: String { "Basic …" }
}
