import Dispatch
import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The events that `onEvent` receives, their order and their descriptions.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct NetworkEventTests {
  static func name(_ event: NetworkEvent) -> String {
    switch event.kind {
    case .attemptStarted: "started \(event.attempt)"
    case .attemptFailed(let error, _):
      "failed \(event.attempt) \(error.statusCode ?? error.urlError?.code.rawValue ?? 0)"
    case .willRetry: "retry \(event.attempt)"
    case .succeeded(let status): "succeeded \(event.attempt) \(status)"
    case .undecodable: "undecodable \(event.attempt)"
    case .gaveUp(let reason): "gave up \(event.attempt) \(reason)"
    }
  }

  @Test func reportsEventsInOrder() async throws {
    let rows: [([NetworkScript.Step], [String])] = [
      ([.ok("x")], ["started 1", "succeeded 1 200"]), ([.status(204)], ["started 1", "succeeded 1 204"]),
      ([.status(404)], ["started 1", "failed 1 404", "gave up 1 notRetryable"]),
      (
        [.dropped, .status(503), .ok("x")],
        [
          "started 1", "failed 1 -1005", "retry 1", "started 2", "failed 2 503", "retry 2", "started 3",
          "succeeded 3 200",
        ]
      ),
      (
        [.status(503), .status(401)],
        ["started 1", "failed 1 503", "retry 1", "started 2", "failed 2 401", "gave up 2 notRetryable"]
      ),
      (
        [.status(503, headers: ["Retry-After": "61"])],
        ["started 1", "failed 1 503", "gave up 1 retryAfterTooLong(61.0 seconds)"]
      ),
    ]
    // The attempt that the deadline ends has failed too.
    let late = try await RetryRuleTests.run([.silence], policy: RetryPolicy(deadline: .seconds(1)))
    #expect(late.log.events.map(Self.name) == ["started 1", "failed 1 -1001", "gave up 1 deadline"])
    for (steps, names) in rows {
      let call = try await RetryRuleTests.run(steps)
      #expect(call.log.events.map(Self.name) == names)
    }
  }

  @Test func slowListenerReceivesEventsSerially() async throws {
    let isNext = DispatchSemaphore(value: 0)
    let server = try LoopbackServer(script: .ok())
    let log = EventLog()
    let policy = RetryPolicy(onEvent: { event in
      // For as long as a next event that comes too early would need to come.
      if case .attemptStarted = event.kind { _ = isNext.wait(timeout: .now() + 0.3) }
      log.add(event)
      isNext.signal()
    })
    _ = try await URLSession(configuration: .ephemeral).performNetworkRequest(server.url(), policy: policy)
    #expect(log.events.map(Self.name) == ["started 1", "succeeded 1 200"])
  }

  @Test func eventsHaveTheRequestAndTheElapsedTime() async throws {
    let call = try await RetryRuleTests.run(
      [.status(503), .silence, .ok("x")], headers: ["X-Mine": "1"],
      policy: .init(backoff: .constant(.seconds(5)), budget: .unlimited))
    #expect(call.log.events.map(\.elapsed) == [0, 0, 0, 5, 65, 65, 70, 70].map { .seconds($0) })
    #expect(call.log.events.allSatisfy { $0.request.value(forHTTPHeaderField: "X-Mine") == "1" })
    #expect(call.log.delays == [.seconds(5), .seconds(5)])
  }

  @Test func describesEachEventInOneLine() async throws {
    let script = NetworkScript([
      .dropped, .status(503, headers: ["Retry-After": "7"]), .status(503), .status(404),
    ])
    let log = EventLog()
    let policy = RetryPolicy(backoff: .constant(.milliseconds(1500)), onEvent: log.add)
    let url = try #require(URL(string: "https://u:SECRET@a.example/items?token=SECRET&page=2#SECRET"))
    var request = URLRequest(url: url)
    request.setValue("Bearer SECRET", forHTTPHeaderField: "Authorization")
    _ = try? await NetworkClient(on: script).performNetworkRequest(request, policy: policy)
    let id = try #require(log.events.first?.callID)
    let prefix = "[\(id)] GET https://a.example/items?token=*&page=* "
    let lines = log.events.map(\.description)
    #expect(lines.allSatisfy { $0.hasPrefix(prefix) && !$0.contains("SECRET") && !$0.contains("\n") }, "\(lines)")
    let rows = lines.map { $0.dropFirst(prefix.count) }
    try #require(rows.count == 12)
    #expect(rows[0] == "#1 (0 s): started")
    let lost = "The connection was lost. (URLError -1005, https://a.example/items?token=*&page=*)"
    #expect(rows[1].hasPrefix("#1 (0 s): failed with \(lost); safe to repeat: "))
    #expect(rows[2] == "#1 (0 s): next attempt in 1.5 s, by backoff")
    #expect(rows[3] == "#2 (1.5 s): started")
    #expect(rows[4].hasPrefix("#2 (1.5 s): failed with 503 "))
    #expect(
      rows[5].hasPrefix("#2 (1.5 s): next attempt in ") && rows[5].hasSuffix(", as the server asked (Retry-After)"))
    #expect(rows[8].hasSuffix("next attempt in 1.5 s, by backoff"))
    #expect(rows[11].contains(": gave up: "))
    let unsafe = try await RetryRuleTests.run([.status(503)], method: "POST").log.events.map(\.description)
    #expect(unsafe[1].contains("] POST ") && unsafe[1].contains("; not safe to repeat: "))
    let fine = try await RetryRuleTests.run([.status(201, "x")], method: "PUT").log.events.map(\.description)
    #expect(fine.last?.drop { $0 != "P" } == "PUT https://a.example/items #1 (0 s): responded with 201")
  }

  /// A line break in a method or a missing URL must not forge a line of the log.
  @Test func describesAnInvalidRequestInLinesOfItsOwn() async throws {
    let log = EventLog()
    var request = URLRequest(url: .example, method: "GET\r\nforged")
    let session = URLSession(configuration: .ephemeral)
    _ = await session.result(of: request, policy: RetryPolicy(onEvent: log.add))
    request = URLRequest(url: .example)
    request.url = nil
    _ = await session.result(of: request, policy: RetryPolicy(onEvent: log.add))
    let lines = log.events.map(\.description)
    #expect(lines.count == 6)
    #expect(lines.first?.contains("] (no method) https://a.example/ #1 (") == true, "\(lines)")
    #expect(lines.last?.contains("] GET (no URL) #1 (") == true, "\(lines)")
    #expect(lines.allSatisfy { !$0.contains("forged") && !$0.contains("\n") })
  }

  /// The ID distinguishes the log lines of parallel calls.
  @Test func parallelCallsHaveTheirOwnCallIDs() async throws {
    let script = NetworkScript { request, _ in request.timeoutInterval < 60 ? .status(503) : .ok("x") }
    let log = EventLog()
    let client = NetworkClient(on: script, policy: RetryPolicy(maxRetries: 2, onEvent: log.add))
    let url = URL.example
    await withTaskGroup(of: Void.self) { group in
      for number in 1...20 {
        group.addTask {
          _ = try? await client.performNetworkRequest(URLRequest(url: url, timeoutInterval: Double(number)))
        }
      }
    }
    let calls = Dictionary(grouping: log.events, by: \.callID)
    #expect(calls.count == 20)
    for events in calls.values {
      #expect(Set(events.map(\.request.timeoutInterval)).count == 1)
      // Three attempts, three failures, two waits and the end.
      #expect(events.count == 9 && events.last?.isLast == true)
    }
  }

  // MARK: The attempts of a response

  @Test func responseHasEveryAttempt() async throws {
    let script = NetworkScript([.status(503), .silence, .refused, .ok("x", headers: ["X-Page": "7"])])
    let url = URL.example.appending(path: "items")
    let policy = RetryPolicy(backoff: .constant(.seconds(2)))
    let response = try await NetworkClient(on: script).networkResponse(for: url, policy: policy)
    #expect(response.data == Data("x".utf8))
    #expect(response.response.value(forHTTPHeaderField: "X-Page") == "7")
    guard case .network = response.source else { Issue.record("\(response.source)"); return }
    let attempts = response.attempts
    #expect(attempts.map(\.number) == [1, 2, 3, 4])
    #expect(attempts.map(\.startedAt) == [0, 2, 64, 66].map { .seconds($0) })
    #expect(attempts.map(\.duration) == [0, 60, 0, 0].map { .seconds($0) })
    #expect(attempts.map(\.delay) == [.seconds(2), .seconds(2), .seconds(2), nil])
    #expect(attempts.map { $0.error?.statusCode } == [503, nil, nil, nil])
    #expect(attempts.map { $0.error?.urlError?.code } == [nil, .timedOut, .cannotConnectToHost, nil])
  }

  // MARK: Listeners

  @Test func listenerCanCancelBeforeARetry() async throws {
    let server = try LoopbackServer(script: .status(503), .ok())
    let session = URLSession(configuration: .ephemeral)
    let task = Box<NetworkTask>()
    let mayGoOn = DispatchSemaphore(value: 0)
    let log = EventLog()
    let policy = RetryPolicy(
      backoff: .constant(.seconds(60)), budget: .unlimited,
      onEvent: { event in
        log.add(event)
        guard case .willRetry = event.kind else { return }
        mayGoOn.wait()
        task.value?.cancel()
      })
    let ended = Gate()
    let result = Box<NetworkResult>()
    task.value = session.performNetworkRequest(server.url(), policy: policy) {
      result.value = $0
      ended.open()
    }
    mayGoOn.signal()
    await ended.wait()
    guard case .cancelled? = result.value?.error else { Issue.record("\(String(describing: result.value))"); return }
    #expect(server.requests.count == 1)
    await until { log.isOver }
    #expect(log.gaveUp == .cancelled)
    #expect(log.events.last?.isLast == true)
    #expect(log.events.count { if case .attemptStarted = $0.kind { true } else { false } } == 1)
  }

  @TaskLocal static var trace = "none"

  /// As the documentation says: both are called on queues of their own.
  @Test func closuresOfThePolicyDoNotSeeValuesOfTheTask() async throws {
    let seen = Box<[String]>([])
    let policy = RetryPolicy(
      backoff: .immediate,
      shouldRetry: {
        seen.append(Self.trace)
        return $0.shouldRetry
      }, onEvent: { _ in seen.append(Self.trace) })
    let client = NetworkClient(on: NetworkScript([.status(503), .ok("x")]), policy: policy)
    try await Self.$trace.withValue("screen") { _ = try await client.performNetworkRequest(URL.example) }
    #expect(seen.value == Array(repeating: "none", count: 6))
  }

  @Test func slowListenerDoesNotDelayOtherCalls() async throws {
    let server = try LoopbackServer { $0.target == "/other" ? .hang : .status(503) }
    let session = URLSession(configuration: .ephemeral)
    let isInside = Gate()
    let mayGoOn = DispatchSemaphore(value: 0)
    let slow = RetryPolicy(
      maxRetries: 1, backoff: .constant(.milliseconds(10)), budget: .unlimited,
      onEvent: {
        guard case .attemptStarted = $0.kind, $0.attempt == 2 else { return }
        isInside.open()
        mayGoOn.wait()
      })
    let url = server.url()
    let held = Task { await session.result(of: url, policy: slow) }
    await isInside.wait()
    let ended = Box<Bool>(false)
    let elsewhere = server.url("/other")
    let other = Task {
      let policy = RetryPolicy(deadline: .milliseconds(200), budget: .unlimited, onEvent: { _ in })
      _ = await session.result(of: URLRequest(url: elsewhere), policy: policy)
      ended.value = true
    }
    let limit = ContinuousClock.now + .seconds(20)
    while ended.value == false, ContinuousClock.now < limit { try await Task.sleep(for: .milliseconds(5)) }
    #expect(ended.value == true)
    mayGoOn.signal()
    _ = await (held.value, other.value)
  }
}
