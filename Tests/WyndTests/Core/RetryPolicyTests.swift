import Foundation
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct RetryPolicyTests {
  static func status(_ code: Int, _ fields: [String: String] = [:]) -> NetworkError {
    guard let url = URL(string: "http://127.0.0.1/"),
      let response = HTTPURLResponse(url: url, statusCode: code, httpVersion: nil, headerFields: fields)
    else { return .noResponse }
    return .endpointError(response, nil)
  }
  static func url(_ code: URLError.Code) -> NetworkError { .urlError(URLError(code)) }

  static func request(_ method: String, key: Bool = false, stream: Bool = false) -> URLRequest {
    var request = URLRequest(url: URL(fileURLWithPath: "/"), method: method)
    if key { request.setValue("key", forHTTPHeaderField: "Idempotency-Key") }
    if stream { request.httpBodyStream = InputStream(data: Data()) }
    return request
  }
  /// Failures that are unlikely to go away.
  static func failures(_ count: Int) -> [NetworkAttempt] {
    (0..<count).map { .init(number: $0 + 1, startedAt: .zero, duration: .zero, error: status(500)) }
  }

  /// Failures before the last one that reached the server, or that sent nothing.
  static func history(
    _ error: NetworkError, _ persistent: Int, _ mayHaveReachedServer: Bool
  ) -> [NetworkAttempt] {
    var history = failures(persistent)
    for index in history.indices { history[index].delivery = mayHaveReachedServer ? .mayHaveBeenApplied : .notSent }
    history.append(.init(number: persistent + 1, startedAt: .zero, duration: .zero))
    history[persistent].delivery = error.delivery
    return history
  }

  func decide(
    _ error: NetworkError, _ policy: RetryPolicy = .default, method: String = "GET", key: Bool = false,
    stream: Bool = false, attempts: Int = 1, elapsed: Duration = .zero, unreachable: Duration = .zero,
    persistent: Int = 1, mayHaveReachedServer: Bool = false, random: Double = 0.5
  ) -> RetryDecision {
    var state = RetryCallState(
      attempts: attempts, elapsed: elapsed, unreachableSince: elapsed - unreachable, retries: attempts - 1)
    for attempt in Self.history(error, persistent, mayHaveReachedServer) { state.add(attempt) }
    return RetryRule(policy).decision(
      error, Self.request(method, key: key, stream: stream), state, verdict: policy.shouldRetry?(error),
      now: Date(timeIntervalSince1970: 0), random: random)
  }

  // MARK: Which errors are retried

  static let retriedStatuses = [
    408, 421, 425, 429, 444, 499, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529, 530, 598, 599,
  ]

  @Test func retriesTheseStatusCodesOnly() {
    let retried = (400..<1000).filter { Self.status($0).shouldRetry }
    #expect(retried == Self.retriedStatuses)
    #expect(Self.status(413, ["Retry-After": "1"]).shouldRetry)
  }

  @Test func retriesAConflictOnlyWithAKeyAfterAnEarlierAttempt() {
    let conflict = Self.status(409)
    #expect(
      decide(conflict, method: "POST", key: true, mayHaveReachedServer: true) == .retry(after: .seconds(0.25), .backoff)
    )
    #expect(decide(conflict, method: "POST", key: true) == .stop(.notRetryable))
    #expect(decide(conflict, method: "POST", mayHaveReachedServer: true) == .stop(.notRetryable))
    #expect(decide(conflict, method: "PUT", mayHaveReachedServer: true) == .stop(.notRetryable))
  }

  /// -1 unknown · -1001 timed out · -1003, -1006 host not found · -1004 refused · -1005 connection lost · -1009 offline ·
  /// -1011 bad response · -1015, -1016 content coding · -1017 cannot be parsed · -1018 roaming is off · -1019 a phone call ·
  /// -1020 cellular data is off · -1200 TLS
  static let retriedErrors = [
    -1, -1001, -1003, -1004, -1005, -1006, -1009, -1011, -1015, -1016, -1017, -1018, -1019, -1020, -1200,
  ]

  @Test func retriesTheseTransportErrorsOnly() {
    let retried = (-3010 ... -1).compactMap { URLError.Code(rawValue: $0) as URLError.Code? }
      .filter { Self.url($0).shouldRetry }.map(\.rawValue).sorted(by: >)
    #expect(retried == Self.retriedErrors)
  }

  @Test func doesNotRetryOtherErrors() throws {
    let response = try #require(Self.status(200).response)
    let rest: [NetworkError] = [
      .generalError(URLError(.timedOut)), .noResponse, .noResponseData(response), .cancelled,
      .invalidRequest(reason: ""),
      .undecodable(URLError(.timedOut), response, Data()),
      .generalError(URLError(.timedOut)), .generalError(TransferError.responseTooLarge(limit: 1)),
      .invalidResponseType(response),
    ]
    for error in rest { #expect(!error.shouldRetry, "\(error)") }
  }

  // MARK: Which requests are safe to repeat

  @Test func idempotentMethodsAreSafe() {
    let all = [
      "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY", "POST", "PATCH", "CONNECT", "LOCK", "query",
    ]
    let safe = all.filter { decide(Self.status(503), method: $0) != .stop(.notSafeToRepeat(method: $0)) }
    #expect(safe == ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"])
  }

  @Test func repeatsAPOSTOnlyWhenProvenSafe() {
    let post = Self.request("POST")
    enum Got { case nothing, body, redirect }
    let rows: [(NetworkError, Got, RepeatSafety)] = [
      (Self.url(.cannotFindHost), .nothing, .nothingSent), (Self.url(.dnsLookupFailed), .nothing, .nothingSent),
      (Self.url(.cannotConnectToHost), .nothing, .nothingSent),
      (Self.url(.notConnectedToInternet), .nothing, .nothingSent),
      (Self.url(.dataNotAllowed), .nothing, .nothingSent), (Self.url(.secureConnectionFailed), .nothing, .nothingSent),
      (Self.url(.notConnectedToInternet), .body, .mayHaveBeenApplied),
      (Self.url(.cannotConnectToHost), .redirect, .mayHaveBeenApplied),
      (Self.url(.timedOut), .nothing, .mayHaveBeenApplied),
      (Self.url(.networkConnectionLost), .nothing, .mayHaveBeenApplied),
      (Self.url(.unknown), .nothing, .mayHaveBeenApplied),
      (Self.url(.cannotParseResponse), .nothing, .mayHaveBeenApplied),
      // The server has had the body, and says that it did nothing with it.
      (Self.status(421), .body, .refusedBeforeProcessing), (Self.status(425), .body, .refusedBeforeProcessing),
      (Self.status(429), .body, .refusedBeforeProcessing), (Self.status(429), .redirect, .mayHaveBeenApplied),
      (Self.status(503), .body, .mayHaveBeenApplied), (Self.status(500), .body, .mayHaveBeenApplied),
      (Self.status(408), .body, .mayHaveBeenApplied),
      // Errors of other requests.
      (.generalError(URLError(.cannotConnectToHost)), .nothing, .mayHaveBeenApplied),
      (.generalError(Self.url(.cannotConnectToHost)), .nothing, .mayHaveBeenApplied),
      (.generalError(Self.status(429)), .nothing, .mayHaveBeenApplied),
      (
        .inaccessible(
          RetryFailure(lastError: Self.url(.cannotConnectToHost), attempts: [], stopReason: .maxUnreachableTime)),
        .nothing, .mayHaveBeenApplied
      ),
    ]
    for (error, got, expected) in rows {
      var outcome = NetworkOutcome(error: error.response == nil ? error : nil)
      outcome.note(mayHaveSent: got == .body, hasFollowedRedirect: got == .redirect)
      let delivery = outcome.delivery ?? error.delivery
      #expect(RepeatSafety(of: post, isReadOnly: false, after: delivery) == expected, "\(error) \(got)")
    }
    #expect(RepeatSafety(of: Self.request("POST", key: true), isReadOnly: false) == .idempotencyKey)
    #expect(RepeatSafety(of: post, isReadOnly: false, retriesNonIdempotent: true) == .allowedByPolicy)
  }

  @Test func shouldRetryDoesNotAllowUnsafeRepetition() {
    let policy = RetryPolicy(shouldRetry: { _ in true })
    #expect(decide(Self.status(404), policy) != .stop(.notRetryable))
    #expect(decide(Self.status(404), policy, method: "POST") == .stop(.notSafeToRepeat(method: "POST")))
    #expect(decide(Self.url(.cancelled), policy) == .stop(.notRetryable))
    #expect(decide(.cancelled, policy) == .stop(.notRetryable))
    #expect(decide(Self.status(503), RetryPolicy(shouldRetry: { _ in false })) == .stop(.notRetryable))
    #expect(decide(Self.status(500), policy, attempts: 3, persistent: 3) == .stop(.persistentFailure))
  }

  @Test func doesNotRepeatABodyStream() {
    #expect(decide(Self.status(503), method: "PUT", stream: true) == .stop(.bodyNotReplayable))
  }

  // MARK: Limits

  @Test func maxRetriesLimitsRetries() {
    for (maxRetries, sends) in [(3, 4), (1, 2), (0, 1), (-1, 1), (Int.min, 1)] {
      let policy = RetryPolicy(maxRetries: maxRetries, maxRetryTime: .noLimit)
      let allowed = (1...10).prefix { decide(Self.status(503), policy, attempts: $0) != .stop(.maxRetries) }
      #expect(allowed.count == sends - 1)
    }
  }

  @Test func retriesPersistentErrorsAtMostTwice() {
    let persistent = [
      Self.status(500), Self.url(.secureConnectionFailed), Self.url(.cannotDecodeRawData),
      Self.url(.cannotDecodeContentData), Self.url(.cannotParseResponse),
    ]
    for error in persistent {
      #expect(decide(error, attempts: 2, persistent: 2) == .retry(after: .seconds(0.5), .backoff), "\(error)")
      #expect(decide(error, attempts: 3, persistent: 3) == .stop(.persistentFailure), "\(error)")
    }
    for error in [Self.status(503), Self.status(502), Self.url(.timedOut), Self.url(.badServerResponse)] {
      #expect(decide(error, attempts: 4, persistent: 2) == .retry(after: .seconds(2), .backoff), "\(error)")
    }
  }

  /// The first wait is short after a failure of the network, but not after one that a middleware made of a response, such
  /// as a rate limit in a body. A backoff that is set applies to all of them.
  @Test func firstWaitIsShortWithoutAResponse() {
    struct RateLimit: RetryableError { var shouldRetry: Bool { true } }
    let limited = NetworkError.generalError(RateLimit())
    let mapped = NetworkError.middlewareError(URLError(.timedOut), Self.status(503))
    let rows: [(NetworkError, first: Double)] = [
      (Self.url(.networkConnectionLost), 0.05), (Self.url(.cannotConnectToHost), 0.05), (Self.url(.timedOut), 0.05),
      (Self.url(.cannotFindHost), 0.05), (Self.url(.notConnectedToInternet), 0.05), (Self.status(503), 0.5),
      (Self.status(429), 0.5), (Self.status(500), 0.5), (limited, 0.5), (mapped, 0.5),
    ]
    for (error, first) in rows {
      #expect(decide(error, random: 1) == .retry(after: .seconds(first), .backoff), "\(error)")
      #expect(decide(error, attempts: 2, random: 1) == .retry(after: .seconds(1), .backoff), "\(error)")
      let own = RetryPolicy(backoff: .constant(.seconds(3)))
      #expect(decide(error, own) == .retry(after: .seconds(3), .backoff), "\(error)")
    }
  }

  @Test func addsBackoffToRetryAfter() {
    let asked = Self.status(503, ["Retry-After": "10"])
    func retry(_ after: Double) -> RetryDecision { .retry(after: .seconds(after), .server(field: "Retry-After")) }
    #expect(decide(asked, random: 0) == retry(10))
    #expect(decide(asked, random: 0.5) == retry(10.25))
    #expect(decide(asked, attempts: 4, random: 0.5) == retry(12))
    #expect(decide(Self.status(503, ["Retry-After": "0"]), random: 0.5) == .retry(after: .seconds(0.25), .backoff))
  }

  @Test func doesNotWaitWhenNoAttemptCanFollow() {
    let asked = Self.status(503, ["Retry-After": "10"])
    #expect(decide(asked, RetryPolicy(deadline: .seconds(10))) == .stop(.retryAfterTooLong(.seconds(10))))
    #expect(
      decide(asked, RetryPolicy(deadline: .seconds(15)), elapsed: .seconds(6))
        == .stop(.retryAfterTooLong(.seconds(10))))
    #expect(decide(asked, RetryPolicy(maxRetryTime: .seconds(9))) == .stop(.maxRetryTime))
    // It fits, and the jitter on top of it takes no more than half of what is left.
    for limited in [RetryPolicy(deadline: .seconds(10.25)), RetryPolicy(maxRetryTime: .seconds(10.25))] {
      #expect(
        decide(asked, limited, random: 1)
          == .retry(after: .seconds(10.125), .server(field: "Retry-After")))
    }
    #expect(decide(asked, RetryPolicy(maxRetryAfter: .seconds(9))) == .stop(.retryAfterTooLong(.seconds(10))))
    let slow = RetryPolicy(backoff: .constant(.seconds(5)), maxRetryTime: .seconds(20), deadline: .seconds(15))
    #expect(decide(Self.status(503), slow, elapsed: .seconds(9)) == .retry(after: .seconds(5), .backoff))
    #expect(decide(Self.status(503), slow, elapsed: .seconds(10)) == .stop(.deadline))
    #expect(decide(Self.status(503), slow, elapsed: .seconds(16)) == .stop(.maxRetryTime))
  }

  /// The limits of a long download count from its last progress.
  @Test func addsTheBackoffToARetryAfterLateInADownload() {
    let asked = Self.status(503, ["Retry-After": "10"])
    let state = RetryCallState(attempts: 1, elapsed: .seconds(600), progressedAt: .seconds(590))
    #expect(
      RetryRule(.default).decision(
        asked, Self.request("GET"), state, verdict: nil, now: Date(timeIntervalSince1970: 0), random: 0.5)
        == .retry(after: .seconds(10.25), .server(field: "Retry-After")))
  }

  @Test func makesTheFirstRetryAfterTheAppWasSuspended() {
    let lost = Self.url(.networkConnectionLost)
    #expect(decide(lost, attempts: 1, elapsed: .seconds(600)) == .retry(after: .seconds(0.025), .backoff))
    #expect(decide(lost, attempts: 2, elapsed: .seconds(600)) == .stop(.maxRetryTime))
    #expect(decide(Self.url(.timedOut), attempts: 1, elapsed: .seconds(600)) == .stop(.maxRetryTime))
    #expect(decide(lost, RetryPolicy(maxRetryTime: .zero), elapsed: .seconds(1)) == .stop(.maxRetryTime))
    #expect(decide(lost, RetryPolicy(deadline: .seconds(60)), elapsed: .seconds(600)) == .stop(.deadline))
  }

  @Test func usesTheBackoffForARetryAfterOfZero() {
    let busy = Self.status(503, ["Retry-After": "0"])
    let policy = RetryPolicy(deadline: .seconds(10))
    // Half a second is left, and the backoff is shorter, or longer: it is not cut to fit, again and again.
    #expect(
      decide(busy, policy, attempts: 1, elapsed: .seconds(9.5))
        == .retry(after: .seconds(0.25), .backoff))
    #expect(decide(busy, policy, attempts: 3, elapsed: .seconds(9.5)) == .stop(.deadline))
    // A wait of a second leaves half a second for the backoff of one.
    let later = Self.status(503, ["Retry-After": "1"])
    #expect(
      decide(later, policy, attempts: 3, elapsed: .seconds(8))
        == .retry(after: .seconds(1.5), .server(field: "Retry-After")))
  }

  /// The error must not advise to send the request again, even if the app's closure refuses the retry.
  @Test func reportsAPOSTThatMayHaveBeenApplied() {
    let never = RetryPolicy(shouldRetry: { _ in false })
    let lost = Self.url(.networkConnectionLost)
    #expect(decide(lost, never, method: "POST") == .stop(.notSafeToRepeat(method: "POST")))
    #expect(decide(lost, never) == .stop(.notRetryable))
    #expect(decide(Self.status(404), never, method: "POST") == .stop(.notRetryable))
  }

  /// `retries` includes the one that would be sent now.
  @Test func skippedRetryWaitsBetweenHalfAndAllOfItsStep() {
    func wait(
      _ policy: RetryPolicy, _ retries: Int, elapsed: Double = 1, random: Double = 0.5
    ) -> Duration? {
      let call = RetryCallState(attempts: 1, elapsed: .seconds(elapsed), retries: retries)
      return RetryRule(policy).waitInPlaceOfRetry(call, random: random)
    }
    let policy = RetryPolicy(maxRetries: 3)
    #expect(wait(policy, 1, random: 0) == .seconds(0.5) && wait(policy, 1, random: 1) == .seconds(1))
    #expect(wait(policy, 2, random: 0) == .seconds(1) && wait(policy, 2, random: 0.5) == .seconds(1.5))
    #expect(wait(policy, 3) == nil, "the last one is sent")
    #expect(wait(RetryPolicy(maxRetries: -1), 1) == nil)
    // There would be no time for another retry.
    #expect(wait(.default, 1, elapsed: 119.2) == .seconds(0.75) && wait(.default, 1, elapsed: 119.25) == nil)
    #expect(wait(RetryPolicy(deadline: .seconds(2)), 1, elapsed: 1.25) == nil)
    // Without a backoff, there is no wait to take in place of the retry.
    #expect(wait(RetryPolicy(backoff: .immediate), 1) == nil)
    let late = RetryCallState(attempts: 2, retries: 3)
    let decision = RetryRule(policy).decision(
      Self.status(503), Self.request("GET"), late, verdict: nil, now: Date(timeIntervalSince1970: 0), random: 0.5)
    #expect(decision == .stop(.maxRetries), "a skipped retry counts")
  }

  @Test func limitsUnreachableTimeWithALastAttemptAtItsEnd() {
    let refused = Self.url(.cannotConnectToHost)
    let policy = RetryPolicy(backoff: .constant(.seconds(4)))
    #expect(decide(refused, policy, unreachable: .seconds(1)) == .retry(after: .seconds(4), .backoff))
    #expect(decide(refused, policy, unreachable: .seconds(9)) == .retry(after: .seconds(1), .backoff))
    #expect(decide(refused, policy, unreachable: .seconds(10)) == .stop(.maxUnreachableTime))
    #expect(decide(refused, .patient, elapsed: .seconds(60), unreachable: .seconds(60)) != .stop(.maxUnreachableTime))
    #expect(
      decide(Self.url(.timedOut), policy, elapsed: .seconds(60), unreachable: .zero)
        == .retry(after: .seconds(4), .backoff))
  }

  @Test func presetsHaveTheirDocumentedLimits() {
    #expect(RetryRule(.default).maxRetries == 10)
    #expect(decide(Self.status(503), .never) == .stop(.maxRetries))
    #expect(decide(Self.status(503), .immediate) == .retry(after: .zero, .backoff))
    #expect(decide(Self.status(503, ["Retry-After": "1"]), .immediate) == .stop(.retryAfterTooLong(.seconds(1))))
    #expect(RetryPolicy.patient.maxUnreachableTime == .noLimit)
    #expect(RetryRule(.default).budget === RetryBudget.shared)
  }
}
