import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Parses the header fields in which a server asks clients to wait. The result is bounded, whatever bytes a server
/// sends.
nonisolated enum RetryAfter {
  /// The longest wait that is reported: 10⁹ s, some 31 years. More could overflow a later calculation.
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
      guard let value = response.value(forHTTPHeaderField: field) else { continue }
      let wait: Int? =
        switch field {
        case "Retry-After": milliseconds(value) ?? httpDate(value, now: now).map { left($0 * 1000, response, now) }
        case "RateLimit": rateLimit(value)
        default: milliseconds(value).map { reset($0, response, now) }
        }
      return wait.map { (.milliseconds(min($0, longest * 1000)), field) }
    }
    return nil
  }

  /// The milliseconds until a reset that is written as a number: `value` is a thousandth of its unit.
  private static func reset(_ value: Int, _ response: HTTPURLResponse, _ now: Date) -> Int {
    let number = value / 1000
    // Below 10⁹, it is a number of seconds.
    if number < 1_000_000_000 { return value }
    // Otherwise it is a point in time: in seconds from 2001 on, or in milliseconds, which have reached 10¹² in 2001.
    let isInMilliseconds = number >= 1_000_000_000_000
    return left(isInMilliseconds ? number + (value % 1000 > 0 ? 1 : 0) : value, response, now)
  }

  /// The milliseconds from the server's time to `end`, which is in milliseconds since 1970; not negative. A device
  /// whose clock is an hour off would otherwise wait an hour in place of 2 s.
  private static func left(_ end: Int, _ response: HTTPURLResponse, _ now: Date) -> Int {
    let date = response.value(forHTTPHeaderField: "Date").flatMap { httpDate($0, now: now) }
    // A cached response is older than its Date by its Age (RFC 9111 §5.1).
    let age = response.value(forHTTPHeaderField: "Age").flatMap(digits) ?? 0
    // The device's clock is read in whole seconds, as a Date is, so that no wait is too short.
    let clock = Int(min(max(-1e12, now.timeIntervalSince1970.rounded(.down)), 1e12))
    let start = date.map { $0 + age } ?? clock
    return max(0, end - start * 1000)
  }

  /// The wait that the field RateLimit asks for, in milliseconds (draft-ietf-httpapi-ratelimit-headers); nil if there
  /// is none that can be parsed.
  ///
  /// In `"minute";r=0;t=50, "day";r=10;t=3600`, only the first limit is used up, because `r` is what remains. If
  /// several are, the request can succeed only after the longest `t`.
  static func rateLimit(_ value: String) -> Int? {
    guard let text = withoutStrings(value) else { return nil }
    // Until draft 7, the field was one limit, a dictionary: "limit=5, remaining=0, reset=50".
    let isList = text.contains(";")
    let limits = isList ? text.split(separator: ",").map { $0.drop { $0 != ";" } } : [text[...]]
    var longestWait: Int?
    for limit in limits {
      var remaining = 0
      var wait: Int?
      for parameter in limit.split(separator: isList ? ";" : ",") {
        let pair = parameter.split(separator: "=", maxSplits: 1)
        let name = pair.first?.trimmingCharacters(in: whiteSpace) ?? ""
        let isRemaining = ["r", "remaining"].contains(name)
        guard isRemaining || ["t", "reset"].contains(name) else { continue }
        guard pair.count == 2, let number = milliseconds(pair[1]) else { return nil }
        if isRemaining { remaining = number } else { wait = number }
      }
      if remaining == 0, let wait { longestWait = max(longestWait ?? 0, wait) }
    }
    return longestWait
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

  /// A number with or without decimals, between optional white space, in thousandths, which are rounded up.
  ///
  /// RFC 9110 §10.2.3 allows no decimals in Retry-After, but large services send them ("2.0").
  static func milliseconds(_ value: some StringProtocol) -> Int? {
    let parts = value.trimmingCharacters(in: whiteSpace)
      .split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.allSatisfy(NetworkDigits.isNumber), let number = digits(parts[0]) else { return nil }
    let decimals = parts.count == 2 ? parts[1] : "0"
    guard let thousandths = Int(decimals.prefix(3)) else { return nil }
    // 0.5 is 500 thousandths.
    let scale = [1: 100, 2: 10][decimals.count] ?? 1
    let isRoundedUp = decimals.utf8.dropFirst(3).contains { $0 != UInt8(ascii: "0") }
    return number * 1000 + thousandths * scale + (isRoundedUp ? 1 : 0)
  }

  /// `1*DIGIT` between optional white space, ASCII digits only. Larger numbers become 10¹⁵.
  static func digits(_ value: some StringProtocol) -> Int? {
    let text = value.trimmingCharacters(in: whiteSpace)
    guard NetworkDigits.isNumber(text) else { return nil }
    return min(Int(text) ?? .max, 1_000_000_000_000_000)
  }

  private static let whiteSpace = CharacterSet(charactersIn: " \t")

  /// An HTTP-date in one of its three forms (RFC 9110 §5.6.7) → seconds since 1970. `now` is for the two-digit year
  /// only.
  ///
  /// The day of the week may be wrong. Letters may have any case, as RFC 9111 §4.2 recommends for caches. Unlike in the
  /// RFC, a year before 1900 is not accepted, because calendars differ there.
  static func httpDate(_ value: String, now: Date) -> Int? {
    let words = usualCase(value).trimmingCharacters(in: whiteSpace)
      .split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard words.count == 2, let format = formats[words[0]] else { return nil }
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = format
    // "94" is the last year of that ending which is not more than 50 years ahead.
    formatter.twoDigitStartDate = Calendar(identifier: .gregorian).date(byAdding: .year, value: -50, to: now + 1)
    // "Nov  6" becomes "Nov 06". DateFormatter does not support leap seconds, so they are added here. It parses more
    // than the grammar allows, so only a text that it would format the same way is accepted.
    let text = words[1].replacingOccurrences(of: "  ", with: " 0")
    let usual = text.replacingOccurrences(of: ":60 ", with: ":59 ")
    guard let date = formatter.date(from: usual), formatter.string(from: date) == usual,
      -2_208_988_799..<253_402_300_800 ~= date.timeIntervalSince1970
    else { return nil }
    return Int(date.timeIntervalSince1970) + (usual == text ? 0 : 1)
  }

  /// The day and the month begin with a capital letter, and GMT consists of them. Not for text that is not ASCII: other
  /// letters could become ASCII letters.
  private static func usualCase(_ date: String) -> String {
    guard date.utf8.allSatisfy({ $0 < 128 }) else { return date }
    return date.capitalized.replacingOccurrences(of: "Gmt", with: "GMT")
  }

  /// The format of what follows the day: "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT" or
  /// "Sun Nov  6 08:49:37 1994".
  private static let formats = days.reduce(into: [Substring: String]()) { formats, day in
    formats[day.prefix(3) + ","] = "dd MMM yyyy HH:mm:ss 'GMT'"
    formats[day + ","] = "dd-MMM-yy HH:mm:ss 'GMT'"
    formats[day.prefix(3)] = "MMM dd HH:mm:ss yyyy"
  }
  private static let days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
}
