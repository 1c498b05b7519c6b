import Foundation

/// A header field.
///
/// ```swift
/// let headers: NetworkHeaders = [.authorization(bearer: token), .init("X-Page", "7")]
/// ```
nonisolated public struct NetworkHeader: Sendable, Hashable, CustomStringConvertible {
  /// The name, which is case-insensitive.
  public var name: String
  /// The value. If it contains a line break or NUL, the call fails with ``NetworkError/invalidRequest(reason:)``,
  /// because the value could inject other fields.
  public var value: String
  /// Why the field cannot be sent, or nil.
  var invalidReason: String?
  /// Makes a field from name and value.
  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
  /// The name and the value, or “…” in place of a sensitive value.
  public var description: String { "\(name): \(NetworkSensitiveHeader.matches(name, value) ? "…" : value)" }

  func isNamed(_ name: String) -> Bool { self.name.lowercased() == name.lowercased() }
}
