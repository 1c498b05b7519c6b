import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// `performNetworkRequest` and `networkResponse` on a real socket.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct PerformNetworkRequestTests {
  let session = URLSession(configuration: .default)

  // MARK: Forms

  /// None of these may become the async form, which has no closure: then the closure would never be called.
  @Test func handlerFormIsChosenInAsyncCode() async throws {
    let server = try LoopbackServer(script: .ok("hello"))
    let url = server.url()
    let request = URLRequest(url: url)
    let calls = Counter()
    session.performNetworkRequest(request) { _ in calls.add() }
    session.performNetworkRequest(url) { _ in calls.add() }
    session.performNetworkRequest(request, maxRetries: 3) { print($0, calls.add()) }
    let task: NetworkTask = session.networkResponse(for: URLRequest(url: url)) { result in calls.add() }
    _ = task
    await Task { [session] in
      session.performNetworkRequest(request) { _ in calls.add() }
      session.networkResponse(for: request) { _ in calls.add() }
    }.value
    await calls.reaches(6)
    let data: Data = try await session.performNetworkRequest(url)
    let response: NetworkResponse<Data> = try await session.networkResponse(for: URLRequest(url: url))
    #expect(data == response.data)
    #expect(calls.value == 6)
  }

  @Test func networkResponseReturnsHeadersAndAttempts() async throws {
    let server = try LoopbackServer(script: .status(503), .status(200, [("X-Page", "7")], body: "hello"))
    let policy = RetryPolicy(backoff: .constant(.milliseconds(20)), budget: RetryBudget())
    let response = try await session.networkResponse(for: URLRequest(url: server.url()), policy: policy)
    #expect(response.response.value(forHTTPHeaderField: "X-Page") == "7")
    #expect(response.attempts.map(\.number) == [1, 2])
    #expect(response.attempts.map { $0.error?.statusCode } == [503, nil])
    #expect(response.attempts.map(\.delay) == [.milliseconds(20), nil])
    #expect(response.attempts[1].startedAt >= response.attempts[0].duration + .milliseconds(20))
    let first = try await session.networkResponse(for: URLRequest(url: server.url()))
    #expect(first.attempts.count == 1)
    #expect("\(first)" == "200 from \(server.url().absoluteString), 5 bytes")
  }

  // MARK: Number of attempts

  @Test(arguments: [(10, 11), (3, 4), (1, 2), (0, 1), (-1, 1)]) func sendsOneMoreThanMaxRetries(
    _ maxRetries: Int, _ sends: Int
  ) async throws {
    let server = try LoopbackServer(script: .status(503, body: "no"))
    let result = await session.result(of: URLRequest(url: server.url()), maxRetries: maxRetries, policy: .immediate)
    #expect(server.requests.count == sends)
    #expect(result.error?.statusCode == 503)
    #expect(result.error?.data == Data("no".utf8))
    if sends > 1 {
      #expect(result.error?.stopReason == .maxRetries)
      #expect(result.error?.attempts.count == sends)
    } else {
      guard case .failure(.endpointError) = result else { Issue.record("\(result)"); return }
    }
  }

  @Test func maxRetriesArgumentOverridesThePolicy() async throws {
    let server = try LoopbackServer(script: .status(503))
    var policy = RetryPolicy.immediate
    policy.maxRetries = 2
    _ = await session.result(of: URLRequest(url: server.url()), policy: policy)
    #expect(server.requests.count == 3)
    _ = await session.result(of: URLRequest(url: server.url()), maxRetries: 4, policy: policy)
    #expect(server.requests.count == 8)
  }

  @Test func stopsAfterThree500sAndReturnsA404Directly() async throws {
    let server = try LoopbackServer(script: .status(500))
    #expect(
      await session.result(of: URLRequest(url: server.url()), policy: .immediate).error?.stopReason
        == .persistentFailure)
    #expect(server.requests.count == 3)
    let gone = try LoopbackServer(script: .status(503), .status(404, body: "gone"))
    let result = await session.result(of: URLRequest(url: gone.url()), policy: .immediate)
    guard case .failure(.endpointError(let response, let data)) = result else { Issue.record("\(result)"); return }
    #expect(response.statusCode == 404)
    #expect(data == Data("gone".utf8))
  }

  // MARK: Empty bodies

  @Test func rejectsEmptyBodiesUnlessTheStatusForbidsABody() async throws {
    for status in [200, 201, 202, 203, 206] {
      let server = try LoopbackServer(script: .status(status))
      let result = await session.result(of: URLRequest(url: server.url()))
      guard case .failure(.noResponseData) = result else { Issue.record("\(status) \(result)"); return }
      #expect(server.requests.count == 1)
      #expect(await session.result(of: URLRequest(url: server.url()), allowEmptyData: true).error == nil)
    }
    for status in [204, 205, 300, 304] {
      let server = try LoopbackServer(
        script: ScriptedResponse([
          .send(ScriptedResponse.head(status, status == 204 || status == 304 ? [] : [("Content-Length", "0")]))
        ]))
      #expect(try await session.result(of: URLRequest(url: server.url())).get().isEmpty, "\(status)")
    }
    let server = try LoopbackServer(
      script: ScriptedResponse([.send(ScriptedResponse.head(200, [("Content-Length", "9")]))]))
    #expect(try await session.result(of: URLRequest(url: server.url(), method: "HEAD")).get().isEmpty)
  }

  // MARK: Requests with side effects

  @Test func retriesAPOSTWhileConnectionsAreRefused() async throws {
    let server = try LoopbackServer(isListening: false) { _ in .ok("created") }
    let log = EventLog()
    let policy = RetryPolicy(
      backoff: .constant(.milliseconds(50)),
      onEvent: { event in
        log.add(event)
        if case .willRetry = event.kind, event.attempt == 2 { server.listen() }
      })
    var request = URLRequest(url: server.url(), method: "POST")
    request.httpBody = Data("order".utf8)
    let result = await session.result(of: request, policy: policy)
    #expect(try result.get() == Data("created".utf8))
    #expect(server.requests.map(\.text) == ["order"])
    #expect(log.events.contains { if case .attemptFailed(_, .nothingSent) = $0.kind { true } else { false } })
  }

  /// The server reads the order, applies it, and goes away; a moment later it is back. libcurl's own new connection is
  /// refused, which looks as if nothing had been sent.
  @Test(arguments: [1, 100_000]) func doesNotRepeatAPOSTWhenTheServerStopsAfterReadingIt(_ size: Int) async throws {
    let place = Box<LoopbackServer>()
    let server = try LoopbackServer { request in
      if request.target == "/warm" { return .ok() }
      place.value?.stop()
      return .close
    }
    place.value = server
    defer { place.value = nil }
    _ = try await session.performNetworkRequest(server.url("/warm"))
    var request = URLRequest(url: server.url("/order"), method: "POST")
    request.httpBody = Data(count: size)
    let log = EventLog()
    #expect(await session.result(of: request, policy: RetryPolicy(onEvent: log.add)).error != nil)
    #expect(log.gaveUp == .notSafeToRepeat(method: "POST"))
    #expect(server.requests.filter { $0.target == "/order" && $0.isComplete }.count == 1)
  }

  @Test(arguments: [302, 307, 308]) func failsInsteadOfRedirectingAnEmptyBodyStream(_ status: Int) async throws {
    let server = try LoopbackServer { $0.target == "/a" ? .redirect(status, to: "/b") : .ok() }
    var request = URLRequest(url: server.url("/a"), method: "PUT")
    request.httpBodyStream = InputStream(data: Data("streamed".utf8))
    #expect(await session.result(of: request).error?.urlError?.code == .requestBodyStreamExhausted)
    #expect(server.requests.map(\.target) == ["/a"])
  }

  @Test(arguments: ["", " ", "\t"]) func ignoresABlankIdempotencyKey(_ key: String) async throws {
    let server = try LoopbackServer(script: .status(503), .ok())
    var request = URLRequest(url: server.url(), method: "POST")
    request.httpBody = Data("order".utf8)
    request.setValue(key, forHTTPHeaderField: "Idempotency-Key")
    #expect(await session.result(of: request).error?.statusCode == 503)
    #expect(server.requests.count == 1)
  }

  @Test func sendsABodyStreamOnceAndReportsTheReason() async throws {
    let server = try LoopbackServer(script: .status(503), .ok())
    var request = URLRequest(url: server.url(), method: "PUT")
    request.httpBodyStream = InputStream(data: Data("streamed".utf8))
    let log = EventLog()
    let result = await session.result(of: request, policy: RetryPolicy(onEvent: log.add))
    #expect(result.error?.statusCode == 503)
    #expect(log.gaveUp == .bodyNotReplayable)
    #expect(server.requests.map(\.text) == ["streamed"])
  }

  // MARK: Invalid requests

  @Test(arguments: ["GE T", "GET\r\nX-Evil: 1", "GET ", "G\u{E9}T"]) func rejectsAnInvalidMethod(
    _ method: String
  ) async throws {
    let server = try LoopbackServer(script: .ok())
    let result = await session.result(of: URLRequest(url: server.url(), method: method))
    guard case .failure(.invalidRequest) = result else { Issue.record("\(result)"); return }
    #expect(server.requests.isEmpty)
  }

  @Test(arguments: ["X: 1\r\nContent-Length: 0\r\n\r\nDELETE /all HTTP/1.1\r\nY", "X-A: 1\r\nX-B", " X", "X Y", ""])
  func rejectsAnInvalidHeaderName(_ name: String) async throws {
    let server = try LoopbackServer(script: .ok())
    var request = URLRequest(url: server.url())
    request.setValue("1", forHTTPHeaderField: name)
    guard case .failure(.invalidRequest) = await session.result(of: request) else { Issue.record("sent"); return }
    #expect(server.requests.isEmpty)
  }

  @Test func rejectsARequestWithoutAURL() async throws {
    var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1/")))
    request.url = nil
    guard case .failure(.invalidRequest) = await session.result(of: request) else { Issue.record("sent"); return }
  }

  @Test func rejectsAFileURL() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "wynd-\(UUID().uuidString)")
    try Data("text".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let result = await session.result(of: URLRequest(url: file))
    #expect(result.error != nil)
    #expect(result.error?.attempts.isEmpty == true)
  }

  // MARK: Events

  @Test func reportsEveryAttemptAndRetry() async throws {
    let server = try LoopbackServer(script: .reset, .status(503), .ok("hello"))
    let log = EventLog()
    let policy = RetryPolicy(backoff: .constant(.milliseconds(10)), budget: RetryBudget(), onEvent: log.add)
    _ = try await session.performNetworkRequest(server.url("/items?token=SECRET"), policy: policy)
    let kinds = log.events.map { event -> String in
      switch event.kind {
      case .notice(let text): text
      case .attemptStarted: "started \(event.attempt)"
      case .attemptFailed(_, let safety): "failed \(event.attempt) \(safety.isSafe)"
      case .willRetry(let delay, let source): "retry \(delay) \(source)"
      case .succeeded(let status): "succeeded \(status)"
      case .gaveUp: "gave up"
      }
    }
    #expect(
      kinds == [
        "started 1", "failed 1 true", "retry 0.01 seconds backoff", "started 2", "failed 2 true",
        "retry 0.01 seconds backoff",
        "started 3", "succeeded 200",
      ])
    let text = log.events.map(\.description).joined(separator: "\n")
    #expect(text.contains("GET http://127.0.0.1:\(server.port)/items?token=* #2"))
    #expect(!text.contains("SECRET"))
  }
}

extension URLRequest {
  init(url: URL, method: String) {
    self.init(url: url)
    httpMethod = method
  }
}
