import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct RedirectTests {
  let session = URLSession(configuration: .default)

  // MARK: Credentials

  static let secrets = [
    "Authorization": "Bearer T", "Cookie": "sid=1", "Proxy-Authorization": "Basic P", "X-Api-Key": "K",
    "X-Auth-Token": "T", "X-Custom": "Bearer T",
  ]

  @Test func credentialsDoNotLeaveTheOrigin() async throws {
    let other = try LoopbackServer(script: .ok("there"))
    let server = try LoopbackServer(script: .redirect(to: other.url("/b").absoluteString))
    var request = URLRequest(url: server.url("/a"))
    for (name, value) in Self.secrets { request.setValue(value, forHTTPHeaderField: name) }
    request.setValue("text/plain", forHTTPHeaderField: "Accept")
    request.setValue("7", forHTTPHeaderField: "X-Client-Version")
    let data = try await session.performNetworkRequest(request)
    #expect(data == Data("there".utf8))
    for name in Self.secrets.keys {
      #expect(server.requests.first?.value(name) != nil, "\(name)")
      #expect(other.requests.first?.value(name) == nil, "\(name)")
    }
    #expect(other.requests.first?.value("Accept") == "text/plain")
    #expect(other.requests.first?.value("X-Client-Version") == "7")
  }

  @Test func credentialsOfTheSessionDoNotLeaveTheOriginEither() async throws {
    let other = try LoopbackServer(script: .ok())
    let server = try LoopbackServer(script: .redirect(to: other.url("/b").absoluteString))
    let configuration = URLSessionConfiguration.default
    configuration.httpAdditionalHeaders = ["Authorization": "Bearer T", "X-Plain": "1"]
    _ = try await URLSession(configuration: configuration).performNetworkRequest(server.url("/a"))
    #expect(server.requests.first?.value("Authorization") == "Bearer T")
    #expect(other.requests.first?.value("Authorization") ?? "" == "")
    #expect(other.requests.first?.value("X-Plain") == "1")
  }

  @Test func whatWasLeftBehindDoesNotComeBackWithTheOrigin() async throws {
    let home = Box<String>()
    let other = try LoopbackServer { _ in .redirect(to: home.value ?? "") }
    let server = try LoopbackServer { $0.target == "/a" ? .redirect(to: other.url("/b").absoluteString) : .ok() }
    home.value = server.url("/c").absoluteString
    var request = URLRequest(url: server.url("/a"))
    request.setValue("Bearer T", forHTTPHeaderField: "Authorization")
    _ = try await session.performNetworkRequest(request)
    #expect(server.requests.map { $0.value("Authorization") } == ["Bearer T", nil])
  }

  @Test func credentialsStayWithTheOrigin() async throws {
    let server = try LoopbackServer { $0.target == "/a" ? .redirect(to: "/b") : .ok() }
    var request = URLRequest(url: server.url("/a"))
    for (name, value) in Self.secrets { request.setValue(value, forHTTPHeaderField: name) }
    _ = try await session.performNetworkRequest(request)
    for name in Self.secrets.keys { #expect(server.requests.last?.value(name) == Self.secrets[name], "\(name)") }
  }

  // MARK: Method and body

  /// (status, method) → what arrives at the next place. RFC 9110 §15.4.
  static let methods: [(Int, String, String, keepsBody: Bool)] = [
    (301, "POST", "GET", false), (302, "POST", "GET", false), (303, "POST", "GET", false), (303, "PUT", "GET", false),
    (303, "DELETE", "GET", false), (301, "PUT", "PUT", true), (302, "PATCH", "PATCH", true),
    (307, "POST", "POST", true),
    (308, "POST", "POST", true), (307, "PUT", "PUT", true), (308, "PATCH", "PATCH", true),
    (302, "DELETE", "DELETE", true),
  ]

  @Test(arguments: methods.indices) func methodAndBodyGoOnAsTheStandardSays(_ row: Int) async throws {
    let (status, method, expected, keepsBody) = Self.methods[row]
    let server = try LoopbackServer { $0.target == "/a" ? .redirect(status, to: "/b") : .ok() }
    var request = URLRequest(url: server.url("/a"))
    request.httpMethod = method
    request.httpBody = Data("the body".utf8)
    request.setValue("text/x-mine", forHTTPHeaderField: "Content-Type")
    _ = try await session.performNetworkRequest(request)
    let last = try #require(server.requests.last)
    #expect(server.requests.count == 2)
    #expect(last.method == expected)
    #expect(last.text == (keepsBody ? "the body" : ""))
    #expect(last.value("Content-Type") == (keepsBody ? "text/x-mine" : nil))
  }

  @Test func aHeadStaysAHead() async throws {
    for status in [301, 302, 303, 307] {
      let server = try LoopbackServer { request in
        request.target == "/a"
          ? .redirect(status, to: "/b")
          : ScriptedResponse([.send(ScriptedResponse.head(200, [("Content-Length", "5")]))])
      }
      var request = URLRequest(url: server.url("/a"))
      request.httpMethod = "HEAD"
      #expect(try await session.performNetworkRequest(request).isEmpty)
      #expect(server.requests.map(\.method) == ["HEAD", "HEAD"])
    }
  }

  // MARK: Location

  /// RFC 3986 §5.4, against http://127.0.0.1/b/c/d;p?q, as request targets.
  static let locations = [
    ("g", "/b/c/g"), ("./g", "/b/c/g"), ("g/", "/b/c/g/"), ("/g", "/g"), ("?y", "/b/c/d;p?y"), ("g?y", "/b/c/g?y"),
    ("#s", "/b/c/d;p?q"), ("g#s", "/b/c/g"), (";x", "/b/c/;x"), ("g;x", "/b/c/g;x"), ("", "/b/c/d;p?q"), (".", "/b/c/"),
    ("./", "/b/c/"), ("..", "/b/"), ("../", "/b/"), ("../g", "/b/g"), ("../..", "/"), ("../../g", "/g"),
    ("../../../g", "/g"), ("/./g", "/g"), ("/../g", "/g"), ("g.", "/b/c/g."), ("..g", "/b/c/..g"), ("./../g", "/b/g"),
    ("g/./h", "/b/c/g/h"), ("g/../h", "/b/c/h"), ("a%20b?c=%26", "/b/c/a%20b?c=%26"),
  ]

  @Test(arguments: locations) func aRelativeLocationResolves(_ location: String, _ target: String) async throws {
    let server = try LoopbackServer { $0.index == 0 ? .redirect(to: location) : .ok() }
    let url = server.url("/b/c/d;p?q")
    let result = await session.result(of: URLRequest(url: url), policy: .never)
    if location.isEmpty {
      // An empty Location names nothing; the redirect is the answer.
      #expect(server.requests.count <= 2)
    } else {
      #expect(result.error == nil)
      #expect(server.requests.last?.target == target)
      #expect(server.requests.count == 2)
    }
  }

  @Test(arguments: [
    "ftp://127.0.0.1/x", "file:///etc/passwd", "file://localhost/etc/passwd", "javascript:alert(1)", "http://",
    "data:,x", "http:foo",
  ])
  func aLocationThatIsNotHTTPIsAnError(_ location: String) async throws {
    let server = try LoopbackServer { $0.index == 0 ? .redirect(to: location) : .ok("passwd") }
    let result = await session.result(of: URLRequest(url: server.url()), policy: .never)
    #expect(result.error != nil || server.requests.count == 2 && location == "http:foo", "\(location): \(result)")
    #if canImport(FoundationNetworking)
      // Nothing was tried.
      if location != "http:foo" { #expect(result.error?.urlError?.code == .unsupportedURL, "\(location): \(result)") }
    #endif
  }

  @Test func aRedirectWithoutLocationIsTheAnswer() async throws {
    let server = try LoopbackServer(script: .status(302, body: "nowhere"))
    let response = try await session.networkResponse(for: URLRequest(url: server.url()))
    #expect(response.response.statusCode == 302)
    #if !canImport(FoundationNetworking)  // there URLSession itself throws the body of a 3xx away
      #expect(response.data == Data("nowhere".utf8))
    #endif
  }

  @Test func theLimitIsTwenty() async throws {
    let server = try LoopbackServer { request in
      let hop = Int(request.target.dropFirst()) ?? 0
      return hop == 20 ? .ok("end") : .redirect(to: "/\(hop + 1)")
    }
    #expect(await session.result(of: URLRequest(url: server.url("/0"))).error == nil)
    let result = await session.result(of: URLRequest(url: server.url("/-5")))
    #expect(result.error?.urlError?.code == .httpTooManyRedirects)
    #expect(server.requests.count == 21 + 21)
  }

  @Test func cookiesThatTheRedirectSetsGoOn() async throws {
    for sets in [true, false] {
      let server = try LoopbackServer {
        $0.target == "/a" ? .redirect(to: "/b", [("Set-Cookie", "sid=42; Path=/")]) : .ok()
      }
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpShouldSetCookies = sets
      _ = try await URLSession(configuration: configuration).performNetworkRequest(server.url("/a"))
      #expect(server.requests.last?.value("Cookie") == (sets ? "sid=42" : nil))
    }
  }

  @Test func aRetryAfterARedirectDoesNotTakeTheRefusalOfTheLastHostForItsOwn() async throws {
    // The POST was applied; the GET it was turned into meets a closed port. Nothing proves that nothing was sent.
    let closed = try LoopbackServer(isListening: false) { _ in .ok() }
    let server = try LoopbackServer(script: .redirect(303, to: closed.url().absoluteString))
    var request = URLRequest(url: server.url())
    request.httpMethod = "POST"
    request.httpBody = Data("order".utf8)
    let result = await session.result(of: request)
    #expect(result.error?.urlError?.code == .cannotConnectToHost)
    #expect(server.requests.count == 1)
    let refusing = try LoopbackServer(script: .status(429))
    let applied = try LoopbackServer(script: .redirect(303, to: refusing.url().absoluteString))
    request.url = applied.url()
    #expect(await session.result(of: request).error?.statusCode == 429)
    #expect(applied.requests.count == 1)
  }

  @Test func aHostFieldStaysWithItsOrigin() async throws {
    let other = try LoopbackServer(script: .ok())
    let server = try LoopbackServer { $0.target == "/a" ? .redirect(to: other.url().absoluteString) : .ok() }
    var request = URLRequest(url: server.url("/a"))
    request.setValue("internal.example.com", forHTTPHeaderField: "Host")
    #expect(await session.result(of: request).error == nil)
    #expect(other.requests.first?.value("Host") == "127.0.0.1:\(other.port)")
  }
}
