import Foundation
import LoopbackServer
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The front door, on a real socket.
@Suite(.timeLimit(.minutes(1))) struct PerformNetworkRequestTests {
  let session = URLSession(configuration: .default)

  // MARK: The forms

  @Test func theCallbackFormAnswersOnceOnTheDelegateQueue() async throws {
    let server = try LoopbackServer(script: .status(503), .ok("hello"))
    let queue = OperationQueue()
    let session = URLSession(configuration: .default, delegate: nil, delegateQueue: queue)
    let policy = RetryPolicy(backoff: .none)
    let answers = Counter()
    let result: NetworkResult = await withCheckedContinuation { continuation in
      session.performNetworkRequest(URLRequest(url: server.url()), policy: policy) { result in
        #expect(OperationQueue.current === queue)
        if answers.add() == 1 { continuation.resume(returning: result) }
      }
    }
    #expect(try result.get() == Data("hello".utf8))
    // A handler called a second time would still be on the queue.
    await withCheckedContinuation { continuation in queue.addBarrierBlock { continuation.resume() } }
    #expect(answers.value == 1)
  }

  @Test func failuresAndCancellationsArriveOnTheDelegateQueueToo() async throws {
    let server = try LoopbackServer(script: .hang)
    let queue = OperationQueue()
    let session = URLSession(configuration: .default, delegate: nil, delegateQueue: queue)
    let invalid = URLRequest(url: server.url(), method: "GE T")
    await withCheckedContinuation { continuation in
      session.performNetworkRequest(invalid) { _ in
        #expect(OperationQueue.current === queue)
        continuation.resume()
      }
    }
    await withCheckedContinuation { continuation in
      let task = session.performNetworkRequest(server.url()) { result in
        #expect(OperationQueue.current === queue)
        #expect(result.error?.isCancellation == true)
        continuation.resume()
      }
      task.cancel()
      task.cancel()
    }
    await withCheckedContinuation { continuation in
      session.performNetworkRequest(server.url(), policy: RetryPolicy(deadline: .milliseconds(50))) { result in
        #expect(OperationQueue.current === queue)
        #expect(result.error?.stopReason == .deadline)
        continuation.resume()
      }
    }
  }

  /// None of these may become the async form, which has no closure: then the closure would never be called.
  @Test func insideAsyncCodeTheCallbackCallStaysTheCallbackCall() async throws {
    let server = try LoopbackServer(script: .ok("hello"))
    let url = server.url()
    let request = URLRequest(url: url)
    let calls = Counter()
    session.performNetworkRequest(request) { _ in calls.add() }
    session.performNetworkRequest(url) { _ in calls.add() }
    session.performNetworkRequest(request, maxRetries: 3) { print($0, calls.add()) }
    let task: NetworkTask = session.networkResponse(for: url) { result in calls.add() }
    _ = task
    await Task { [session] in
      session.performNetworkRequest(request) { _ in calls.add() }
      session.networkResponse(for: request) { _ in calls.add() }
    }.value
    await calls.reaches(6)
    let data: Data = try await session.performNetworkRequest(url)
    let response: NetworkResponse = try await session.networkResponse(for: url)
    #expect(data == response.data)
    #expect(calls.value == 6)
  }

  @Test func theFullerFormGivesHeadAndHistory() async throws {
    let server = try LoopbackServer(script: .status(503), .status(200, [("X-Page", "7")], body: "hello"))
    let policy = RetryPolicy(backoff: .constant(.milliseconds(20)))
    let response = try await session.networkResponse(for: URLRequest(url: server.url()), policy: policy)
    #expect(response.response.value(forHTTPHeaderField: "X-Page") == "7")
    #expect(response.attempts.map(\.number) == [1, 2])
    #expect(response.attempts.map { $0.error?.statusCode } == [503, nil])
    #expect(response.attempts.map(\.delay) == [.milliseconds(20), nil])
    #expect(response.attempts[1].startedAt >= response.attempts[0].duration + .milliseconds(20))
    let first = try await session.networkResponse(for: server.url())
    #expect(first.attempts.count == 1)
  }

  // MARK: Counting

  @Test(arguments: [(10, 11), (3, 4), (1, 2), (0, 1), (-1, 1)]) func maxRetriesIsExactToTheSend(
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

  @Test func nilIsThePolicysNumberAndTheArgumentWins() async throws {
    let server = try LoopbackServer(script: .status(503))
    var policy = RetryPolicy.immediate
    policy.maxRetries = 2
    _ = await session.result(of: URLRequest(url: server.url()), policy: policy)
    #expect(server.requests.count == 3)
    _ = await session.result(of: URLRequest(url: server.url()), maxRetries: 4, policy: policy)
    #expect(server.requests.count == 8)
  }

  @Test func a500IsSentThreeTimesAndADefinitiveAnswerComesAsItself() async throws {
    let server = try LoopbackServer(script: .status(500))
    #expect(
      await session.result(of: URLRequest(url: server.url()), policy: .immediate).error?.stopReason
        == .persistentServerError)
    #expect(server.requests.count == 3)
    let gone = try LoopbackServer(script: .status(503), .status(404, body: "gone"))
    let result = await session.result(of: URLRequest(url: gone.url()), policy: .immediate)
    guard case .failure(.endpointError(let response, let data)) = result else { Issue.record("\(result)"); return }
    #expect(response.statusCode == 404)
    #expect(data == Data("gone".utf8))
  }

  // MARK: Empty bodies

  @Test func emptyBodiesFailOnlyWhereThereCouldHaveBeenOne() async throws {
    for status in [200, 201, 202, 203, 206] {
      let server = try LoopbackServer(script: .status(status))
      let result = await session.result(of: URLRequest(url: server.url()))
      guard case .failure(.noResponseData) = result else { Issue.record("\(status) \(result)"); return }
      #expect(server.requests.count == 1)
      #expect(await session.result(of: URLRequest(url: server.url()), allowEmptyData: true).error == nil)
    }
    for status in [204, 205, 300, 304] {
      let server = try LoopbackServer(
        script: Answer([.send(Answer.head(status, status == 204 || status == 304 ? [] : [("Content-Length", "0")]))]))
      #expect(try await session.result(of: URLRequest(url: server.url())).get().isEmpty, "\(status)")
    }
    let server = try LoopbackServer(script: Answer([.send(Answer.head(200, [("Content-Length", "9")]))]))
    #expect(try await session.result(of: URLRequest(url: server.url(), method: "HEAD")).get().isEmpty)
  }

  // MARK: Cancelling

  @Test func aCallThatIsCancelledBeforeItStartsSendsNothing() async throws {
    let server = try LoopbackServer(script: .ok())
    let started = Gate()
    let log = EventLog()
    let task = Task { [session] in
      await started.wait()
      return await session.result(of: URLRequest(url: server.url()), policy: RetryPolicy(onEvent: log.add))
    }
    task.cancel()
    started.open()
    let result = await task.value
    guard case .failure(.cancelled) = result else { Issue.record("\(result)"); return }
    #expect(server.requests.isEmpty)
    #expect(log.gaveUp == .cancelled)
    #expect(log.events.count == 1)
  }

  @Test func cancellingInFlightAnswersAtOnce() async throws {
    let server = try LoopbackServer(script: .hang)
    let log = EventLog()
    let task = Task { [session] in
      await session.result(of: URLRequest(url: server.url()), policy: RetryPolicy(onEvent: log.add))
    }
    await until { server.requests.count == 1 }
    let began = ContinuousClock.now
    task.cancel()
    guard case .failure(.cancelled) = await task.value else { Issue.record("not cancelled"); return }
    #expect(ContinuousClock.now - began < .seconds(5))
  }

  @Test func cancellingAWaitAnswersAtOnceAndSendsNothingMore() async throws {
    let server = try LoopbackServer(script: .status(503, [("Retry-After", "30")]))
    let log = EventLog()
    let task = Task { [session] in
      await session.result(of: URLRequest(url: server.url()), policy: RetryPolicy(onEvent: log.add))
    }
    await until { !log.delays.isEmpty }
    let began = ContinuousClock.now
    task.cancel()
    guard case .failure(.cancelled) = await task.value else { Issue.record("not cancelled"); return }
    #expect(ContinuousClock.now - began < .seconds(5))
    #expect(server.requests.count == 1)
  }

  @Test func aCancellationOfTheSessionsOwnerIsNotOurs() async throws {
    let server = try LoopbackServer(script: .hang)
    let session = URLSession(configuration: .default)
    let task = Task {
      await session.result(of: URLRequest(url: server.url()), policy: RetryPolicy(shouldRetry: { _ in true }))
    }
    await until { server.requests.count == 1 }
    session.invalidateAndCancel()
    let result = await task.value
    guard case .failure(.urlError(let error)) = result else { Issue.record("\(result)"); return }
    #expect(error.code == .cancelled)
    #expect(server.requests.count == 1)
  }

  // MARK: Limits in time

  @Test func theDeadlineEndsAnAttemptInFlight() async throws {
    let server = try LoopbackServer(script: .status(503), .hang)
    let began = ContinuousClock.now
    let policy = RetryPolicy(backoff: .none, deadline: .milliseconds(300))
    let result = await session.result(of: URLRequest(url: server.url()), policy: policy)
    #expect(ContinuousClock.now - began < .seconds(5))
    #expect(result.error?.stopReason == .deadline)
    #expect(result.error?.attempts.count == 2)
    #expect(result.error?.attempts.first?.error?.statusCode == 503)
    #expect(result.error?.urlError?.code == .timedOut)
  }

  @Test func aDeadlineThatIsOverSendsNothing() async throws {
    let server = try LoopbackServer(script: .ok())
    for deadline in [Duration.zero, .seconds(-1)] {
      let result = await session.result(of: URLRequest(url: server.url()), policy: RetryPolicy(deadline: deadline))
      #expect(result.error?.stopReason == .deadline)
    }
    #expect(server.requests.isEmpty)
    let ample = RetryPolicy(
      maxRetryTime: .seconds(Int64.max), maxUnreachableTime: .seconds(Int64.max), deadline: .seconds(Int64.max))
    #expect(await session.result(of: URLRequest(url: server.url()), policy: ample).error == nil)
  }

  @Test func aRetryAfterIsWaitedForAndNeverShortened() async throws {
    let server = try LoopbackServer(script: .status(429, [("Retry-After", "1")]), .ok("hello"))
    let began = ContinuousClock.now
    let log = EventLog()
    var request = URLRequest(url: server.url(), method: "POST")
    request.httpBody = Data("x".utf8)
    #expect(await session.result(of: request, policy: RetryPolicy(onEvent: log.add)).error == nil)
    #expect(ContinuousClock.now - began >= .seconds(1))
    #expect(server.requests.count == 2)
    #expect(log.delays.allSatisfy { $0 >= .seconds(1) && $0 <= .milliseconds(1100) })
  }

  @Test func aRetryAfterThatIsTooLongStopsAndIsReported() async throws {
    let server = try LoopbackServer(script: .status(503, [("Retry-After", "3600")], body: "later"))
    let result = await session.result(of: URLRequest(url: server.url()))
    #expect(result.error?.stopReason == .retryAfterTooLong(.seconds(3600)))
    #expect(result.error?.attempts.count == 1)
    #expect(result.error?.statusCode == 503)
    #expect(result.error?.data == Data("later".utf8))
    #expect(server.requests.count == 1)
  }

  // MARK: Side effects

  @Test func aPostToAPortThatListensAMomentLaterIsSentOnce() async throws {
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

  @Test(arguments: [302, 307, 308]) func aBodyStreamIsNotSentEmptyAfterARedirect(_ status: Int) async throws {
    let server = try LoopbackServer { $0.target == "/a" ? .redirect(status, to: "/b") : .ok() }
    var request = URLRequest(url: server.url("/a"), method: "PUT")
    request.httpBodyStream = InputStream(data: Data("streamed".utf8))
    #expect(await session.result(of: request).error?.urlError?.code == .requestBodyStreamExhausted)
    #expect(server.requests.map(\.target) == ["/a"])
  }

  @Test(arguments: ["", " ", "\t"]) func aBlankIdempotencyKeyProtectsNothing(_ key: String) async throws {
    let server = try LoopbackServer(script: .status(503), .ok())
    var request = URLRequest(url: server.url(), method: "POST")
    request.httpBody = Data("order".utf8)
    request.setValue(key, forHTTPHeaderField: "Idempotency-Key")
    #expect(await session.result(of: request).error?.statusCode == 503)
    #expect(server.requests.count == 1)
  }

  @Test func aCancelledCallIsLetGoLongBeforeItsTimeout() async throws {
    let server = try LoopbackServer { $0.target == "/a" ? .redirect(to: "/b") : .hang }
    for (path, timeout) in [("/a", 30.5), ("/b", 30.5), ("/b", 30)] {
      let live = Live()
      let answered = Gate()
      var request = URLRequest(url: server.url(path))
      request.timeoutInterval = timeout
      let before = server.requests.count
      do {
        let task = session.performNetworkRequest(request) { _ in answered.open() }
        live.add(task.loop)
        await until { server.requests.count == before + (path == "/a" ? 2 : 1) }
        task.cancel()
      }
      await answered.wait()
      let began = ContinuousClock.now
      await until { live.count == 0 }
      #expect(ContinuousClock.now - began < .seconds(10))
    }
  }

  @Test func aBodyStreamIsSentOnceAndSaysWhy() async throws {
    let server = try LoopbackServer(script: .status(503), .ok())
    var request = URLRequest(url: server.url(), method: "PUT")
    request.httpBodyStream = InputStream(data: Data("streamed".utf8))
    let log = EventLog()
    let result = await session.result(of: request, policy: RetryPolicy(onEvent: log.add))
    #expect(result.error?.statusCode == 503)
    #expect(log.gaveUp == .bodyNotReplayable)
    #expect(server.requests.map(\.text) == ["streamed"])
  }

  // MARK: What cannot be sent

  @Test(arguments: ["GE T", "GET\r\nX-Evil: 1", "GET ", "G\u{E9}T"]) func aMethodThatIsNoTokenIsNotSent(
    _ method: String
  ) async throws {
    let server = try LoopbackServer(script: .ok())
    let result = await session.result(of: URLRequest(url: server.url(), method: method))
    guard case .failure(.invalidRequest) = result else { Issue.record("\(result)"); return }
    #expect(server.requests.isEmpty)
  }

  @Test func aRequestWithoutURLIsNotSent() async throws {
    var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1/")))
    request.url = nil
    guard case .failure(.invalidRequest) = await session.result(of: request) else { Issue.record("sent"); return }
  }

  @Test func aFileIsNotHTTP() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "wynd-\(UUID().uuidString)")
    try Data("text".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let result = await session.result(of: URLRequest(url: file))
    #expect(result.error != nil)
    #expect(result.error?.attempts.isEmpty == true)
  }

  // MARK: Events

  @Test func eventsTellTheStory() async throws {
    let server = try LoopbackServer(script: .reset, .status(503), .ok("hello"))
    let log = EventLog()
    let policy = RetryPolicy(backoff: .constant(.milliseconds(10)), onEvent: log.add)
    _ = try await session.performNetworkRequest(server.url("/items?token=SECRET"), policy: policy)
    let kinds = log.events.map { event -> String in
      switch event.kind {
      case .attemptStarted: "started \(event.attempt)"
      case .attemptFailed(_, let safety): "failed \(event.attempt) \(safety.isSafe)"
      case .willRetry(let delay, let source): "retry \(delay.logText) \(source)"
      case .succeeded(let status): "succeeded \(status)"
      case .gaveUp: "gave up"
      }
    }
    #expect(
      kinds == [
        "started 1", "failed 1 true", "retry 0.01 s backoff", "started 2", "failed 2 true", "retry 0.01 s backoff",
        "started 3", "succeeded 200",
      ])
    let text = log.events.map(\.description).joined(separator: "\n")
    #expect(text.contains("GET http://127.0.0.1:\(server.port)/items?token=… #2"))
    #expect(!text.contains("SECRET"))
  }
}

extension URLRequest {
  init(url: URL, method: String) {
    self.init(url: url)
    httpMethod = method
  }
}
