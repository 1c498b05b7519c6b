import Foundation

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
