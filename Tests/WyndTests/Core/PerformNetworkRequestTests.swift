import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// `performNetworkRequest` and `networkResponse` on a real socket.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct PerformNetworkRequestTests {
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

  // MARK: Empty bodies

  @Test func rejectsEmptyBodiesUnlessTheStatusForbidsABody() async throws {
    for status in [200, 201, 202, 203, 206] {
      let server = try LoopbackServer(script: .status(status))
      let result = await session.result(of: server.url())
      guard case .failure(.noResponseData) = result else { Issue.record("\(status) \(result)"); return }
      #expect(server.requests.count == 1)
      #expect(await session.result(of: server.url(), allowEmptyData: true).error == nil)
    }
    for status in [204, 205, 300, 304] {
      let server = try LoopbackServer(
        script: ScriptedResponse([
          .send(ScriptedResponse.head(status, status == 204 || status == 304 ? [] : [("Content-Length", "0")]))
        ]))
      #expect(try await session.result(of: server.url()).get().isEmpty, "\(status)")
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
    let request = URLRequest(url: server.url(), method: "POST", body: "order")
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
    do throws(NetworkError) {
      // There, URLSession would make a GET of it, so the redirect is the result.
      let response = try await session.networkResponse(for: request)
      #expect(isOnApplePlatforms && response.statusCode == 302 && status == 302)
    } catch {
      #expect(error.urlError?.code == .requestBodyStreamExhausted)
      #expect(!isOnApplePlatforms || status != 302)
    }
    #expect(server.requests.map(\.target) == ["/a"])
  }

  @Test(arguments: ["", " ", "\t"]) func ignoresABlankIdempotencyKey(_ key: String) async throws {
    let server = try LoopbackServer(script: .status(503), .ok())
    var request = URLRequest(url: server.url(), method: "POST", body: "order")
    request.setValue(key, forHTTPHeaderField: "Idempotency-Key")
    #expect(await session.result(of: request).error?.statusCode == 503)
    #expect(server.requests.count == 1)
  }

  @Test func returnsA404AfterARetryDirectly() async throws {
    let server = try LoopbackServer(script: .status(503), .status(404, body: "gone"))
    let result = await session.result(of: server.url(), policy: .immediate)
    guard case .failure(.endpointError(let response, let data)) = result else { Issue.record("\(result)"); return }
    #expect(response.statusCode == 404 && data == Data("gone".utf8))
  }
}
