import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Which failures are retried and which requests are repeated, measured by how often a request is sent.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct RetryRuleTests {
  static let quick = RetryPolicy.quick(maxRetries: 3)

  /// Sends a request to a server that follows a script, until the call ends.
  static func run(
    _ steps: [NetworkScript.Step], method: String = "GET", headers: [String: String] = [:],
    policy: RetryPolicy = quick
  ) async throws -> ScriptedCall {
    let script = NetworkScript(steps)
    var request = URLRequest(url: .example.appending(path: "items"), method: method)
    if method != "GET", method != "HEAD" { request.httpBody = Data("order".utf8) }
    for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
    let log = EventLog()
    var policy = policy
    policy.onEvent = log.add
    var error: NetworkError?
    do throws(NetworkError) {
      _ = try await NetworkClient(on: script).performNetworkRequest(request, policy: policy)
    } catch let failure {
      error = failure
    }
    return ScriptedCall(sends: script.requests.count, elapsed: script.elapsed, error: error, log: log)
  }

  struct ScriptedCall {
    let sends: Int
    let elapsed: Duration
    let error: NetworkError?
    let log: EventLog
  }

  // MARK: Status codes

  @Test func everyStatusBelow400IsASuccess() async throws {
    for status in [200, 201, 202, 203, 206, 207, 226, 299, 300, 304, 305, 399] {
      let call = try await Self.run([.status(status, "x")])
      #expect(call.error == nil, "\(status)")
      #expect(call.sends == 1)
    }
    #expect(try await Self.run([.status(400, "x")]).error?.statusCode == 400)
  }

  @Test func stopsAtTheThird500EvenBetweenOther5xx() async throws {
    let mixed = try await Self.run(
      [.status(503), .status(500), .status(503), .status(500), .status(503), .ok("x")], policy: .immediate)
    #expect(mixed.error == nil)
    #expect(mixed.sends == 6)
    let third = try await Self.run([.status(500), .status(503), .status(500), .status(502), .status(500), .ok("x")])
    #expect(third.error?.stopReason == .maxRetries, "three retries are used up first")
    let longer = try await Self.run(
      [.status(500), .status(503), .status(500), .status(502), .status(500), .ok("x")], policy: .immediate)
    #expect(longer.error?.stopReason == .persistentFailure)
    #expect(longer.sends == 5)
  }

  @Test func retries413WithRetryAfter() async throws {
    let call = try await Self.run([.status(413, headers: ["Retry-After": "5"]), .ok("x")])
    #expect(call.error == nil)
    #expect(call.elapsed >= .seconds(5))
  }

  @Test func doesNotRetry413WithoutRetryAfter() async throws {
    for headers in [[:], ["Retry-After": "soon"], ["Retry-After": ""]] {
      #expect(try await Self.run([.status(413, headers: headers), .ok("x")]).sends == 1)
    }
  }

  /// As GitHub and other large services report a rate limit.
  @Test(arguments: ["GET", "POST"]) func retriesA403OfARateLimit(_ method: String) async throws {
    let limits = [
      ["Retry-After": "5"], ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "5"],
      ["X-RateLimit-Remaining": "0", "RateLimit-Reset": "5"],
    ]
    for headers in limits {
      let call = try await Self.run([.status(403, headers: headers), .ok("x")], method: method)
      #expect(call.error == nil && call.sends == 2 && call.elapsed >= .seconds(5), "\(headers)")
      #expect(call.log.safeties == [method == "GET" ? .idempotentMethod : .refusedBeforeProcessing])
    }
    let other = [
      [:], ["Retry-After": "soon"], ["X-RateLimit-Reset": "5"], ["X-RateLimit-Remaining": "0"],
      ["X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "5"],
    ]
    for headers in other {
      let call = try await Self.run([.status(403, headers: headers), .ok("x")], method: method)
      #expect(call.error?.shouldRetry == false && call.sends == 1, "\(headers)")
      #expect(call.error?.stopReason == nil && call.log.safeties != [.refusedBeforeProcessing], "\(headers)")
    }
  }

  // MARK: Safe repetition

  /// A failure of a POST → why it may be repeated, or that it may not.
  static let posts: [(NetworkScript.Step, RepeatSafety)] = [
    (.failure(.cannotFindHost), .nothingSent),
    (.failure(.cannotConnectToHost), .nothingSent), (.failure(.secureConnectionFailed), .nothingSent),
    (.status(421), .refusedBeforeProcessing),
    (.status(429), .refusedBeforeProcessing), (.failure(.networkConnectionLost), .mayHaveBeenApplied),
    (.silence, .mayHaveBeenApplied),
    (.status(503), .mayHaveBeenApplied),
  ]

  @Test func repeatsAPOSTOnlyIfNothingWasApplied() async throws {
    for (step, safety) in Self.posts {
      let call = try await Self.run([step, .ok("x")], method: "POST")
      #expect(call.sends == (safety == .mayHaveBeenApplied ? 1 : 2), "\(step)")
      #expect(call.log.safeties == [safety], "\(step)")
      if !safety.isSafe { #expect(call.log.gaveUp == .notSafeToRepeat(method: "POST"), "\(step)") }
      let repeatingAny = RetryPolicy(backoff: .immediate, retriesNonIdempotent: true)
      let allowed = try await Self.run([step, .ok("x")], method: "POST", policy: repeatingAny)
      #expect(allowed.sends == 2, "\(step)")
      #expect(allowed.log.safeties == [safety.isSafe ? safety : .allowedByPolicy], "\(step)")
    }
    #expect(try await Self.run([.silence, .ok("x")]).log.safeties == [.idempotentMethod])
  }

  @Test(arguments: ["Idempotency-Key", "X-Idempotency-Key", "idempotency-key", "x-idempotency-key"])
  func repeatsAPOSTWithTheSameIdempotencyKey(_ name: String) async throws {
    let server = try LoopbackServer(script: .reset, .status(503), .ok())
    var request = URLRequest(url: server.url(), method: "POST", body: "order")
    request.setValue("k-1", forHTTPHeaderField: name)
    let log = EventLog()
    var policy = Self.quick
    policy.onEvent = log.add
    #expect(await URLSession(configuration: .ephemeral).result(of: request, policy: policy).error == nil)
    #expect(server.requests.map { $0.value(name) } == ["k-1", "k-1", "k-1"])
    #expect(server.requests.map(\.text) == ["order", "order", "order"])
    #expect(log.safeties == [.idempotencyKey, .idempotencyKey])
  }
}

extension EventLog {
  /// Why each failed attempt may be repeated or not.
  var safeties: [RepeatSafety] {
    events.compactMap { if case .attemptFailed(_, let safety) = $0.kind { safety } else { nil } }
  }
}
