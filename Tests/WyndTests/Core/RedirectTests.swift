import Foundation
import WyndLoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct RedirectTests {
  let session = URLSession(configuration: .default)

  // MARK: Method and body

  /// RFC 9110 §15.4: what a method becomes after 301 and 302, after 303, after 307 and 308.
  static let next: [(method: String, found: String, seeOther: String, temporary: String)] = [
    ("GET", "GET", "GET", "GET"), ("HEAD", "HEAD", "HEAD", "HEAD"), ("POST", "GET", "GET", "POST"),
    ("PUT", "PUT", "GET", "PUT"), ("PATCH", "PATCH", "GET", "PATCH"), ("DELETE", "DELETE", "GET", "DELETE"),
    ("OPTIONS", "OPTIONS", "GET", "OPTIONS"),
  ]

  @Test(arguments: [301, 302, 303, 307, 308]) func redirectsEachMethodAsRFC9110Says(_ status: Int) async throws {
    let other = try LoopbackServer(script: .ok())
    let server = try LoopbackServer { request in
      switch request.target {
      case "/near": .redirect(status, to: "/end")
      case "/far": .redirect(status, to: other.url("/end").absoluteString)
      default: .ok()
      }
    }
    for row in Self.next {
      let expected = status < 303 ? row.found : status == 303 ? row.seeOther : row.temporary
      for path in ["/near", "/far"] {
        let before = server.requests.count
        var request = URLRequest(url: server.url(path), method: row.method)
        let hasBody = ["POST", "PUT", "PATCH", "DELETE"].contains(row.method)
        if hasBody {
          request.httpBody = Data("the body".utf8)
          request.setValue("text/x-mine", forHTTPHeaderField: "Content-Type")
          request.setValue("de", forHTTPHeaderField: "Content-Language")
        }
        let response = try await session.networkResponse(for: request)
        #expect(response.url == (path == "/far" ? other : server).url("/end"))
        let last = try #require(path == "/far" ? other.requests.last : server.requests.last)
        let keepsBody = hasBody && expected == row.method
        #expect(server.requests.count - before == (path == "/near" ? 2 : 1), "\(row.method) \(path)")
        #expect(last.method == expected, "\(row.method) \(path)")
        #expect(last.target == "/end")
        #expect(last.text == (keepsBody ? "the body" : ""), "\(row.method) \(path)")
        #expect(last.value("Content-Type") == (keepsBody ? "text/x-mine" : nil), "\(row.method) \(path)")
        #expect(last.value("Content-Language") == (keepsBody ? "de" : nil), "\(row.method) \(path)")
        if hasBody, !keepsBody { #expect(["0", nil].contains(last.value("Content-Length")), "\(row.method) \(path)") }
      }
    }
  }

  @Test func retriesARedirectedRequestFromItsFirstURL() async throws {
    let server = try LoopbackServer { request in
      switch request.index {
      case 0, 2: .redirect(307, to: "/b")
      case 1: .status(503)
      default: .ok("there")
      }
    }
    let request = URLRequest(url: server.url("/a"), method: "PUT", body: "the body")
    let policy = RetryPolicy.quick()
    let response = try await session.networkResponse(for: request, policy: policy)
    #expect(server.requests.map(\.target) == ["/a", "/b", "/a", "/b"])
    #expect(server.requests.map(\.text) == Array(repeating: "the body", count: 4))
    #expect(response.data == Data("there".utf8))
    #expect(response.response.url?.path == "/b")
    #expect(response.attempts.map { $0.error?.statusCode } == [503, nil])
  }

  // MARK: Location

  /// RFC 3986 §5.4, against http://127.0.0.1/b/c/d;p?q, as request targets.
  static let locations = [
    ("g", "/b/c/g"), ("/g", "/g"), ("?y", "/b/c/d;p?y"), ("g?y", "/b/c/g?y"),
    ("#s", "/b/c/d;p?q"), ("../g", "/b/g"),
    ("../../../g", "/g"), ("/./g", "/g"), ("a%20b?c=%26", "/b/c/a%20b?c=%26"),
  ]

  @Test(arguments: locations) func resolvesARelativeLocation(_ location: String, _ target: String) async throws {
    let server = try LoopbackServer { $0.index == 0 ? .redirect(to: location) : .ok() }
    let url = server.url("/b/c/d;p?q")
    let result = await session.result(of: url, policy: .never)
    #expect(result.error == nil)
    #expect(server.requests.map(\.target) == ["/b/c/d;p?q", target])
  }

  /// URLSession follows an empty Location on no platform: the 302 is the response, or its Location is not valid.
  @Test func doesNotFollowAnEmptyLocation() async throws {
    let server = try LoopbackServer(script: .redirect(to: ""))
    let result = await session.result(of: server.url(), policy: .never)
    #expect(server.requests.count == 1)
    if let error = result.error { #expect(error.urlError?.code == .unsupportedURL) }
  }

  #if canImport(FoundationNetworking)
    /// On Apple's platforms, URLSession itself reads Location.
    static let escapes = [
      ("/x?a[b]=a%20b", "/x?a%5Bb%5D=a%20b"),
      ("/100%/a%2", "/100%25/a%252"), ("/a?b c%20#d e%20#f", "/a?b%20c%20"),
    ]
    /// An escape stands for itself (RFC 3986 §2.4), also beside a character that a URL cannot have.
    @Test(arguments: escapes) func keepsTheEscapesOfALocation(_ location: String, _ target: String) async throws {
      let server = try LoopbackServer { request in
        switch request.target {
        case "/start": .redirect(to: location)
        case "/absolute": .redirect(to: request.value("X-Origin").map { $0 + location } ?? "")
        default: .ok()
        }
      }
      _ = try await session.networkResponse(for: server.url("/start"))
      #expect(server.requests.map(\.target) == ["/start", target])
      if !location.hasPrefix("/") { return }
      var request = URLRequest(url: server.url("/absolute"))
      let origin = server.url().absoluteString
      request.setValue(origin.hasSuffix("/") ? String(origin.dropLast()) : origin, forHTTPHeaderField: "X-Origin")
      _ = try await session.networkResponse(for: request)
      #expect(server.requests.map(\.target) == ["/start", target, "/absolute", target])
    }
  #endif

  @Test func doesNotFollow300And304() async throws {
    let server = try LoopbackServer { request in
      request.target == "/there" ? .ok() : .redirect(Int(request.target.dropFirst()) ?? 0, to: "/there")
    }
    for status in [300, 304] {
      let response = try await session.networkResponse(for: server.url("/\(status)"))
      #expect(response.statusCode == status)
    }
    #expect(!server.requests.contains { $0.target == "/there" })
  }

  @Test(arguments: [
    "ftp://127.0.0.1/x", "file:///etc/passwd", "file://localhost/etc/passwd", "javascript:alert(1)", "http://",
    "data:,x", "http:foo",
  ])
  func rejectsALocationThatIsNotHTTP(_ location: String) async throws {
    let server = try LoopbackServer { $0.index == 0 ? .redirect(to: location) : .ok("passwd") }
    let result = await session.result(of: server.url(), policy: .never)
    #expect(result.error != nil || server.requests.count == 2 && location == "http:foo", "\(location): \(result)")
    #if canImport(FoundationNetworking)
      // Nothing was tried.
      if location != "http:foo" { #expect(result.error?.urlError?.code == .unsupportedURL, "\(location): \(result)") }
    #endif
  }

  @Test func returnsARedirectWithoutLocation() async throws {
    let server = try LoopbackServer(script: .status(302, body: "nowhere"))
    let response = try await session.networkResponse(for: server.url())
    #expect(response.statusCode == 302)
    #if !canImport(FoundationNetworking)  // there URLSession itself throws the body of a 3xx away
      #expect(response.data == Data("nowhere".utf8))
    #endif
  }

  @Test func followsAtMostTwentyRedirects() async throws {
    let server = try LoopbackServer { request in
      let hop = Int(request.target.dropFirst()) ?? 0
      return hop == 20 ? .ok("end") : .redirect(to: "/\(hop + 1)")
    }
    #expect(await session.result(of: server.url("/0")).error == nil)
    let result = await session.result(of: server.url("/-5"))
    #expect(result.error?.urlError?.code == .httpTooManyRedirects)
    #expect(server.requests.count == 21 + 21)
  }

  @Test func sendsCookiesSetByARedirect() async throws {
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

  @Test func doesNotRepeatAPOSTRejectedByTheTargetOfItsRedirect() async throws {
    // The POST was applied; the GET it was turned into meets a closed port. Nothing proves that nothing was sent.
    let closed = try LoopbackServer(isListening: false) { _ in .ok() }
    let server = try LoopbackServer(script: .redirect(303, to: closed.url().absoluteString))
    var request = URLRequest(url: server.url(), method: "POST", body: "order")
    let result = await session.result(of: request)
    #expect(result.error?.urlError?.code == .cannotConnectToHost)
    #expect(server.requests.count == 1)
    let refusing = try LoopbackServer(script: .status(429))
    let applied = try LoopbackServer(script: .redirect(303, to: refusing.url().absoluteString))
    request.url = applied.url()
    #expect(await session.result(of: request).error?.statusCode == 429)
    #expect(applied.requests.count == 1)
  }

  /// The response with the redirect does not count: its target cannot be reached.
  @Test func limitsTheTimeWithoutTheServerOfARedirect() async throws {
    let unreachable = try LoopbackServer(isListening: false) { _ in .ok() }
    let server = try LoopbackServer { _ in .redirect(302, to: unreachable.url().absoluteString) }
    let log = EventLog()
    let policy = RetryPolicy(
      maxRetries: 60, backoff: .constant(.milliseconds(50)), maxUnreachableTime: .milliseconds(200), budget: .unlimited,
      onEvent: log.add)
    _ = await session.result(of: server.url(), policy: policy)
    #expect(log.gaveUp == .maxUnreachableTime)
  }
}
