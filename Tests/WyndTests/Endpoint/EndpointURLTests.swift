import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Which URL an endpoint has, or why it is invalid.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct EndpointURLTests {
  struct Address: Endpoint {
    typealias Response = Data
    var scheme = "https"
    var host = "example.com"
    var port: Int?
    var path = "/"
    var escapedPath: String?
    var queryItems: [URLQueryItem] = []
    var percentEncodedPath: String { escapedPath ?? PlainPath(path: path).percentEncodedPath }
  }

  /// Has the default of `percentEncodedPath`.
  struct PlainPath: Endpoint {
    typealias Response = Void
    var host: String { "example.com" }
    var path: String
  }

  /// The URL that a client with this base sends the endpoint to.
  static func url(_ endpoint: Address, base: String?) async -> String {
    let script = NetworkScript([.ok("x")])
    let client = NetworkClient(baseURL: base.flatMap { URL(string: $0) }, on: script)
    do throws(NetworkError) { _ = try await client.load(endpoint) } catch {
      guard case .invalidRequest(let reason) = error, !reason.isEmpty else { return "\(error)" }
      return "invalid"
    }
    return script.requests.first?.url?.absoluteString ?? "nothing sent"
  }

  static func url(_ endpoint: Address) -> String {
    do { return try endpoint.url.absoluteString } catch {
      guard case NetworkError.invalidRequest(let reason) = error, !reason.isEmpty else { return "\(error)" }
      return "invalid"
    }
  }

  static let hosts: [(String, String)] = [
    ("example.com", "https://example.com/"),
    ("a_b.example.com", "https://a_b.example.com/"), ("localhost", "https://localhost/"), ("::1", "https://[::1]/"),
    ("münchen.de", "https://xn--mnchen-3ya.de/"),
    ("MÜNCHEN.de", "https://xn--mnchen-3ya.de/"), ("日本語。jp", "https://xn--wgv71a119e.jp/"),
    ("a b", "invalid"),
    ("ex@mple.com", "invalid"), ("example.com/evil", "invalid"), ("example.com:8080", "invalid"),
    ("user:pass@example.com", "invalid"), ("example.com?x", "invalid"),
    ("a..b", "invalid"),
    ("%41.com", "invalid"),
    ("a\r\nb", "invalid"), ("mün chen.de", "invalid"),
    ("\u{202E}evil", "invalid"), (String(repeating: "a.", count: 200), "invalid"), ("a\\b", "invalid"),
  ]

  @Test(arguments: hosts) func validatesHosts(_ host: String, _ expected: String) {
    #expect(Self.url(Address(host: host)) == expected)
  }

  static let paths: [(String, String)] = [
    ("", "/"), ("/", "/"), ("a", "/a"), ("/a", "/a"), ("/a/", "/a/"), ("/a//b", "/a//b"), ("//a", "//a"),
    ("/a b", "/a%20b"), ("/a+b", "/a%2Bb"), ("/a%20b", "/a%2520b"), ("/50%", "/50%25"), ("/a#c", "/a%23c"),
    ("/a;b=c&d", "/a%3Bb=c&d"), ("/items:batchGet", "/items:batchGet"), ("/Jürgen", "/J%C3%BCrgen"),
    ("/🐕", "/%F0%9F%90%95"), ("/e\u{301}\u{E9}", "/e%CC%81%C3%A9"), ("/[a]", "/%5Ba%5D"), ("/a\\b", "/a%5Cb"),
    ("/a\u{0}", "/a%00"),
    ("/.a/b./...", "/.a/b./..."), ("/..", "invalid"), ("/a/../b", "invalid"), (".", "invalid"), ("/./a", "invalid"),
  ]

  /// A query or a whole URL in a path would be sent as a path that does not exist.
  @Test func rejectsAQueryOrAURLInAPathAndNamesTheAlternative() {
    let rows = [
      ("/items?page=2", "`query:`"), ("items?", "`query:`"), ("?a", "`query:`"), ("/a?b#c", "`query:`"),
      ("http://a.example/x", "`.get(url, as:)`"), ("HTTPS://a.example", "`.get(url, as:)`"),
    ]
    for (path, alternative) in rows {
      do {
        _ = try Address(path: path).url
        Issue.record("accepted: \(path)")
      } catch {
        #expect("\(error)".hasPrefix("invalid request: the path ") && "\(error)".contains(alternative), "\(error)")
      }
    }
    // An archive has the URL of another site in its path, and a question mark can be encoded.
    #expect(Self.url(Address(path: "/2026/http://a.example/")) == "https://example.com/2026/http://a.example/")
    #expect(Self.url(Address(path: "/http://a.example")) == "https://example.com/http://a.example")
    #expect(Self.url(Address(escapedPath: "/what%3F")) == "https://example.com/what%3F")
  }

  @Test(arguments: paths) func encodesOrRejectsPaths(_ path: String, _ expected: String) {
    #expect(Self.url(Address(path: path)) == (expected == "invalid" ? expected : "https://example.com" + expected))
  }

  static let escaped: [(String, String)] = [
    ("/a%2Fb", "/a%2Fb"), ("/a%2fb%20", "/a%2fb%20"), ("a", "/a"), ("/a b", "invalid"), ("/a%", "invalid"),
    ("/a%2", "invalid"), ("/a%zz", "invalid"), ("/ü", "invalid"), ("/a?b", "invalid"), ("/a#b", "invalid"),
    ("/%2e%2E/a", "invalid"), ("/%2e", "invalid"), ("/.%2e/a", "invalid"),
  ]

  @Test(arguments: escaped) func acceptsPercentEncodedPaths(_ path: String, _ expected: String) {
    #expect(
      Self.url(Address(escapedPath: path)) == (expected == "invalid" ? expected : "https://example.com" + expected))
  }

  static let queries: [([URLQueryItem], String)] = [
    ([], ""), ([.init(name: "a", value: nil)], "?a"), ([.init(name: "a", value: "")], "?a="),
    ([.init(name: "a", value: "1"), .init(name: "a", value: "2")], "?a=1&a=2"),
    ([.init(name: "a+b&c=d", value: "+&=;/?#% ")], "?a%2Bb%26c%3Dd=%2B%26%3D%3B%2F%3F%23%25%20"),
    ([.init(name: "q", value: "Jürgen 🐕")], "?q=J%C3%BCrgen%20%F0%9F%90%95"),
    ([.init(name: "t", value: "2026-11-21T16:00:00+01:00")], "?t=2026-11-21T16%3A00%3A00%2B01%3A00"),
    ([.init(name: "", value: "")], "?="), ([.init(name: "a%20b", value: "%2B")], "?a%2520b=%252B"),
  ]

  @Test(arguments: queries) func encodesQueries(_ items: [URLQueryItem], _ expected: String) {
    #expect(Self.url(Address(queryItems: items)) == "https://example.com/" + expected)
  }

  static let bases: [(String, String, String)] = [
    ("http://h:81", "", "http://h:81/"), ("http://h/v1", "", "http://h/v1"), ("http://h/v1/", "", "http://h/v1/"),
    ("http://h/v1", "a", "http://h/v1/a"), ("http://h/v1/", "a", "http://h/v1/a"),
    ("http://h/v1", "/a", "http://h/v1/a"),
    ("http://h/v1/", "/a/", "http://h/v1/a/"), ("http://h/a%2Fb/", "c", "http://h/a%2Fb/c"),
    ("http://[::1]:8080/v1", "a", "http://[::1]:8080/v1/a"), ("HTTP://h/", "a", "http://h/a"),
    ("ftp://h/", "a", "invalid"), ("file:///x", "a", "invalid"), ("relative", "a", "invalid"),
    ("http://h/v1?key=1", "a", "invalid"), ("http://u:p@h/v1", "a", "invalid"),
    ("http://h/v1#f", "a", "invalid"),
  ]

  @Test(arguments: bases) func appendsToThePathOfTheBaseURL(_ base: String, _ path: String, _ expected: String) async {
    #expect(await Self.url(Address(host: "", path: path), base: base) == expected)
  }

  /// A client adds the rest.
  @Test func urlOfAnEndpointWithoutAHostIsRelative() {
    let items = [URLQueryItem(name: "q", value: "a b")]
    #expect(Self.url(Address(host: "")) == "/" && Self.url(Address(host: "", path: "a b")) == "/a%20b")
    #expect(Self.url(Address(host: "", path: "/a", queryItems: items)) == "/a?q=a%20b")
    #expect(Self.url(Address(host: "", path: "", queryItems: items)) == "?q=a%20b")
    // It would be the host of the URL.
    #expect(Self.url(Address(host: "", path: "//a")) == "invalid")
    #expect(Self.url(Address(host: "", port: 81)) == "invalid")
  }

  @Test func aSessionWithoutAClientRefusesAnEndpointWithoutAHost() async {
    let error = await #expect(throws: NetworkError.self) {
      try await URLSession(configuration: .ephemeral).load(Address(host: "", path: "/a"))
    }
    guard case .invalidRequest(let reason)? = error else { Issue.record("\(error as Any)"); return }
    #expect(reason == "the URL has no scheme, and there is no client with a base URL")
  }

  struct OwnURL: Endpoint {
    struct Missing: Error {}
    typealias Response = String
    let path = "/ignored"
    let link: URL?
    var queryItems: [URLQueryItem] { [URLQueryItem(name: "ignored", value: nil)] }
    var url: URL {
      get throws {
        guard let link else { throw Missing() }
        return link
      }
    }
  }

  @Test func sendsTheURLThatAnEndpointHasItself() async throws {
    let script = NetworkScript([.ok("x")])
    let client = NetworkClient(baseURL: URL(string: "https://a.example/v2"), on: script)
    _ = try await client.load(OwnURL(link: URL(string: "https://b.example/x?sig=a+b%2F")))
    _ = try await client.load(OwnURL(link: URL(string: "/x?q=1")))
    #expect(
      script.requests.map { $0.url?.absoluteString } == [
        "https://b.example/x?sig=a+b%2F", "https://a.example/v2/x?q=1",
      ])
    let error = await #expect(throws: NetworkError.self) { try await client.load(OwnURL(link: nil)) }
    guard case .generalError(is OwnURL.Missing)? = error else { Issue.record("\(error as Any)"); return }
    #expect(script.requests.count == 2)
  }

  @Test func ignoresTheBaseURLForAnEndpointWithAHost() async {
    #expect(await Self.url(Address(port: 81, path: "/a"), base: "http://h/v1") == "https://example.com:81/a")
  }

  @Test func validatesSchemeAndPort() {
    #expect(Self.url(Address(scheme: "HTTP", port: 80)) == "http://example.com:80/")
    for scheme in ["ftp", "", "javascript", "https:", "h t"] { #expect(Self.url(Address(scheme: scheme)) == "invalid") }
    for port in [0, -1, 65_536, Int.max, Int.min] { #expect(Self.url(Address(port: port)) == "invalid") }
    #expect(Self.url(Address(port: 65_535)) == "https://example.com:65535/")
  }
}
