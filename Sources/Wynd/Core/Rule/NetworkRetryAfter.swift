import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Parses the header fields in which a server asks clients to wait. The result is bounded, whatever bytes a server
/// sends.
nonisolated enum NetworkRetryAfter {
  /// The longest wait that is reported, in seconds: some 31 years. More could overflow a later calculation.
  static let longest: Int64 = 1_000_000_000

  /// The fields that say when a rate limit is reset, in order of precedence. Many services send them with every
  /// response, so they are used only if a rate limit refused the request.
  private static let resets = ["RateLimit-Reset", "X-RateLimit-Reset", "X-Rate-Limit-Reset"]

  /// The wait the server asks for, and the field that says so; nil if there is none that can be parsed.
  ///
  /// If the first field that is present is invalid, no other field is used: a guess at what the server meant could be
  /// an hour off.
  static func wait(asked response: HTTPURLResponse, now: Foundation.Date) -> (wait: Swift.Duration, field: String)? {
    let fields = ["Retry-After"] + (isOverRateLimit(response) ? resets : [])
    for field in fields {
      guard let value = response.networkValue(of: field) else { continue }
      let wait = field == "Retry-After" ? retryAfter(value, response, now) : reset(value, response, now)
      return wait.map { (min($0, .seconds(longest)), field) }
    }
    return nil
  }

  private static func isOverRateLimit(_ response: HTTPURLResponse) -> Bool {
    switch response.statusCode {
    case 429: true
    // A 403 may have another reason.
    case 403: response.networkValue(of: "X-RateLimit-Remaining").flatMap(NetworkDigits.clamped) == 0
    default: false
    }
  }

  /// Whether the server asks for a wait. That does not depend on the time.
  static func isWaitAsked(by response: HTTPURLResponse) -> Bool {
    wait(asked: response, now: Foundation.Date(timeIntervalSince1970: 0)) != nil
  }

  /// The wait that Retry-After asks for: a number of seconds, or the date at which it ends (RFC 9110 §10.2.3).
  private static func retryAfter(
    _ value: String, _ response: HTTPURLResponse, _ now: Foundation.Date
  ) -> Swift.Duration? {
    if let milliseconds = NetworkDigits.thousandths(value) { return .milliseconds(milliseconds) }
    guard let end = NetworkHTTPDate.seconds(value, now: now) else { return nil }
    return timeLeft(until: .seconds(end), response, now)
  }

  /// The wait until a reset that is written as a number. Which unit it has follows from its size.
  private static func reset(_ value: String, _ response: HTTPURLResponse, _ now: Foundation.Date) -> Swift.Duration? {
    guard let thousandths = NetworkDigits.thousandths(value) else { return nil }
    let number = thousandths / 1000
    // A number of seconds.
    if number < 1_000_000_000 { return .milliseconds(thousandths) }
    // The milliseconds since 1970 reached 10¹² in 2001.
    if number >= 1_000_000_000_000 { return timeLeft(until: .milliseconds(number), response, now) }
    // The seconds since 1970 reached 10⁹ in 2001.
    return timeLeft(until: .milliseconds(thousandths), response, now)
  }

  /// The time from the server's time to `end`, which is measured from 1970. It is never negative. A device whose clock
  /// is an hour off would otherwise wait an hour in place of 2 s.
  private static func timeLeft(until end: Swift.Duration, _ response: HTTPURLResponse, _ now: Foundation.Date)
    -> Swift.Duration
  {
    max(.zero, end - .seconds(serverTime(response, now)))
  }

  /// The time at which the response was received, in whole seconds since 1970, on the clock of the server if it sends
  /// a Date.
  private static func serverTime(_ response: HTTPURLResponse, _ now: Foundation.Date) -> Int64 {
    guard let field = response.networkValue(of: "Date"), let date = NetworkHTTPDate.seconds(field, now: now) else {
      // The device's clock is read in whole seconds, as a Date is, so that no wait is too short.
      let seconds = now.timeIntervalSince1970.rounded(.down)
      return Int64(min(max(-1e12, seconds), 1e12))
    }
    // A cached response is older than its Date by its Age (RFC 9111 §5.1).
    let age = response.networkValue(of: "Age").flatMap(NetworkDigits.clamped) ?? 0
    return date + age
  }
}
