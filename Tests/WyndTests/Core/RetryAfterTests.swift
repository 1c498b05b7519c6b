import Foundation
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Any value of Retry-After leads to a bounded wait or to backoff, never to a crash.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct RetryAfterTests {
  static func response(_ status: Int, _ fields: [String: String]) throws -> HTTPURLResponse {
    let url = try #require(URL(string: "http://127.0.0.1/"))
    return try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields))
  }

  static let request = URLRequest(url: URL(fileURLWithPath: "/"))
  /// 2015-10-21 07:28:00 UTC
  static let now = Date(timeIntervalSince1970: 1_445_412_480)

  /// A wait of zero is not the reason for the length of the delay.
  static func retry(after delay: Duration, asked: Duration) -> RetryDecision {
    asked > .zero
      ? .retry(after: delay, .server(field: "Retry-After")) : .retry(after: delay, .backoff)
  }

  // MARK: Retry-After in seconds

  static let seconds: [(String, Int64?)] = [
    ("0", 0), ("60", 60), ("61", 61),
    ("\t42 ", 42), ("3600", 3600),
    ("007", 7), ("1704067200", NetworkRetryAfter.longest),
    ("9223372036854775808", NetworkRetryAfter.longest), ("", nil),
    ("-1", nil), ("+1", nil), ("1.", nil),
    (".5", nil),
    ("\u{B2}", nil), ("٣", nil), ("0x10", nil), ("1e3", nil), ("nan", nil), ("badbadbad", nil), ("2, 3", nil),
    ("1 2", nil), ("1\u{0}", nil),
    (String(repeating: "9", count: 300_000), NetworkRetryAfter.longest),
  ]

  @Test(arguments: seconds) func readsRetryAfterInSeconds(_ value: String, _ expected: Int64?) throws {
    let asked = NetworkRetryAfter.wait(asked: try Self.response(503, ["Retry-After": value]), now: Self.now)
    #expect(asked?.wait == expected.map { .seconds($0) }, "\(value.prefix(40))")
    // No cap, and three caps: finite, never negative, accepted only up to the cap, never shortened.
    for cap in [.noLimit, Duration.zero, .seconds(1), .seconds(60)] {
      let policy = RetryPolicy(backoff: .constant(.seconds(7)), maxRetryAfter: cap, maxRetryTime: .noLimit)
      let error = NetworkError.endpointError(try Self.response(503, ["Retry-After": value]), nil)
      let decision = RetryRule(policy).decision(
        error, Self.request, RetryCallState(attempts: 1), verdict: nil, now: Self.now, random: 0)
      if let expected {
        let fits = .seconds(expected) <= cap
        #expect(
          decision
            == (fits
              ? Self.retry(after: .seconds(expected + 7), asked: .seconds(expected))
              : .stop(.retryAfterTooLong(.seconds(expected)))))
      } else {
        #expect(decision == .retry(after: .seconds(7), .backoff))
      }
    }
  }

  /// A value → milliseconds.
  static let decimals: [(String, Int64?)] = [
    ("2.0", 2_000), ("1.5", 1_500), ("0.5", 500), ("0.000000", 0), ("007.250", 7_250), ("0.25", 250), ("0.005", 5),
    // Rounded up, so that the server is not asked too early.
    ("0.0001", 1), ("0.0011", 2), ("1.9999", 2_000), ("4.35", 4_350),
    ("999999999.9999", 1_000_000_000_000),
    ("1." + String(repeating: "0", count: 300_000) + "1", 1_000),
    ("0." + String(repeating: "9", count: 300_000), 1_000),
    ("1.", nil), (".5", nil), ("1.2.3", nil), ("1,5", nil),
    ("+1.5", nil), ("-0.0", nil), ("1.5e3", nil), ("1.5s", nil), ("1.٣", nil), ("1.5, 2.5", nil),
    ("1.5\u{0}", nil),
  ]

  @Test(arguments: decimals) func decimalsAreRoundedUpToTheMillisecond(_ value: String, _ milliseconds: Int64?) throws {
    let expected = milliseconds.map { Duration.milliseconds($0) }
    for status in [429, 503] {
      let asked = NetworkRetryAfter.wait(asked: try Self.response(status, ["Retry-After": value]), now: Self.now)
      #expect(asked?.wait == expected, "\(status) \(value.prefix(40))")
    }
    // Below 10⁹ s, a reset is read in the same way.
    guard milliseconds ?? 0 < 1_000_000_000_000 else { return }
    for field in ["RateLimit-Reset", "X-RateLimit-Reset", "X-Rate-Limit-Reset"] {
      let asked = NetworkRetryAfter.wait(asked: try Self.response(429, [field: value]), now: Self.now)
      #expect(asked?.wait == expected, "\(field) \(value.prefix(40))")
    }
  }

  // MARK: HTTP-dates

  /// The server would refuse a retry that comes half a second too soon.
  @Test(arguments: [0.0, 0.4, 0.6]) func doesNotShortenTheWaitUntilADate(_ fraction: Double) throws {
    let response = try Self.response(503, ["Retry-After": "Wed, 21 Oct 2015 07:28:10 GMT"])
    #expect(NetworkRetryAfter.wait(asked: response, now: Self.now + fraction)?.wait == .seconds(10))
  }

  static let dates: [(String, Int64?)] = [
    // The three forms of one moment.
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777), ("sUN, 06 nOV 1994 08:49:37 Gmt", 784_111_777),
    ("SUNDAY, 06-nov-94 08:49:37 GMT", 784_111_777),
    ("Sun, 06 \u{17F}ep 1994 08:49:37 GMT", nil),
    // Edges of the calendar.
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
    ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
    ("Thu, 29 Feb 1900 12:00:00 GMT", nil),
    ("Sun, 29 Feb 2015 00:00:00 GMT", nil), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ("Sat, 01 Jan 0000 00:00:00 GMT", nil), ("Mon, 31 Apr 2015 00:00:00 GMT", nil),
    ("Thu, 00 Dec 2015 00:00:00 GMT", nil),
    // A leap second, and invalid times.
    ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("Sat, 31 Dec 2016 23:59:61 GMT", nil),
    ("Sat, 31 Dec 2016 24:00:00 GMT", nil),
    // Fifty years, from 2015-10-21 07:28:00: up to exactly that the year is ahead, a second more and it is behind.
    ("Wednesday, 21-Oct-65 07:28:00 GMT", 3_023_335_680), ("Wednesday, 21-Oct-65 07:28:01 GMT", -132_424_319),
    ("Saturday, 01-Jan-66 00:00:00 GMT", -126_230_400),
    // Junk near each form.
    ("Sun, 6 Nov 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 94 08:49:37 GMT", nil), ("Son, 06 Nov 1994 08:49:37 GMT", nil),
    ("Sun, 06 Nov 1994 08:49:37", nil),
    ("Sun, 06 Nov 1994 08:49:37 +0000", nil),
    ("Sun, 06 Nov 1994 08:49:37 GMT x", nil), ("Sunday, 06-Nov-1994 08:49:37 GMT", nil),
    ("Sun Nov 6 08:49:37 1994", nil),
    ("Sun Nov 06 08:49:37 1994", 784_111_777), ("Sun,", nil), ("1994-11-06T08:49:37Z", nil),
    ("Sun, 0\u{B2} Nov 1994 08:49:37 GMT", nil), ("", nil),
  ]

  @Test(arguments: dates) func readsHTTPDates(_ value: String, _ expected: Int64?) {
    #expect(NetworkHTTPDate.seconds(value, now: Self.now) == expected, "\(value)")
  }

  /// On Linux, DateFormatter traps if what it has read ends inside a character.
  @Test(arguments: ["Thu, 01 Jan 1970 00:00:00 GMT", "Thursday, 01-Jan-70 00:00:00 GMT", "Thu Jan  1 00:00:00 1970"])
  func acceptsNoMarkInADate(_ date: String) throws {
    for text in HostileText.marked(date) {
      let seconds = NetworkHTTPDate.seconds(text, now: Self.now)
      // A tab may stand before and after it.
      let isSpaced = text.first == "\t" || text.last == "\t"
      #expect(seconds == (isSpaced ? 0 : nil), "\(text.unicodeScalars.map(\.value))")
      let fields = ["Retry-After": text, "Date": text, "Age": text]
      _ = NetworkRetryAfter.wait(asked: try Self.response(503, fields), now: Self.now)
    }
  }

  @Test func findsTheCenturyOfATwoDigitYear() {
    // 1999-12-31 → 00…49 lie ahead in the next century, 50…99 behind or now.
    let now = Date(timeIntervalSince1970: 946_598_400)
    #expect(NetworkHTTPDate.seconds("Saturday, 01-Jan-00 00:00:00 GMT", now: now) == 946_684_800)
    #expect(NetworkHTTPDate.seconds("Friday, 31-Dec-49 00:00:00 GMT", now: now) == 2_524_521_600)
    #expect(NetworkHTTPDate.seconds("Sunday, 01-Jan-50 00:00:00 GMT", now: now) == -631_152_000)
  }

  @Test func ignoresRetryAfterOfASuccess() throws {
    // 200 with Retry-After, retried by an override: it is no refusal.
    let policy = RetryPolicy(backoff: .constant(.seconds(7)), shouldRetry: { _ in true })
    let error = NetworkError.noResponseData(try Self.response(200, ["Retry-After": "120"]))
    let decision = RetryRule(policy).decision(
      error, Self.request, RetryCallState(attempts: 1), verdict: true, now: Self.now, random: 0)
    #expect(decision == .retry(after: .seconds(7), .backoff))
  }

  @Test(arguments: [-1e300, -1e18, 0, 1e11, 1e18, 1e300, .infinity]) func extremeClocksDoNotCrashTwoDigitYears(
    _ now: Double
  ) {
    _ = NetworkHTTPDate.seconds("Sunday, 06-Nov-94 08:49:37 GMT", now: Date(timeIntervalSince1970: now))
  }

  static let relative: [([String: String], Int64?)] = [
    // Against the response's Date, not our clock: this server is a year behind.
    (["Retry-After": "Tue, 21 Oct 2014 07:28:30 GMT", "Date": "Tue, 21 Oct 2014 07:28:00 GMT"], 30),
    (["Retry-After": "Wed, 21 Oct 2015 07:28:30 GMT"], 30),
    (["Retry-After": "Wed, 21 Oct 2015 07:28:30 GMT", "Date": "nonsense"], 30),
    // In the past means now.
    (["Retry-After": "Wed, 21 Oct 2015 07:27:30 GMT"], 0), (["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"], 0),
    // Out of a cache.
    (["Retry-After": "Wed, 21 Oct 2015 07:28:30 GMT", "Date": "Wed, 21 Oct 2015 07:27:00 GMT", "Age": "60"], 30),
    (
      [
        "Retry-After": "Wed, 21 Oct 2015 07:28:30 GMT", "Date": "Wed, 21 Oct 2015 07:27:00 GMT",
        "Age": "999999999999999999999999999999",
      ], 0
    ),
    (["Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"], NetworkRetryAfter.longest),
    (["Retry-After": "120", "Date": "Fri, 31 Dec 9999 23:59:59 GMT"], 120),
    // Invalid, so no other header field is read.
    (["Retry-After": "soon", "RateLimit-Reset": "5", "RateLimit-Remaining": "0"], nil),
    (["Retry-After": "", "X-RateLimit-Reset": "5", "X-RateLimit-Remaining": "0"], nil),
  ]

  @Test(arguments: relative) func readsADateRelativeToTheDateHeader(_ fields: [String: String], _ expected: Int64?)
    throws
  {
    #expect(
      NetworkRetryAfter.wait(asked: try Self.response(503, fields), now: Self.now)?.0 == expected.map { .seconds($0) })
  }

  // MARK: Rate limits

  static let limits: [(Int, [String: String], Int64?)] = [
    (429, ["RateLimit-Reset": "50"], 50), (429, ["X-RateLimit-Reset": "50"], 50),
    // A 403 means that the rate limit rejected the request if nothing of the limit remains; no other status does.
    (403, ["X-RateLimit-Reset": "50", "X-RateLimit-Remaining": "0"], 50), (403, ["X-RateLimit-Reset": "50"], nil),
    (403, ["X-RateLimit-Reset": "50", "X-RateLimit-Remaining": "3"], nil), (403, ["Retry-After": "50"], 50),
    (503, ["RateLimit-Reset": "50", "RateLimit-Remaining": "0"], nil), (502, ["X-RateLimit-Reset": "1445416080"], nil),
    // A point in time.
    (429, ["X-RateLimit-Reset": "1445412510"], 30), (429, ["X-RateLimit-Reset": "1445412400"], 0),
    (429, ["X-RateLimit-Reset": "99999999999999999999"], NetworkRetryAfter.longest),
    (429, ["X-RateLimit-Reset": "1413876510", "Date": "Tue, 21 Oct 2014 07:28:00 GMT"], 30),
    (429, ["X-RateLimit-Reset": "-5"], nil),
    (429, [:], nil),
  ]

  @Test(arguments: limits) func readsRateLimitResetOnA429(_ status: Int, _ fields: [String: String], _ expected: Int64?)
    throws
  {
    let asked = NetworkRetryAfter.wait(asked: try Self.response(status, fields), now: Self.now)
    #expect(asked?.0 == expected.map { .seconds($0) }, "\(status) \(fields)")
  }

  /// A reset as a point in time → milliseconds from `now`.
  static let resets: [(String, Int)] = [
    ("1445412510.25", 30_250), ("1445412480.0001", 1),
    // From 10¹² on in milliseconds.
    ("1445412510000", 30_000), ("1445412480001", 1), ("1445412480000.5", 0),
    ("1445412479999", 0), ("999999999999", 1_000_000_000_000),
    // Neither seconds nor milliseconds: microseconds, nanoseconds.
    ("1445412510000000", 1_000_000_000_000), (String(repeating: "9", count: 300_000), 1_000_000_000_000),
  ]

  @Test(arguments: resets) func rateLimitResetTimestampIsInSecondsOrMilliseconds(_ value: String, _ expected: Int)
    throws
  {
    for field in ["RateLimit-Reset", "X-RateLimit-Reset", "X-Rate-Limit-Reset"] {
      let asked = NetworkRetryAfter.wait(asked: try Self.response(429, [field: value]), now: Self.now)
      #expect(asked?.wait == .milliseconds(expected), "\(value.prefix(40))")
      #expect(asked?.field == field)
      #expect(NetworkRetryAfter.wait(asked: try Self.response(503, [field: value]), now: Self.now) == nil)
    }
    // Retry-After is never a point in time.
    let number = try #require(Int64(value.prefix { $0 != "." }.prefix(18)))
    let asked = NetworkRetryAfter.wait(asked: try Self.response(429, ["Retry-After": value]), now: Self.now)
    #expect(asked?.wait == .seconds(min(number, NetworkRetryAfter.longest)))
  }

  @Test(arguments: [-1e300, -.infinity, .nan, 1e18, .infinity]) func extremeClocksDoNotCrashRateLimitReset(
    _ now: Double
  ) throws {
    for value in ["1740614400", "1740614400000", "9999999999999999"] {
      let response = try Self.response(429, ["X-RateLimit-Reset": value])
      let wait = NetworkRetryAfter.wait(asked: response, now: Date(timeIntervalSince1970: now))?.wait
      #expect(wait.map { Duration.zero ... .seconds(NetworkRetryAfter.longest) ~= $0 } == true)
    }
  }

  /// A guess at what an invalid field means could be an hour off, and so could the field of another layer.
  @Test func usesTheFirstWaitFieldEvenIfItIsInvalid() throws {
    let fields = ["Retry-After", "RateLimit-Reset", "X-RateLimit-Reset"]
    for (index, first) in fields.enumerated() {
      for isValid in [true, false] {
        var values = [first: isValid ? "3" : "soon"]
        for later in fields[(index + 1)...] { values[later] = "50" }
        let asked = NetworkRetryAfter.wait(asked: try Self.response(429, values), now: Self.now)
        #expect(asked?.wait == (isValid ? .seconds(3) : nil), "\(values)")
        #expect(asked?.field == (isValid ? first : nil))
      }
    }
  }

  /// ``NetworkError/shouldRetry`` has no clock.
  @Test func retryAfterIsValidAtAnyTime() throws {
    let values = [
      "0", "120", "soon", "", "-1", "Wed, 21 Oct 2015 07:28:00 GMT", "Wednesday, 21-Oct-15 07:28:00 GMT",
      "Wednesday, 21-Oct-99 07:28:00 GMT", "Wed Oct 21 07:28:00 2015", "Wed, 21 Oct 1899 07:28:00 GMT",
    ]
    for value in values {
      let response = try Self.response(413, ["Retry-After": value])
      for now in [0, 1_445_412_480, 4_102_444_800] as [TimeInterval] {
        let wait = NetworkRetryAfter.wait(asked: response, now: Date(timeIntervalSince1970: now))
        #expect(NetworkRetryAfter.isWaitAsked(by: response) == (wait != nil), "\(value) \(now)")
      }
      #expect(NetworkError.endpointError(response, nil).shouldRetry == NetworkRetryAfter.isWaitAsked(by: response))
    }
    #expect(NetworkRetryAfter.isWaitAsked(by: try Self.response(413, ["Retry-After": "120"])))
  }
}
