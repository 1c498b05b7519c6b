import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The number of retries, their waits and their limits, in the simulated time of a script.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct RetryLimitTests {
  static func every(_ seconds: Double) -> Backoff { .constant(.seconds(seconds)) }

  /// A policy and a permanent failure → how often the request is sent, when the call ends, and why.
  struct Row: Sendable {
    var policy: RetryPolicy = .default
    var step: NetworkScript.Step = .dropped
    var sends: Int
    var ends: Double
    var stop: RetryFailure.StopReason
  }

  static let rows: [Row] = [
    // maxRetries
    Row(policy: .init(maxRetries: 1, backoff: every(1)), sends: 2, ends: 1, stop: .maxRetries),
    Row(policy: .init(backoff: .immediate), sends: 11, ends: 0, stop: .maxRetries),
    Row(policy: .init(backoff: .immediate), step: .status(500), sends: 3, ends: 0, stop: .persistentFailure),
    Row(policy: .init(maxRetries: 2, backoff: .immediate), step: .status(500), sends: 3, ends: 0, stop: .maxRetries),
    // maxRetryTime: the last retry starts at the limit itself, never later.
    Row(policy: .init(backoff: every(10), maxRetryTime: .seconds(20)), sends: 3, ends: 20, stop: .maxRetryTime),
    Row(policy: .init(maxRetries: 99, backoff: every(10)), sends: 13, ends: 120, stop: .maxRetryTime),
    Row(
      policy: .init(maxRetries: 99, backoff: every(10), maxRetryTime: .noLimit), sends: 100, ends: 990,
      stop: .maxRetries),
    // An attempt that is silent for its 60 s counts like a wait.
    Row(policy: .init(backoff: .immediate), step: .silence, sends: 3, ends: 180, stop: .maxRetryTime),
    // deadline: nothing starts at the deadline itself.
    Row(policy: .init(backoff: every(10), deadline: .seconds(20)), sends: 2, ends: 10, stop: .deadline),
    Row(policy: .init(backoff: every(10), deadline: .seconds(20.1)), sends: 3, ends: 20, stop: .deadline),
    Row(
      policy: .init(backoff: .immediate, deadline: .seconds(70)), step: .silence, sends: 2, ends: 70, stop: .deadline),
    // attemptTimeout: each silent attempt ends after that, or after its own time-out of 60 s.
    Row(
      policy: .init(backoff: .immediate, attemptTimeout: .seconds(10)), step: .silence, sends: 11, ends: 110,
      stop: .maxRetries),
    Row(
      policy: .init(backoff: .immediate, attemptTimeout: .seconds(10), deadline: .seconds(25)), step: .silence,
      sends: 3, ends: 25, stop: .deadline),
    Row(
      policy: .init(backoff: .immediate, attemptTimeout: .seconds(30), deadline: .seconds(20)), step: .silence,
      sends: 1, ends: 20, stop: .deadline),
    Row(
      policy: .init(backoff: .immediate, attemptTimeout: .seconds(61)), step: .silence, sends: 3, ends: 180,
      stop: .maxRetryTime),
    Row(
      policy: .init(backoff: .immediate, attemptTimeout: .noLimit), step: .silence, sends: 3, ends: 180,
      stop: .maxRetryTime),
    Row(
      policy: .init(maxRetries: 1, backoff: .immediate, attemptTimeout: .zero), step: .silence, sends: 2, ends: 0,
      stop: .maxRetries),
    // maxUnreachableTime: one more attempt at the limit itself.
    Row(policy: .init(backoff: every(4)), step: .refused, sends: 4, ends: 10, stop: .maxUnreachableTime),
    Row(
      policy: .init(backoff: every(4), maxUnreachableTime: .seconds(3)), step: .refused, sends: 2, ends: 3,
      stop: .maxUnreachableTime),
    Row(
      policy: .init(maxRetries: 3, backoff: every(4), maxUnreachableTime: .noLimit), step: .refused, sends: 4, ends: 12,
      stop: .maxRetries),
    Row(policy: .init(backoff: every(4)), step: .failure(.notConnectedToInternet), sends: 4, ends: 10, stop: .offline),
    Row(policy: .init(backoff: every(4)), step: .failure(.cannotFindHost), sends: 4, ends: 10, stop: .offline),
    // The presets.
    Row(policy: .immediate, sends: 11, ends: 0, stop: .maxRetries),
    Row(policy: .patient, step: .refused, sends: 17, ends: 115.525, stop: .maxRetryTime),
  ]

  @Test(arguments: rows) func stopsAtEachPolicyLimit(_ row: Row) async throws {
    let call = try await RetryRuleTests.run([row.step], policy: row.policy)
    #expect(call.sends == row.sends)
    #expect(call.elapsed == .milliseconds(row.ends * 1000))
    #expect(call.error?.stopReason == row.stop)
    #expect(call.log.gaveUp == row.stop)
    #expect(call.error?.attempts.count == row.sends)
    #expect(call.error?.attempts.map(\.number) == Array(1...row.sends))
  }

  /// The waits of the default policy at the middle of their jitter: half of 0.5, 1, 2, 4, 8, 16, 20, 20 … s, and of
  /// 50 ms for the first one without a response.
  @Test(arguments: [
    (NetworkScript.Step.dropped, 0.025), (.refused, 0.025), (.silence, 0.025), (.failure(.cannotFindHost), 0.025),
    (.status(503), 0.25), (.status(429), 0.25),
  ])
  func doublesTheDefaultWaitsUpToTheCap(_ step: NetworkScript.Step, _ first: Double) async throws {
    let policy = RetryPolicy(maxRetryTime: .noLimit, maxUnreachableTime: .noLimit)
    let call = try await RetryRuleTests.run([step], policy: policy)
    #expect(
      call.log.delays == [first, 0.5, 1, 2, 4, 8, 10, 10, 10, 10].map { .seconds($0) })
    #expect(call.error?.attempts.map(\.delay) == call.log.delays + [nil])
    #expect(call.log.sources.allSatisfy { $0 == .backoff })
  }

  /// The time without a server is counted from the first of consecutive failures.
  @Test func responseResetsTheUnreachableTime() async throws {
    let steps: [NetworkScript.Step] = [.refused, .refused, .status(503), .refused, .refused, .refused, .ok("x")]
    let call = try await RetryRuleTests.run(steps, policy: .init(backoff: Self.every(4)))
    #expect(call.error == nil)
    #expect(call.sends == 7)
    #expect(call.elapsed == .seconds(22))
    let lost = try await RetryRuleTests.run(
      [.refused, .refused, .dropped, .refused, .refused, .refused, .ok("x")], policy: .init(backoff: Self.every(4)))
    #expect(lost.error == nil)
  }

  /// Also the time of the first attempt: the system may need long to report that a host cannot be reached.
  @Test func theTimeWithoutAServerIncludesTheFirstAttempt() async throws {
    let attempts = Counter()
    let slow: NetworkClosureMiddleware = .around { _, _ in
      attempts.add()
      try await Task.sleep(for: .milliseconds(60))
      throw URLError(.cannotConnectToHost)
    }
    let client = NetworkClient(on: URLSession(configuration: .ephemeral), middleware: [slow])
    let log = EventLog()
    let policy = RetryPolicy(
      backoff: .immediate, maxUnreachableTime: .milliseconds(50), budget: .unlimited, shouldRetry: { _ in true },
      onEvent: log.add)
    let request = URLRequest(url: .example.appending(path: "items"))
    await #expect(throws: NetworkError.self) { try await client.performNetworkRequest(request, policy: policy) }
    #expect(attempts.value == 1 && log.gaveUp == .maxUnreachableTime)
  }

  // MARK: Retry-After

  static func busy(_ status: Int, _ headers: [String: String]) -> NetworkScript.Step {
    .status(status, headers: headers)
  }

  /// The wait is the backoff alone, so the event names the backoff as its source.
  @Test func reportsAZeroRetryAfterAsBackoff() async throws {
    for value in ["0", "0.0", "000", "Thu, 01 Jan 1970 00:00:00 GMT"] {
      let call = try await RetryRuleTests.run(
        [Self.busy(503, ["Retry-After": value]), .ok("x")], policy: .init(backoff: Self.every(2)))
      #expect(call.log.sources == [.backoff] && call.log.delays == [.seconds(2)], "\(value)")
    }
    for (field, value) in [("X-RateLimit-Reset", "1767225600"), ("RateLimit-Reset", "0")] {
      let call = try await RetryRuleTests.run(
        [Self.busy(429, [field: value]), .ok("x")], policy: .init(backoff: Self.every(2)))
      #expect(call.log.sources == [.backoff], "\(value)")
    }
  }

  static func busy(_ retryAfter: String) -> NetworkScript.Step { .status(503, headers: ["Retry-After": retryAfter]) }
  // MARK: Direct and wrapped errors

  @Test func returnsDirectErrorsWithoutAttemptsAndWrapsOthers() async throws {
    let final = try await RetryRuleTests.run([.status(503), .status(404)])
    guard case .endpointError? = final.error else { Issue.record("\(String(describing: final.error))"); return }
    #expect(final.log.gaveUp == .notRetryable)
    #expect(final.error?.attempts.isEmpty == true && final.log.safeties.count == 2)
    let unsafe = try await RetryRuleTests.run([.status(429), .status(503)], method: "POST")
    #expect(unsafe.error?.stopReason == .notSafeToRepeat(method: "POST"))
    #expect(unsafe.error?.attempts.map { $0.error?.statusCode } == [429, 503])
    #expect(unsafe.error?.statusCode == 503)
    let first = try await RetryRuleTests.run([.status(503)], method: "POST")
    #expect(first.error?.stopReason == .notSafeToRepeat(method: "POST"))
    #expect(first.error?.statusCode == 503)
    // A limit that ends a call after its only attempt leaves the error as it is, but for the deadline.
    let short = try await RetryRuleTests.run([.dropped], policy: .init(backoff: Self.every(9), maxRetryTime: .zero))
    guard case .urlError? = short.error else { Issue.record("\(String(describing: short.error))"); return }
    #expect(short.log.gaveUp == .maxRetryTime)
    let late = try await RetryRuleTests.run([.dropped], policy: .init(backoff: Self.every(9), deadline: .seconds(9)))
    #expect(late.error?.stopReason == .deadline)
  }

  /// In real time, because the simulated time stands still meanwhile.
  @Test func timeInsideShouldRetryCounts() async throws {
    let server = try LoopbackServer(script: .status(503))
    let policy = RetryPolicy(
      backoff: .immediate, maxRetryTime: .milliseconds(20), budget: .unlimited,
      shouldRetry: { _ in
        Thread.sleep(forTimeInterval: 0.05)
        return true
      })
    _ = await URLSession.shared.result(of: server.url(), policy: policy)
    #expect(server.requests.count == 1)
  }
}

extension NetworkScript.Step { static let refused = Self.failure(.cannotConnectToHost) }
extension RetryFailure.StopReason { fileprivate static let offline = maxUnreachableTime }

extension EventLog {
  /// The source of each wait.
  var sources: [NetworkEvent.DelaySource] {
    events.compactMap { if case .willRetry(_, let source) = $0.kind { source } else { nil } }
  }
}
