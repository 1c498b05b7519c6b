import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Which failures are retried and which requests are repeated, measured by how often a request is sent.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct RetryRuleTests {
  static let quick = RetryPolicy(maxRetries: 3, backoff: .immediate, budget: .unlimited)

  /// Sends a request to a server that follows a script, until the call ends.
  static func run(
    _ steps: [NetworkScript.Step], method: String = "GET", headers: [String: String] = [:],
    policy: RetryPolicy = quick
  ) async throws -> ScriptedCall {
    let script = NetworkScript(steps)
    var request = URLRequest(url: try #require(URL(string: "https://a.example/items")), method: method)
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

  static let retriedStatuses = [
    408, 421, 425, 429, 444, 499, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529, 598, 599,
  ]

  /// Three retries are allowed, and two after a 500.
  @Test func retriesOnlyListedStatusCodes() async throws {
    let final = [
      400, 401, 402, 403, 404, 405, 406, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418, 420, 422, 423, 424, 426,
      428, 430, 431, 440, 449, 450, 451, 460, 463, 494, 495, 496, 497, 498, 501, 505, 506, 507, 508, 509, 510, 511,
      518, 519, 525, 526, 527, 528, 530, 561, 597,
    ]
    let rows = Self.retriedStatuses.map { ($0, $0 == 500 ? 3 : 4) } + final.map { ($0, 1) }
    let server = try LoopbackServer { .status(Int($0.target.dropFirst()) ?? 0, body: "no") }
    let session = URLSession(configuration: .ephemeral)
    for (status, sends) in rows {
      let error = await session.result(of: URLRequest(url: server.url("/\(status)")), policy: Self.quick).error
      #expect(server.requests.count { $0.target == "/\(status)" } == sends, "\(status)")
      #expect(error?.statusCode == status)
      #expect(error?.data == Data("no".utf8), "\(status)")
      #expect(error?.shouldRetry == (sends > 1), "\(status)")
    }
  }

  @Test func everyStatusBelow400IsASuccess() async throws {
    for status in [200, 201, 202, 203, 206, 207, 226, 299, 300, 304, 305, 399] {
      let call = try await Self.run([.status(status, "x")])
      #expect(call.error == nil, "\(status)")
      #expect(call.sends == 1)
    }
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

  // MARK: Transport errors

  /// -1 unknown · -1001 timed out · -1003, -1006 host not found · -1004 refused · -1005 connection lost · -1009 offline ·
  /// -1011 bad response · -1015, -1016 content coding · -1017 cannot be parsed · -1018 roaming is off · -1019 a phone call ·
  /// -1020 cellular data is off · -1200 TLS
  static let retriedErrors = [
    -1, -1001, -1003, -1004, -1005, -1006, -1009, -1011, -1015, -1016, -1017, -1018, -1019, -1020, -1200,
  ]

  @Test func retriesOnlyListedTransportErrors() async throws {
    let final = [
      -999, -1000, -1002, -1007, -1008, -1010, -1012, -1013, -1014, -1021, -1022, -1100, -1101, -1102, -1103, -1201,
      -1202, -1203, -1204, -1205, -1206, -2000, -3000, -3001, -3006, -3007,
    ]
    for code in Self.retriedErrors + final {
      // Foundation on Linux does not know each of them.
      guard let known = URLError.Code(rawValue: code) as URLError.Code? else { continue }
      let call = try await Self.run([.failure(known), .ok("x")])
      #expect(call.sends == (Self.retriedErrors.contains(code) ? 2 : 1), "\(code)")
      #expect(call.error?.urlError?.code.rawValue == (Self.retriedErrors.contains(code) ? nil : code))
    }
  }

  static let unlikely: [URLError.Code] = [
    .secureConnectionFailed, .cannotDecodeRawData, .cannotDecodeContentData, .cannotParseResponse,
  ]

  @Test(arguments: unlikely)
  func retriesPersistentErrorsAtMostTwice(_ code: URLError.Code) async throws {
    let call = try await Self.run([.failure(code)], policy: .init(backoff: .immediate, budget: .unlimited))
    #expect(call.sends == 3)
    #expect(call.error?.urlError?.code == code)
    #expect(call.error?.attempts.count == 3)
  }

  @Test(arguments: unlikely) func retriesPersistentErrorsUntilSuccess(_ code: URLError.Code) async throws {
    let call = try await Self.run([.failure(code), .failure(code), .ok("x")])
    #expect(call.error == nil)
    #expect(call.sends == 3)
  }

  // MARK: Safe repetition

  @Test func repeatsIdempotentMethodsOnly() async throws {
    let server = try LoopbackServer { .status($0.target == "/refused" ? 429 : 503) }
    let session = URLSession(configuration: .ephemeral)
    for method in ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "QUERY", "POST", "PATCH", "LOCK", "PROPFIND"] {
      let isSafe = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "QUERY"].contains(method)
      let before = server.requests.count
      let log = EventLog()
      var policy = RetryPolicy(maxRetries: 1, backoff: .immediate, budget: .unlimited, onEvent: log.add)
      let error = await session.result(of: URLRequest(url: server.url(), method: method), policy: policy).error
      #expect(server.requests.count - before == (isSafe ? 2 : 1), "\(method)")
      #expect(error?.statusCode == 503)
      #expect(log.gaveUp == (isSafe ? .maxRetries : .notSafeToRepeat(method: method)), "\(method)")
      // A request that the server rejected before processing may be repeated with any method.
      policy.onEvent = nil
      _ = await session.result(of: URLRequest(url: server.url("/refused"), method: method), policy: policy)
      #expect(server.requests.count - before == (isSafe ? 4 : 3), "\(method)")
    }
    #expect(try await Self.run([.status(503), .ok("x")], method: "TRACE").sends == 2)
    #expect(try await Self.run([.status(503), .ok("x")], method: "CONNECT").sends == 1)
  }

  /// A failure of a POST → why it may be repeated, or that it may not.
  static let posts: [(NetworkScript.Step, RepeatSafety)] = [
    (.failure(.cannotFindHost), .nothingSent), (.failure(.dnsLookupFailed), .nothingSent),
    (.failure(.cannotConnectToHost), .nothingSent), (.failure(.notConnectedToInternet), .nothingSent),
    (.failure(.internationalRoamingOff), .nothingSent), (.failure(.callIsActive), .nothingSent),
    (.failure(.dataNotAllowed), .nothingSent), (.failure(.secureConnectionFailed), .nothingSent),
    (.status(421), .refusedBeforeProcessing), (.status(425), .refusedBeforeProcessing),
    (.status(429), .refusedBeforeProcessing),
    (.failure(.timedOut), .mayHaveBeenApplied), (.failure(.networkConnectionLost), .mayHaveBeenApplied),
    (.failure(.unknown), .mayHaveBeenApplied), (.failure(.badServerResponse), .mayHaveBeenApplied),
    (.failure(.cannotParseResponse), .mayHaveBeenApplied), (.failure(.cannotDecodeRawData), .mayHaveBeenApplied),
    (.failure(.cannotDecodeContentData), .mayHaveBeenApplied), (.silence, .mayHaveBeenApplied),
    (.status(408), .mayHaveBeenApplied), (.status(500), .mayHaveBeenApplied), (.status(502), .mayHaveBeenApplied),
    (.status(503), .mayHaveBeenApplied), (.status(504), .mayHaveBeenApplied), (.status(499), .mayHaveBeenApplied),
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
    var request = URLRequest(url: server.url(), method: "POST")
    request.httpBody = Data("order".utf8)
    request.setValue("k-1", forHTTPHeaderField: name)
    let log = EventLog()
    var policy = Self.quick
    policy.onEvent = log.add
    #expect(await URLSession(configuration: .ephemeral).result(of: request, policy: policy).error == nil)
    #expect(server.requests.map { $0.value(name) } == ["k-1", "k-1", "k-1"])
    #expect(server.requests.map(\.text) == ["order", "order", "order"])
    #expect(log.safeties == [.idempotencyKey, .idempotencyKey])
  }

  /// A failure that a caller's rule makes retryable is still not repeated where that is not safe.
  @Test func shouldRetryDoesNotOverrideRepeatSafety() async throws {
    var policy = RetryPolicy(maxRetries: 2, backoff: .immediate, shouldRetry: { $0.statusCode == 404 })
    #expect(try await Self.run([.status(404)], policy: policy).sends == 3)
    #expect(try await Self.run([.status(503)], policy: policy).sends == 1)
    #expect(try await Self.run([.status(404)], method: "POST", policy: policy).sends == 1)
    #expect(try await Self.run([.failure(.cancelled)], policy: policy).sends == 1)
    policy.shouldRetry = { _ in true }
    #expect(try await Self.run([.failure(.cancelled)], policy: policy).sends == 1)
    #expect(
      try await Self.run([.status(500)], policy: .init(backoff: .immediate, shouldRetry: { _ in true })).sends == 3)
    #expect(try await Self.run([.failure(.badURL)], policy: policy).sends == 3)
  }

  // MARK: Conflicts

  static let key = ["Idempotency-Key": "k-1"]
  static let every3 = RetryPolicy(backoff: .constant(.seconds(3)), budget: .unlimited)

  @Test(arguments: [NetworkScript.Step.silence, .dropped])
  func retriesAConflictWithAnEarlierAttempt(_ first: NetworkScript.Step) async throws {
    let call = try await Self.run(
      [first, .status(409), .status(409), .ok("x")], method: "POST", headers: Self.key, policy: Self.every3)
    #expect(call.error == nil)
    #expect(call.sends == 4)
    // A refused connection in between does not change that the server may have the first.
    let later = try await Self.run(
      [first, .refused, .status(409), .ok("x")], method: "POST", headers: Self.key, policy: Self.every3)
    #expect(later.error == nil)
  }

  /// Without an earlier attempt that may have reached the server, or without a key, a conflict is final.
  @Test func doesNotRetryOtherConflicts() async throws {
    let rows: [([NetworkScript.Step], String, [String: String], sends: Int)] = [
      ([.status(409), .ok("x")], "POST", Self.key, 1), ([.refused, .status(409), .ok("x")], "POST", Self.key, 2),
      ([.refused, .status(409), .ok("x")], "POST", [:], 2), ([.dropped, .status(409), .ok("x")], "PUT", [:], 2),
      ([.dropped, .status(409), .ok("x")], "GET", [:], 2),
    ]
    for (steps, method, headers, sends) in rows {
      let call = try await Self.run(steps, method: method, headers: headers, policy: Self.every3)
      #expect(call.error?.statusCode == 409)
      #expect(call.sends == sends, "\(steps)")
    }
  }
}

extension EventLog {
  /// Why each failed attempt may be repeated or not.
  var safeties: [RepeatSafety] {
    events.compactMap { if case .attemptFailed(_, let safety) = $0.kind { safety } else { nil } }
  }
}
