import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A later attempt runs on a private session, with what the app's session has.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct LaterAttemptTests {
  /// Each response sets a cookie: the app's session gets the cookie of the retry, and the retry the one of the session.
  @Test(arguments: ["GET", "PUT"]) func retrySendsCookiesAndHeadersOfTheSession(_ method: String) async throws {
    let server = try LoopbackServer { request in
      .status(request.index == 0 ? 503 : 200, [("Set-Cookie", "c\(request.index)=1")], body: "x")
    }
    let session = URLSession.ephemeral { $0.httpAdditionalHeaders = ["X-Mine": "1"] }
    let request = URLRequest(url: server.url(), method: method)
    for _ in 0..<2 { _ = try await session.networkResponse(for: request, policy: .quick()) }
    #expect(server.values(of: "X-Mine") == ["1", "1", "1"])
    let cookies = server.requests.map { request in
      (request.value("Cookie") ?? "").split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }.sorted()
    }
    #expect(cookies == [[], ["c0=1"], ["c0=1", "c1=1"]])
  }

  @Test func retriesReuseTheirConnection() async throws {
    let server = try LoopbackServer { $0.index.isMultiple(of: 2) ? .status(503) : .ok("x") }
    let session = URLSession(configuration: .ephemeral)
    for _ in 0..<20 {
      _ = try await session.networkResponse(for: server.url(), policy: .quick())
    }
    #expect(server.requests.count == 40)
    #if canImport(FoundationNetworking)
      let expected = 1
    #else
      // One of the app's session, and one of the private session.
      let expected = 2
    #endif
    #expect(Set(server.requests.map(\.connection)).count == expected)
  }

  @Test(arguments: [false, true])
  func eventStreamReconnectsAfterItsSessionWasFinished(usesClient: Bool) async throws {
    let head = ScriptedResponse.head(200, [("Content-Type", "text/event-stream"), ("Connection", "close")])
    let server = try LoopbackServer { request in
      if request.index > 1 { return .status(204) }
      return ScriptedResponse([.send(head + Array("retry: 1\ndata: \(request.index)\n\n".utf8)), .close])
    }
    let session = URLSession(configuration: .ephemeral)
    let performer: any NetworkPerformer = usesClient ? NetworkClient(on: session) : session
    var data: [String] = []
    for try await event in performer.serverSentEvents(for: server.url()) {
      data.append(event.data)
      session.finishTasksAndInvalidate()
      #if canImport(FoundationNetworking)
        await until { session.isInvalidated }
      #endif
    }
    #expect(data == ["0", "1"])
  }

  /// The request that renews a credential, and the repetition after it.
  @Test func credentialIsRenewedAfterTheSessionWasFinished() async throws {
    let session = URLSession(configuration: .ephemeral)
    let server = try LoopbackServer { request in
      if request.target == "/token" { return .ok("new") }
      if request.value("Authorization") == "Bearer new" { return .ok("welcome") }
      session.finishTasksAndInvalidate()
      return .status(401)
    }
    let url = server.url("/token")
    let authentication = Authentication<BearerToken>(for: url, BearerToken("old")) { _, client in
      #if canImport(FoundationNetworking)
        await until { session.isInvalidated }
      #endif
      return BearerToken(try await client.performNetworkRequest(url).text)
    }
    let client = NetworkClient(on: session, middleware: [authentication])
    #expect(try await client.performNetworkRequest(server.url("/")) == Data("welcome".utf8))
  }

  #if canImport(FoundationNetworking)
    /// Responds with 503 and then with 200, without a network.
    private final class Responder: URLProtocol {
      static let count = Counter()
      override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "later.example" }
      override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
      override func startLoading() {
        let status = Self.count.add() == 1 ? 503 : 200
        guard let url = request.url,
          let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: [:])
        else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: Data("x".utf8))
        client?.urlProtocolDidFinishLoading(self)
      }
      override func stopLoading() {}
    }

    @Test func retryUsesTheProtocolClassesOfTheSession() async throws {
      let session = URLSession.ephemeral { $0.protocolClasses = [Responder.self] }
      let request = URLRequest(url: try #require(URL(string: "http://later.example/")))
      let response = try await session.networkResponse(for: request, policy: .quick())
      #expect(response.attempts.count == 2 && Responder.count.value == 2)
    }

    /// A task that is not released retains its attempt, and that the session of the app.
    @Test(arguments: [CallKind.request, .upload, .download])
    func sessionIsReleasedAfterItsCalls(_ kind: CallKind) async throws {
      let server = try LoopbackServer { $0.target == "/hop" ? .redirect(to: "/there") : .ok("x") }
      final class Released: @unchecked Sendable { weak var session: URLSession? }
      func call() async throws -> Released {
        let released = Released()
        let session = URLSession(configuration: .ephemeral)
        released.session = session
        try await kind.response(to: server.url("/hop"), on: session)
        return released
      }
      let released = try await call()
      await until { released.session == nil }
    }

    /// The cookie storage is held by the app's session and by the one for its later attempts.
    @Test func sessionForLaterAttemptsIsReleasedAfterThatOfTheApp() async throws {
      let server = try LoopbackServer { $0.index.isMultiple(of: 2) ? .status(503) : .ok("x") }
      final class Released: @unchecked Sendable { weak var storage: HTTPCookieStorage? }
      func call() async throws -> Released {
        let released = Released()
        let configuration = URLSessionConfiguration.ephemeral
        released.storage = configuration.httpCookieStorage
        let session = URLSession(configuration: configuration)
        _ = try await session.networkResponse(for: server.url(), policy: .quick())
        session.finishTasksAndInvalidate()
        return released
      }
      let first = try await call()
      // It is released when a later attempt of another session looks for its own.
      while first.storage != nil { _ = try await call() }
    }
  #endif
}
