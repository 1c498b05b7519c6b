import Foundation
import WyndLoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Each kind of call respects the properties of the request.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct RequestValueTests {
  static func run(
    _ kind: CallKind, _ request: URLRequest, _ session: URLSession = URLSession(configuration: .ephemeral)
  ) async throws {
    try await kind.response(to: request, on: session, policy: .never, uploading: .text("x"))
  }

  // MARK: Time-outs

  /// URLSession on Linux uses the time-out of a request only if it was set as a property.
  @Test(arguments: CallKind.allCases) func respectsTheTimeoutOfTheRequestInitializer(_ kind: CallKind) async throws {
    let server = try LoopbackServer(script: .hang)
    for request in [
      URLRequest(url: server.url(), timeoutInterval: 1),
      URLRequest(url: server.url(), cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 1),
    ] {
      let began = ContinuousClock.now
      let error = await #expect(throws: NetworkError.self) { try await Self.run(kind, request) }
      #expect(error?.urlError?.code == .timedOut)
      #expect((.milliseconds(900)...(.seconds(20))).contains(ContinuousClock.now - began))
    }
  }

  @Test func timeoutOfTheRequestInitializerMayExceedThatOfTheSession() async throws {
    let server = try LoopbackServer { _ in
      usleep(1_500_000)
      return .ok("x")
    }
    let session = URLSession.ephemeral { $0.timeoutIntervalForRequest = 1 }
    try await Self.run(.request, URLRequest(url: server.url(), timeoutInterval: 30), session)
  }

  // MARK: Cookies

  /// The jar has a cookie, and the server sets another one with every response.
  @Test(arguments: CallKind.allCases, ["GET", "POST"])
  func aRequestWithoutCookiesSendsAndStoresNone(_ kind: CallKind, _ method: String) async throws {
    let server = try LoopbackServer { request in
      let fields = [("Set-Cookie", "new=1; Path=/")]
      return request.target == "/hop" ? .redirect(307, to: "/there", fields) : .status(200, fields, body: "x")
    }
    let configuration = URLSessionConfiguration.ephemeral
    let jar = try #require(configuration.httpCookieStorage)
    let properties: [HTTPCookiePropertyKey: Any] = [.name: "jar", .value: "1", .domain: "127.0.0.1", .path: "/"]
    jar.setCookie(try #require(HTTPCookie(properties: properties)))
    let session = URLSession(configuration: configuration)
    for own in ["own=1", nil] {
      var request = URLRequest(url: server.url("/hop"), method: method)
      request.httpShouldHandleCookies = false
      request.setValue(own, forHTTPHeaderField: "Cookie")
      try await Self.run(kind, request, session)
      #expect(server.requests.suffix(2).map { $0.value("Cookie") } == [own, own])
    }
    #expect(jar.cookies?.map(\.name) == ["jar"])
    // Others of the same session have them.
    try await Self.run(kind, URLRequest(url: server.url("/there"), method: method), session)
    #expect(server.requests.last?.value("Cookie") == "jar=1")
    #expect(Set(jar.cookies?.map(\.name) ?? []) == ["jar", "new"])
  }

  @Test(arguments: CallKind.allCases, ["GET", "POST"])
  func aSessionCanSendNoCookiesOrStoreNone(_ kind: CallKind, _ method: String) async throws {
    for sends in [true, false] {
      let server = try LoopbackServer { _ in .status(200, [("Set-Cookie", "new=1; Path=/")], body: "x") }
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpShouldSetCookies = sends
      if sends { configuration.httpCookieAcceptPolicy = .never }
      let jar = try #require(configuration.httpCookieStorage)
      let properties: [HTTPCookiePropertyKey: Any] = [.name: "jar", .value: "1", .domain: "127.0.0.1", .path: "/"]
      jar.setCookie(try #require(HTTPCookie(properties: properties)))
      var request = URLRequest(url: server.url(), method: method)
      if !sends { request.setValue("own=1", forHTTPHeaderField: "Cookie") }
      try await Self.run(kind, request, URLSession(configuration: configuration))
      #expect(server.values(of: "Cookie") == [sends ? "jar=1" : "own=1"])
      #expect(Set(jar.cookies?.map(\.name) ?? []) == (sends ? ["jar"] : ["jar", "new"]))
    }
  }

  // MARK: Bodies

  @Test(arguments: ["GET", "HEAD", "get"], CallKind.allCases)
  func aGETOrHEADWithABodyIsInvalid(_ method: String, _ kind: CallKind) async throws {
    let server = try LoopbackServer(script: .ok("x"))
    for isStream in [true, false] {
      var request = URLRequest(url: server.url(), method: method)
      if isStream {
        request.httpBodyStream = InputStream(data: Data("x".utf8))
      } else {
        request.httpBody = Data("x".utf8)
      }
      // An upload has a body of its own, and sends a PUT in place of a GET.
      if kind == .upload, method != "HEAD" { continue }
      let error = await #expect(throws: NetworkError.self) { try await Self.run(kind, request) }
      guard case .invalidRequest(let reason) = error else { Issue.record("\(String(describing: error))"); continue }
      #expect(reason.contains(method.uppercased()))
    }
    #expect(server.requests.isEmpty)
  }

  @Test(arguments: ["GET", "HEAD"]) func sendsAGETOrHEADWithAnEmptyBody(_ method: String) async throws {
    let server = try LoopbackServer(script: .ok("x"))
    var request = URLRequest(url: server.url(), method: method)
    request.httpBody = Data()
    try await Self.run(.request, request)
    #expect(server.requests.count == 1)
  }

  // MARK: The type of an upload

  @Test(arguments: ["POST", "PUT", "PATCH"]) func anUploadDoesNotClaimToBeAForm(_ method: String) async throws {
    let folder = try Folder()
    try Data("x".utf8).write(to: folder.file())
    let bodies: [RequestBody] = [
      .data(Data("x".utf8)), .file(folder.file()), .stream(length: 1) { InputStream(data: Data("x".utf8)) },
      .stream { InputStream(data: Data("x".utf8)) }, .data(Data()),
    ]
    for type in [nil, "text/plain", "session"] {
      let server = try LoopbackServer(script: .ok("x"))
      let configuration = URLSessionConfiguration.ephemeral
      if type == "session" { configuration.httpAdditionalHeaders = ["content-type": "a/b"] }
      let session = URLSession(configuration: configuration)
      for body in bodies {
        var request = URLRequest(url: server.url(), method: method)
        if type != "session" { request.setValue(type, forHTTPHeaderField: "Content-Type") }
        _ = try await session.performNetworkUpload(request, from: body, policy: .never)
        let types = server.requests.last?.headers.filter { $0.name.lowercased() == "content-type" }.map(\.value)
        #expect(types == [type == "session" ? "a/b" : type ?? "application/octet-stream"])
      }
    }
  }
}
