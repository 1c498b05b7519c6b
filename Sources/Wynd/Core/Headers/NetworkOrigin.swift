import Foundation

/// Scheme, host and port (RFC 9110 §4.3.1), with the scheme's own port where the URL has none. Of no URL, it is empty,
/// and differs from that of each URL with a host.
nonisolated struct NetworkOrigin: Hashable, Sendable {
  let scheme, host: String
  let port: Int

  init(_ url: URL?) {
    scheme = url?.scheme?.lowercased() ?? ""
    host = url?.host?.lowercased() ?? ""
    port = url?.port ?? (scheme == "https" ? 443 : 80)
  }
}

/// The header fields that must not be sent to another origin, and must not be logged.
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

#if canImport(FoundationNetworking)
  import FoundationNetworking
#else
  import Foundation
#endif

/// Decides which header fields the request after a redirect has, on both platforms. URLSession decides its method and
/// body on Apple's, LinuxRedirect.swift on Linux.
///
/// A retry starts from the request of the call again, and follows its redirects anew.
///
/// URLSession sends custom header fields (X-Api-Key) to any host that a redirect names. On Apple's platforms it drops
/// `Authorization` even if the host stays the same.
nonisolated enum NetworkRedirect {
  /// `next` with the credentials of `previous` if both have the same origin, otherwise without any (RFC 9110 §15.4).
  /// http and https are different origins. `additional` are the fields that the session adds to every request, and
  /// `secretFields` the names of the fields that a client knows to be secret.
  static func request(
    _ next: URLRequest, after previous: URLRequest, additional: NetworkHeaders, secretFields: Set<String> = []
  ) -> URLRequest {
    var next = next
    if NetworkOrigin(next.url) == NetworkOrigin(previous.url) {
      for name in ["Authorization", "Proxy-Authorization"] where next.value(forHTTPHeaderField: name) == nil {
        next.setValue(previous.value(forHTTPHeaderField: name) ?? additional[name], forHTTPHeaderField: name)
      }
      return next
    }
    for (name, value) in next.allHTTPHeaderFields ?? [:]
    where NetworkSensitiveHeader.matches(name, value, known: secretFields) || name.lowercased() == "host" {
      next.setValue(nil, forHTTPHeaderField: name)
    }
    // The session would add a removed field again. A blank value is not sent.
    for field in additional
    where NetworkSensitiveHeader.matches(field.name, field.value, known: secretFields) {
      next.setValue(" ", forHTTPHeaderField: field.name)
    }
    return next
  }
}
