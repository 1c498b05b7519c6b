import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a server says about retries, and closures that take long.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct NextRetryRuleTests {
  static func busy(_ retryAfter: String) -> NetworkScript.Step { .status(503, headers: ["Retry-After": retryAfter]) }
  static let every3 = RetryPolicy(backoff: .constant(.seconds(3)), budget: nil)
  static let key = ["Idempotency-Key": "k-1"]

  // MARK: D1

  /// The server names the least to wait; the call's own backoff is added.
  @Test
  func theBackoffIsAddedToWhatTheServerAsksFor() async throws {
    let rows: [(String, Double)] = [("10", 13), ("1", 4), ("60", 63)]
    for (value, seconds) in rows {
      let call = try await RetryRuleTests.run([Self.busy(value), .ok("x")], policy: Self.every3)
      #expect(call.elapsed == .seconds(seconds), "\(value)")
      #expect(call.log.sources == [.server(field: "Retry-After")])
    }
    // Half of 0.5, 1 and 2 s: the jitter of a script is always in the middle.
    let growing = try await RetryRuleTests.run(
      [Self.busy("1"), Self.busy("1"), Self.busy("1"), .ok("x")], policy: .default)
    #expect(growing.log.delays == [1.25, 1.5, 2].map { .seconds($0) })
  }

  @Test
  func aRetryAfterOfZeroWaitsTheBackoff() async throws {
    for value in ["0", "Thu, 01 Jan 1970 00:00:00 GMT"] {
      let call = try await RetryRuleTests.run([Self.busy(value), Self.busy(value), .ok("x")], policy: Self.every3)
      #expect(call.elapsed == .seconds(6), "\(value)")
    }
  }

  // MARK: D2

  @Test(arguments: [NetworkScript.Step.silence, .dropped])
  func aConflictWithTheFirstAttemptIsRetried(_ first: NetworkScript.Step) async throws {
    let call = try await RetryRuleTests.run(
      [first, .status(409), .status(409), .ok("x")], method: "POST", headers: Self.key, policy: Self.every3)
    #expect(call.error == nil)
    #expect(call.sends == 4)
    // A refused connection in between does not change that the server may have the first.
    let later = try await RetryRuleTests.run(
      [first, .refused, .status(409), .ok("x")], method: "POST", headers: Self.key, policy: Self.every3)
    #expect(later.error == nil)
  }

  /// Without an earlier attempt that may have reached the server, or without a key, a conflict is an answer.
  @Test func anotherConflictIsFinal() async throws {
    let rows: [([NetworkScript.Step], String, [String: String], sends: Int)] = [
      ([.status(409), .ok("x")], "POST", Self.key, 1), ([.refused, .status(409), .ok("x")], "POST", Self.key, 2),
      ([.refused, .status(409), .ok("x")], "POST", [:], 2), ([.dropped, .status(409), .ok("x")], "PUT", [:], 2),
      ([.dropped, .status(409), .ok("x")], "GET", [:], 2),
    ]
    for (steps, method, headers, sends) in rows {
      let call = try await RetryRuleTests.run(steps, method: method, headers: headers, policy: Self.every3)
      #expect(call.error?.statusCode == 409)
      #expect(call.sends == sends, "\(steps)")
    }
  }

  // MARK: D3

  static let unlikely: [URLError.Code] = [
    .secureConnectionFailed, .cannotDecodeRawData, .cannotDecodeContentData, .cannotParseResponse,
  ]

  @Test(arguments: unlikely)
  func whatIsUnlikelyToGetBetterIsRetriedAtMostTwice(_ code: URLError.Code) async throws {
    let call = try await RetryRuleTests.run([.failure(code)], policy: .init(backoff: .none, budget: nil))
    #expect(call.sends == 3)
    #expect(call.error?.urlError?.code == code)
    #expect(call.error?.attempts.count == 3)
  }

  @Test(arguments: unlikely) func whatIsUnlikelyToGetBetterIsRetried(_ code: URLError.Code) async throws {
    let call = try await RetryRuleTests.run([.failure(code), .failure(code), .ok("x")])
    #expect(call.error == nil)
    #expect(call.sends == 3)
  }

  // MARK: D7

  @Test func anOverloadedSiteIsRetried() async throws {
    let call = try await RetryRuleTests.run([.status(529), .ok("x")])
    #expect(call.error == nil)
  }

  @Test
  func tooLargeIsRetriedWhereTheServerSaysWhen() async throws {
    let call = try await RetryRuleTests.run([.status(413, headers: ["Retry-After": "5"]), .ok("x")])
    #expect(call.error == nil)
    #expect(call.elapsed >= .seconds(5))
  }

  @Test func tooLargeIsFinalWithoutATime() async throws {
    for headers in [[:], ["Retry-After": "soon"], ["Retry-After": ""]] {
      #expect(try await RetryRuleTests.run([.status(413, headers: headers), .ok("x")]).sends == 1)
    }
  }

  // MARK: A6

  @Test
  func aSlowListenerDelaysNoOtherCall() async throws {
    let server = try LoopbackServer { $0.target == "/other" ? .hang : .status(503) }
    let session = URLSession(configuration: .ephemeral)
    let isInside = Gate()
    let mayGoOn = DispatchSemaphore(value: 0)
    let slow = RetryPolicy(
      maxRetries: 1, backoff: .constant(.milliseconds(10)), budget: nil,
      onEvent: {
        guard case .attemptStarted = $0.kind, $0.attempt == 2 else { return }
        isInside.open()
        mayGoOn.wait()
      })
    let url = server.url()
    let held = Task { await session.result(of: URLRequest(url: url), policy: slow) }
    await isInside.wait()
    let ended = Box<Bool>(false)
    let elsewhere = server.url("/other")
    let other = Task {
      let policy = RetryPolicy(deadline: .milliseconds(200), budget: nil, onEvent: { _ in })
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
