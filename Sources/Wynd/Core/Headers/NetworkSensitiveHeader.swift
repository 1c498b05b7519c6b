import Foundation

/// The header fields that must not be sent to another origin, and must not be logged.
nonisolated enum NetworkSensitiveHeader {
  /// Whether a field probably holds a secret: a word of its name says so, or its value begins with an authentication
  /// scheme. `known` are the names of fields that hold a secret, whatever they are called.
  static func matches(_ name: String, _ value: String = "", known: Set<String> = []) -> Bool {
    let lowercased = name.lowercased()
    if known.contains(where: { $0.lowercased() == lowercased }) { return true }
    if ["idempotency-key", "x-idempotency-key"].contains(lowercased) { return false }
    if hasSecretWord(name) { return true }
    return ["basic ", "bearer ", "digest "].contains { value.lowercased().hasPrefix($0) }
  }

  private static func hasSecretWord(_ name: String) -> Bool {
    // "accessToken" and "APIKey" become "access-Token" and "API-Key". Whole words are compared, so X-Author and
    // X-Keyboard are ordinary fields.
    let separated = name.replacingOccurrences(
      of: "(?<=[a-z])(?=[A-Z])|(?=[A-Z][a-z])", with: "-", options: .regularExpression)
    let words = separated.lowercased().components(separatedBy: .letters.inverted).map { "-\($0)" }
    return words.contains { word in
      secrets.contains { word.hasSuffix($0) || word.hasSuffix($0 + "s") }
    }
  }

  // With a hyphen, only the whole word matches. Without one, the end of a word matches too (authtoken).
  private static let secrets = [
    "-authorization", "-authentication", "-authenticate", "-key", "-sig", "-sid", "-pin", "-pwd", "-otp", "-assertion",
    "auth", "cookie", "token", "secret", "password", "passwd", "passphrase", "passcode", "credential", "session",
    "sessionid", "sessid", "signature", "jwt", "apikey", "accesskey", "authkey", "secretkey", "privatekey",
  ]
}
