import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Parses the header fields in which a server asks clients to wait. The result is bounded, whatever bytes a server
/// sends.
nonisolated enum RetryAfter {
  /// The longest wait that is reported, in seconds: some 31 years. More could overflow a later calculation.
  static let longest = 1_000_000_000

  /// The fields that say when a rate limit is reset, in order of precedence. Many services send them with every
  /// response, so they are used only if a rate limit refused the request.
  private static let resets = ["RateLimit", "RateLimit-Reset", "X-RateLimit-Reset", "X-Rate-Limit-Reset"]

  /// The wait the server asks for, and the field that says so; nil if there is none that can be parsed.
  ///
  /// If the first field that is present is invalid, no other field is used: a guess at what the server meant could be
  /// an hour off.
  static func wait(asked response: HTTPURLResponse, now: Date) -> (wait: Duration, field: String)? {
    let fields = ["Retry-After"] + (response.statusCode == 429 ? resets : [])
    for field in fields {
      guard let value = response.networkValue(of: field) else { continue }
      let wait: Duration? =
        switch field {
        case "Retry-After": retryAfter(value, response, now)
        case "RateLimit": rateLimit(value)
        default: thousandths(value).map { reset($0, response, now) }
        }
      return wait.map { (min($0, .seconds(longest)), field) }
    }
    return nil
  }

  /// Whether the server asks for a wait. That does not depend on the time.
  static func isWaitAsked(by response: HTTPURLResponse) -> Bool {
    wait(asked: response, now: Date(timeIntervalSince1970: 0)) != nil
  }

  /// The wait that Retry-After asks for: a number of seconds, or the date at which it ends (RFC 9110 §10.2.3).
  private static func retryAfter(_ value: String, _ response: HTTPURLResponse, _ now: Date) -> Duration? {
    if let seconds = thousandths(value) { return .milliseconds(seconds) }
    guard let end = httpDate(value, now: now) else { return nil }
    return timeLeft(until: .seconds(end), response, now)
  }

  /// The wait until a reset that is written as a number. Which unit it has follows from its size.
  private static func reset(_ thousandths: Int, _ response: HTTPURLResponse, _ now: Date) -> Duration {
    let number = thousandths / 1000
    // A number of seconds.
    if number < 1_000_000_000 { return .milliseconds(thousandths) }
    // The milliseconds since 1970 have reached 10¹² in 2001.
    if number >= 1_000_000_000_000 {
      let isRoundedUp = thousandths % 1000 > 0
      return timeLeft(until: .milliseconds(isRoundedUp ? number + 1 : number), response, now)
    }
    // The seconds since 1970 have reached 10⁹ in 2001.
    return timeLeft(until: .milliseconds(thousandths), response, now)
  }

  /// The time from the server's time to `end`, which is measured from 1970; not negative. A device whose clock is an
  /// hour off would otherwise wait an hour in place of 2 s.
  private static func timeLeft(until end: Duration, _ response: HTTPURLResponse, _ now: Date) -> Duration {
    max(.zero, end - .seconds(serverTime(response, now)))
  }

  /// The time at which the response was received, in whole seconds since 1970, on the clock of the server if it sends
  /// a Date.
  private static func serverTime(_ response: HTTPURLResponse, _ now: Date) -> Int {
    guard let field = response.networkValue(of: "Date"), let date = httpDate(field, now: now) else {
      // The device's clock is read in whole seconds, as a Date is, so that no wait is too short.
      let seconds = now.timeIntervalSince1970.rounded(.down)
      return Int(min(max(-1e12, seconds), 1e12))
    }
    // A cached response is older than its Date by its Age (RFC 9111 §5.1).
    let age = response.networkValue(of: "Age").flatMap(digits) ?? 0
    return date + age
  }

  // MARK: RateLimit

  /// One limit of the field RateLimit, as it is now.
  private struct Limit {
    /// How much of it is left, in thousandths; 0 if the field does not say.
    var remaining = 0
    /// The time until it is reset, in thousandths of a second.
    var reset: Int?

    /// Nil if a number cannot be parsed.
    init?(_ parameters: [String]) {
      for parameter in parameters {
        let pair = parameter.split(separator: "=", maxSplits: 1).map(String.init)
        let name = pair.first?.trimmingCharacters(in: whiteSpace) ?? ""
        let isRemaining = ["r", "remaining"].contains(name)
        let isReset = ["t", "reset"].contains(name)
        guard isRemaining || isReset else { continue }
        guard pair.count == 2, let number = thousandths(pair[1]) else { return nil }
        if isRemaining { remaining = number } else { reset = number }
      }
    }
  }

  /// The wait that the field RateLimit asks for (draft-ietf-httpapi-ratelimit-headers); nil if there is none that can
  /// be parsed.
  ///
  /// In `"minute";r=0;t=50, "day";r=10;t=3600`, only the first limit is used up, because `r` is what remains. If
  /// several are, the request can succeed only after the longest `t`.
  static func rateLimit(_ value: String) -> Duration? {
    guard let text = withoutStrings(value) else { return nil }
    var longestWait: Int?
    for parameters in limits(in: text) {
      guard let limit = Limit(parameters) else { return nil }
      if limit.remaining == 0, let reset = limit.reset { longestWait = max(longestWait ?? 0, reset) }
    }
    return longestWait.map { .milliseconds($0) }
  }

  /// The parameters of each limit.
  private static func limits(in text: String) -> [[String]] {
    // Until draft 7, the field was one limit, a dictionary: "limit=5, remaining=0, reset=50".
    guard text.contains(";") else { return [text.components(separatedBy: ",")] }
    // What precedes the first semicolon is the name of the limit.
    return text.components(separatedBy: ",").map { Array($0.components(separatedBy: ";").dropFirst()) }
  }

  /// A structured field without its strings, which may contain anything (RFC 9651 §3.3.3); nil if a string has no end.
  private static func withoutStrings(_ value: String) -> String? {
    var outside: [UInt8] = []
    var isInString = false
    var isEscaped = false
    for byte in value.utf8 {
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\"") {
        isInString.toggle()
      } else if isInString {
        isEscaped = byte == UInt8(ascii: "\\")
      } else {
        outside.append(byte)
      }
    }
    return isInString ? nil : String(decoding: outside, as: UTF8.self)
  }

  // MARK: Numbers

  /// A number with or without decimals, between optional white space, in thousandths, which are rounded up. So a number
  /// of seconds becomes one of milliseconds.
  ///
  /// RFC 9110 §10.2.3 allows no decimals in Retry-After, but large services send them ("2.0").
  static func thousandths(_ value: String) -> Int? {
    let parts = value.trimmingCharacters(in: whiteSpace).components(separatedBy: ".")
    guard parts.count <= 2, let whole = wholeNumber(parts[0]) else { return nil }
    guard parts.count == 2 else { return whole * 1000 }
    let decimals = parts[1]
    // 0.5 is 500 thousandths.
    guard NetworkDigits.isNumber(decimals), let thousandths = Int((decimals + "00").prefix(3)) else { return nil }
    let isRoundedUp = decimals.utf8.dropFirst(3).contains { $0 != UInt8(ascii: "0") }
    return whole * 1000 + thousandths + (isRoundedUp ? 1 : 0)
  }

  /// `1*DIGIT` between optional white space, ASCII digits only. Larger numbers become 10¹⁵.
  static func digits(_ value: some StringProtocol) -> Int? {
    wholeNumber(value.trimmingCharacters(in: whiteSpace))
  }

  private static func wholeNumber(_ text: String) -> Int? {
    NetworkDigits.isNumber(text) ? min(Int(text) ?? .max, 1_000_000_000_000_000) : nil
  }

  private static let whiteSpace = CharacterSet(charactersIn: " \t")

  // MARK: Dates

  /// An HTTP-date in one of its three forms (RFC 9110 §5.6.7) → seconds since 1970. `now` is for the two-digit year
  /// only.
  ///
  /// The day of the week may be wrong. Letters may have any case, as RFC 9111 §4.2 recommends for caches. Unlike in the
  /// RFC, a year before 1900 is not accepted, because calendars differ there.
  static func httpDate(_ value: String, now: Date) -> Int? {
    let text = usualCase(value).trimmingCharacters(in: whiteSpace)
    guard let space = text.firstIndex(of: " ") else { return nil }
    guard let format = format(after: String(text[..<space])) else { return nil }
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = format
    // "94" is the last year of that ending which is not more than 50 years ahead.
    formatter.twoDigitStartDate = Calendar(identifier: .gregorian).date(byAdding: .year, value: -50, to: now + 1)
    // "Nov  6" becomes "Nov 06".
    let date = text[text.index(after: space)...].replacingOccurrences(of: "  ", with: " 0")
    // DateFormatter does not support leap seconds, so they are added here.
    let dateWithoutLeap = date.replacingOccurrences(of: ":60 ", with: ":59 ")
    let isLeapSecond = date != dateWithoutLeap
    guard let parsed = formatter.date(from: dateWithoutLeap) else { return nil }
    // DateFormatter parses more than the grammar allows, so only a text that it would format the same way is accepted.
    let isUsual = formatter.string(from: parsed) == dateWithoutLeap
    let seconds = parsed.timeIntervalSince1970
    guard isUsual, years1900To9999 ~= seconds else { return nil }
    return Int(seconds) + (isLeapSecond ? 1 : 0)
  }
  private static let years1900To9999 = -2_208_988_799..<253_402_300_800.0

  /// The day and the month begin with a capital letter, and GMT consists of them. Not for text that is not ASCII: other
  /// letters could become ASCII letters.
  private static func usualCase(_ date: String) -> String {
    guard date.utf8.allSatisfy({ $0 < 128 }) else { return date }
    return date.capitalized.replacingOccurrences(of: "Gmt", with: "GMT")
  }

  /// The format of what follows the day: "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT" or
  /// "Sun Nov  6 08:49:37 1994".
  private static func format(after day: String) -> String? {
    for name in ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"] {
      let abbreviation = String(name.prefix(3))
      switch day {
      case abbreviation + ",": return "dd MMM yyyy HH:mm:ss 'GMT'"
      case name + ",": return "dd-MMM-yy HH:mm:ss 'GMT'"
      case abbreviation: return "MMM dd HH:mm:ss yyyy"
      default: continue
      }
    }
    return nil
  }
}
