/// The header fields that must not be sent to another origin (NetworkRedirect, NetworkClient+perform), must not be
/// logged (`NetworkHeaders.description`, URLRequest+curlCommand), and say whose a stored response or a partial file is
/// (ResponseKey, NetworkSignedInUsers, NetworkPartialFile).
nonisolated enum NetworkSensitiveHeader {
  /// Whether a field probably holds a secret: a word of its name says so, or its value begins with an authentication
  /// scheme. `known` are the names of fields that hold a secret, whatever they are called.
  static func matches(_ name: String, _ value: String = "", known: Set<String> = []) -> Bool {
    let lowercased = name.lowercased()
    if known.contains(where: { $0.lowercased() == lowercased }) { return true }
    if ["idempotency-key", "x-idempotency-key"].contains(lowercased) { return false }
    if ["basic ", "bearer ", "digest "].contains(where: value.lowercased().hasPrefix) { return true }
    return words(of: name).contains { word in
      secrets.contains { word.hasSuffix($0) || word.hasSuffix($0 + "s") }
    }
  }

  /// The words of a name, in lowercase, each after a hyphen: "-access", "-token" of "accessToken", and "-x", "-api",
  /// "-key" of "X-APIKey". Whole words are compared, so X-Author and X-Keyboard are ordinary fields.
  private static func words(of name: String) -> [String] {
    let letters = Array(name.unicodeScalars)
    let lowercase = Unicode.Scalar("a")...Unicode.Scalar("z")
    var words = ["-"]
    for (index, letter) in letters.enumerated() {
      guard letter.properties.isAlphabetic else {
        words.append("-")
        continue
      }
      let isAfterLowercase = index > 0 && lowercase ~= letters[index - 1]
      let isBeforeLowercase = index + 1 < letters.count && lowercase ~= letters[index + 1]
      if "A"..."Z" ~= letter, isAfterLowercase || isBeforeLowercase { words.append("-") }
      words[words.count - 1] += String(letter).lowercased()
    }
    return words
  }

  // With a hyphen, only the whole word matches. Without one, the end of a word matches too (authtoken).
  private static let secrets = [
    "-authorization", "-authentication", "-authenticate", "-key", "-sig", "-sid", "-pin", "-pwd", "-otp", "-assertion",
    "auth", "cookie", "token", "secret", "password", "passwd", "passphrase", "passcode", "credential", "session",
    "sessionid", "sessid", "signature", "jwt", "apikey", "accesskey", "authkey", "secretkey", "privatekey",
  ]
}
