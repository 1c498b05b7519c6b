import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// `networkData` and `networkDataTask` give what `data(for:)` and `dataTask(with:)` give, after the retries.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct NetworkDataTests {
  let session = URLSession(configuration: .ephemeral)
  static let quick = RetryPolicy.quick(maxRetries: 2)

  /// What a caller gets.
  enum Outcome: Equatable, Sendable {
    case response(Int, String)
    case urlError(URLError.Code)
    case invalidRequest
    case other(String)

    init(_ data: Data?, _ response: URLResponse?, _ error: (any Error)?) {
      switch (data, response, error) {
      case (let data?, let response as HTTPURLResponse, nil):
        self = .response(response.statusCode, data.text)
      case (nil, nil, let error as URLError): self = .urlError(error.code)
      case (nil, nil, let error as NetworkError):
        if case .invalidRequest = error { self = .invalidRequest } else { self = .other("\(error)") }
      default: self = .other("\(data as Any), \(response as Any), \(error as Any)")
      }
    }
  }

  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var script: [ScriptedResponse] = [.ok("hello")]
    var isListening = true
    var change: @Sendable (inout URLRequest) -> Void = { _ in }
    var expected: Outcome
    /// The number of requests that the server receives, from Wynd.
    var requests = 1
    /// What bare URLSession gives, if that is something else; it retries nothing.
    var bare: Outcome?
    /// Whether bare URLSession is asked at all. It would wait for the rest of a body that the app does not have.
    var isComparable = true
  }

  static let rows: [Row] = [
    Row(testDescription: "200", expected: .response(200, "hello")),
    Row(testDescription: "empty 200", script: [.status(200)], expected: .response(200, "")),
    Row(
      testDescription: "204", script: [ScriptedResponse([.send(ScriptedResponse.head(204))])],
      expected: .response(204, "")),
    Row(
      testDescription: "HEAD",
      script: [ScriptedResponse([.send(ScriptedResponse.head(200, [("Content-Length", "9")]))])],
      change: { $0.httpMethod = "HEAD" }, expected: .response(200, "")),
    Row(
      testDescription: "redirect", script: [.redirect(302, to: "/next"), .ok("next")], expected: .response(200, "next"),
      requests: 2),
    Row(testDescription: "404", script: [.status(404, body: "none")], expected: .response(404, "none")),
    Row(
      testDescription: "POST with 422", script: [.status(422, body: "no name")],
      change: {
        $0.httpMethod = "POST"
        $0.httpBody = Data("{}".utf8)
      }, expected: .response(422, "no name")),
    Row(
      testDescription: "POST with 503", script: [.status(503, body: "busy")], change: { $0.httpMethod = "POST" },
      expected: .response(503, "busy")),
    Row(
      testDescription: "503, then 200", script: [.status(503, body: "busy"), .ok("back")],
      expected: .response(200, "back"), requests: 2, bare: .response(503, "busy")),
    Row(
      testDescription: "503 in each attempt", script: [.status(503, body: "busy")], expected: .response(503, "busy"),
      requests: 3),
    Row(
      testDescription: "503, then a lost connection", script: [.status(503), .truncated],
      expected: .urlError(.networkConnectionLost), requests: 3, bare: .response(503, "")),
    Row(
      testDescription: "refused", isListening: false, expected: .urlError(.cannotConnectToHost), requests: 0),
    Row(
      testDescription: "silence", script: [.hang], change: { $0.timeoutInterval = 0.2 }, expected: .urlError(.timedOut),
      requests: 3),
    Row(
      testDescription: "body that is cut off", script: [.truncated], expected: .urlError(.networkConnectionLost),
      requests: 3, bare: isOnApplePlatforms ? nil : .urlError(.unknown)),
    Row(
      testDescription: "another scheme", change: { $0.url = URL(string: "ftp://127.0.0.1:9/") },
      expected: .invalidRequest, requests: 0,
      isComparable: false),
    Row(
      testDescription: "Content-Length that is not the body's",
      change: { $0.setValue("7", forHTTPHeaderField: "Content-Length") }, expected: .invalidRequest, requests: 0,
      isComparable: false),
  ]

  @Test(arguments: rows) func givesWhatURLSessionGives(_ row: Row) async throws {
    func server() throws -> LoopbackServer {
      try LoopbackServer(isListening: row.isListening) { request in
        request.index < row.script.count ? row.script[request.index] : row.script.last ?? .ok()
      }
    }
    func request(to server: LoopbackServer) -> URLRequest {
      var request = URLRequest(url: server.url())
      row.change(&request)
      return request
    }
    let first = try server()
    var outcome: Outcome
    do {
      let (data, response) = try await session.networkData(for: request(to: first), policy: Self.quick)
      outcome = Outcome(data, response, nil)
    } catch { outcome = Outcome(nil, nil, error) }
    #expect(outcome == row.expected && first.requests.count == row.requests)

    let second = try server()
    outcome = await handlerValue { end in
      let task = session.networkDataTask(with: request(to: second), policy: Self.quick) { end(Outcome($0, $1, $2)) }
      #expect(second.requests.isEmpty)
      task.resume()
    }
    #expect(outcome == row.expected && second.requests.count == row.requests)

    if !row.isComparable { return }
    let third = try server()
    outcome = await handlerValue { end in
      session.dataTask(with: request(to: third)) { data, response, error in
        // With an error, URLSession may give the head of the response too.
        end(error.map { Outcome(nil, nil, $0) } ?? Outcome(data, response, nil))
      }.resume()
    }
    #expect(outcome == row.bare ?? row.expected)
  }

  @Test func takesAURLAndAnEndpoint() async throws {
    let server = try LoopbackServer(script: .ok("hello"))
    let client = NetworkClient(baseURL: server.url(), on: session, headers: ["X-App": "1"])
    #expect(try await client.networkData(from: server.url("/a")).0 == Data("hello".utf8))
    #expect(try await client.networkData(for: server.url("/b")).1.statusCode == 200)
    #expect(try await client.networkData(for: .get("/c", as: [Int].self)).1.url == server.url("/c"))
    #expect(server.requests.map(\.target) == ["/a", "/b", "/c"])
    #expect(server.requests.allSatisfy { $0.value("X-App") == "1" })
  }

  // MARK: What is a response

  static func middleware(_ error: any Error & Sendable) -> [any NetworkMiddleware] {
    [
      .around { request, next in
        _ = try? await next(request)
        throw error
      }
    ]
  }

  /// What a middleware throws in place of a response is not one.
  @Test func errorOfAMiddlewareIsThrown() async throws {
    struct Refused: Error {}
    let url = URL.example
    for status in [200, 404] {
      let script = NetworkScript([.status(status, "x")])
      let client = NetworkClient(on: script, middleware: Self.middleware(Refused()))
      let error = await #expect(throws: NetworkError.self) { try await client.networkData(for: url) }
      #expect(error?.thrown(as: Refused.self) == true)
      let offline = NetworkClient(on: script, middleware: Self.middleware(URLError(.dataNotAllowed)))
      let lost = await #expect(throws: URLError.self) { try await offline.networkData(for: url, policy: .never) }
      #expect(lost?.code == .dataNotAllowed)
      let canceled = NetworkClient(on: script, middleware: Self.middleware(CancellationError()))
      let cancellation = await #expect(throws: URLError.self) { try await canceled.networkData(for: url) }
      #expect(cancellation?.code == .cancelled)
    }
  }

  @Test func rejectionOfACredentialIsAResponse() async throws {
    let url = URL.example
    let script = NetworkScript([.status(401, "who?"), .status(400, "no")])
    let authentication = Authentication(for: url, BearerToken("old")) { _, client in
      try await client.load(.post("/token", as: BearerToken.self))
    }
    let client = NetworkClient(baseURL: url, on: script, middleware: [authentication])
    let (data, response) = try await client.networkData(for: url)
    #expect(response.statusCode == 401 && data == Data("who?".utf8))
  }

  // MARK: networkResponse and networkBytes

  @Test func networkResponseCanAcceptAnyStatus() async throws {
    let server = try LoopbackServer(script: .status(503), .status(404, body: "none"))
    let response = try await session.networkResponse(for: server.url(), acceptsAnyStatus: true, policy: Self.quick)
    #expect(response.statusCode == 404 && response.data == Data("none".utf8) && response.value == response.data)
    let busy = try LoopbackServer(script: .status(503))
    let last = try await session.networkResponse(for: busy.url(), acceptsAnyStatus: true, policy: Self.quick)
    #expect(last.statusCode == 503 && last.attempts.map(\.number) == [1, 2, 3])
    let handled = await handlerValue {
      session.networkResponse(for: busy.url(), acceptsAnyStatus: true, policy: Self.quick, completionHandler: $0)
    }
    #expect(try handled.get().statusCode == 503)
    let error = await #expect(throws: NetworkError.self) {
      try await session.networkResponse(for: busy.url(), policy: Self.quick)
    }
    #expect(error?.statusCode == 503)
  }

  @Test func networkResponseMayBeEmpty() async throws {
    let server = try LoopbackServer(script: .status(201))
    #expect(try await session.networkResponse(for: server.url()).data.isEmpty)
    let error = await #expect(throws: NetworkError.self) {
      try await session.networkResponse(for: server.url(), allowEmptyData: false)
    }
    guard case .noResponseData? = error else { Issue.record("\(error as Any)"); return }
  }

  @Test func networkBytesCanAcceptAnyStatus() async throws {
    let server = try LoopbackServer(script: .status(503), .status(422, [("X-One", "1")], body: "a\nb"))
    let bytes = try await session.networkBytes(for: server.url(), acceptsAnyStatus: true, policy: Self.quick)
    #expect(bytes.statusCode == 422 && bytes.headers["x-one"] == "1")
    #expect(try await bytes.lines.collected() == ["a", "b"])
    let empty = try LoopbackServer(script: .status(404))
    for try await _ in try await session.networkBytes(for: empty.url(), acceptsAnyStatus: true) {
      Issue.record("no body")
    }
  }
}

extension NetworkError {
  fileprivate func thrown<E: Error>(as type: E.Type) -> Bool {
    switch self {
    case .generalError(let error), .middlewareError(let error, _): error is E
    case .inaccessible(let failure): failure.lastError.thrown(as: type)
    default: false
    }
  }
}
