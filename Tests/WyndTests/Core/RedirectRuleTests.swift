import Foundation
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The rules for redirects that need https, for which the tests have no server.
@Suite struct RedirectRuleTests {
  static let origins: [(String, String, Bool)] = [
    ("http://h/a", "http://h:80/b", true), ("https://h/a", "https://h:443/b", true), ("http://H/a", "HTTP://h/b", true),
    ("https://h/a", "http://h/b", false), ("http://h/a", "https://h/b", false), ("http://h/a", "http://h:81/b", false),
    ("http://h/a", "http://i/b", false), ("http://h/a", "http://sub.h/b", false),
    ("https://h/", "http://h:443/", false), ("https://bücher.example/", "https://xn--bcher-kva.example/", true),
    // Two normal forms of one name, and a name that ends with the other.
    ("http://%C3%A9.example/", "http://e%CC%81.example/", false), ("http://h/", "http://evil.example.h/", false),
  ]

  @Test(arguments: origins) func keepsCredentialsOnlyWithinSchemeHostAndPort(_ from: String, _ to: String, _ same: Bool)
    throws
  {
    var previous = URLRequest(url: try #require(URL(string: from)))
    previous.setValue("Bearer T", forHTTPHeaderField: "Authorization")
    previous.setValue("K", forHTTPHeaderField: "X-Api-Key")
    // The request that URLSession proposes: on Apple's platforms it has no Authorization, but all other header fields.
    var proposed = previous
    proposed.url = URL(string: to)
    proposed.setValue(nil, forHTTPHeaderField: "Authorization")
    let next = NetworkRedirect.request(
      proposed, after: previous,
      additional: NetworkHeaders(["authorization": "Bearer S", "X-Member": "Bearer S", "Accept": "a"]))
    #expect(next.value(forHTTPHeaderField: "Authorization") == (same ? "Bearer T" : " "))
    #expect(next.value(forHTTPHeaderField: "X-Api-Key") == (same ? "K" : nil))
    // A value says that it is secret, too.
    #expect(next.value(forHTTPHeaderField: "X-Member") == (same ? nil : " "))
    #expect(next.value(forHTTPHeaderField: "Accept") == nil)
  }

  /// A text of a server, and the URL that it stands for on a page at https://h.example/d/e?f.
  static let references: [(String, String)] = [
    ("https://bücher.example/a b%20", "https://xn--bcher-kva.example/a%20b%20"),
    ("http://[::1]:8080/[%20]", "http://[::1]:8080/%5B%20%5D"),
    ("#a%20#b%", "https://h.example/d/e?f#a%20%23b%25"), ("a//[%20]", "https://h.example/d/a//%5B%20%5D"),
    ("a?//[%20]", "https://h.example/d/a?//%5B%20%5D"),
    (String(repeating: "%[", count: 50_000), "https://h.example/d/" + String(repeating: "%25%5B", count: 50_000)),
  ]
  @Test(arguments: references) func encodesOnlyWhatAURLCannotHave(_ text: String, _ expected: String) {
    let url = URL.networkReference(text, relativeTo: URL(string: "https://h.example/d/e?f"))
    #expect(url?.absoluteString == expected)
  }

  #if canImport(FoundationNetworking)
    /// URLSession would send it to any address of that host.
    @Test(arguments: [true, false], ["https://example.com/a", "http://example.com/a"])
    func refusesARedirectThatWouldSendASecureCookieOverHTTP(isSecure: Bool, url: String) throws {
      // From http too, because a redirect from https may have preceded this one.
      let secure = try #require(URL(string: url))
      for domain in ["example.com", "other.example"] {
        let response = try HTTPURLResponse.made(302, ["Location": "http://other.example/b"], url: secure)
        let configuration = URLSessionConfiguration.ephemeral
        var properties: [HTTPCookiePropertyKey: Any] = [
          .name: "sid", .value: "42", .domain: domain, .path: "/",
        ]
        if isSecure { properties[.secure] = "TRUE" }
        configuration.httpCookieStorage?.setCookie(try #require(HTTPCookie(properties: properties)))
        let isForbidden = isSecure && domain == "other.example"
        #expect((URLRequest(url: secure).following(response, in: configuration) == nil) == isForbidden)
      }
    }

    /// Neither a request without cookies nor a session without them would send it.
    @Test(arguments: [true, false]) func followsARedirectToHTTPWithoutCookies(isOfTheRequest: Bool) throws {
      let secure = try #require(URL(string: "https://example.com/a"))
      let response = try HTTPURLResponse.made(302, ["Location": "http://other.example/b"], url: secure)
      let configuration = URLSessionConfiguration.ephemeral
      let properties: [HTTPCookiePropertyKey: Any] = [
        .name: "sid", .value: "42", .domain: "other.example", .path: "/", .secure: "TRUE",
      ]
      configuration.httpCookieStorage?.setCookie(try #require(HTTPCookie(properties: properties)))
      configuration.httpShouldSetCookies = isOfTheRequest
      var request = URLRequest(url: secure)
      request.httpShouldHandleCookies = !isOfTheRequest
      #expect(request.following(response, in: configuration)?.url?.absoluteString == "http://other.example/b")
    }
  #endif

  /// The words that Security.md lists: whole words, and those that may also end one.
  @Test func recognizesEachWordOfASecretName() {
    let whole = [
      "authorization", "authentication", "authenticate", "key", "sig", "sid", "pin", "pwd", "otp", "assertion",
    ]
    let endings = [
      "auth", "cookie", "token", "secret", "password", "passwd", "passphrase", "passcode", "credential", "session",
      "sessionid", "sessid", "signature", "jwt", "apikey", "accesskey", "authkey", "secretkey", "privatekey",
    ]
    for word in whole + endings {
      let isEnding = endings.contains(word)
      for name in ["X-\(word)", "x_\(word)s", "my\(word.capitalized)", "\(word)-1"] {
        #expect(NetworkSensitiveHeader.matches(name), "\(name)")
      }
      #expect(NetworkSensitiveHeader.matches("my\(word)") == isEnding, "\(word)")
      #expect(!NetworkSensitiveHeader.matches("\(word)ful"), "\(word)")
    }
  }

  @Test func recognizesSecretNamesInCamelCase() {
    for name in ["userKey", "requestSig", "XSRFKey"] { #expect(NetworkSensitiveHeader.matches(name), "\(name)") }
    for name in ["monkey", "design"] { #expect(!NetworkSensitiveHeader.matches(name), "\(name)") }
  }
}
