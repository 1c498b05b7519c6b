import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Parses the header fields in which a server asks clients to wait. The result is bounded, whatever bytes a server
/// sends.
nonisolated enum RetryAfter {
  /// The longest wait that is reported: 10⁹ s, some 31 years. More could overflow a later calculation.
  static let longest = 1_000_000_000

  /// The wait the server asks for, and the field that says so; nil if there is none that can be parsed.
  ///
  /// If Retry-After is present and invalid, no other field is used: a guess at what the server meant could be an hour
  /// off.
  static func wait(asked response: HTTPURLResponse, now: Date) -> (wait: Duration, field: String)? {
    if let value = response.value(forHTTPHeaderField: "Retry-After") {
      let wait = digits(value).map { min($0, longest) } ?? httpDate(value, now: now).map { left($0, response, now) }
      return wait.map { (.seconds($0), "Retry-After") }
    }
    // Many services send these with every response, so they are used only if a rate limit refused the request.
    guard response.statusCode == 429 else { return nil }
    for field in ["RateLimit-Reset", "X-RateLimit-Reset"] {
      guard let reset = response.value(forHTTPHeaderField: field).flatMap(digits) else { continue }
      // From 10⁹ on it is a point in time (2001 and later), below that a number of seconds.
      return (.seconds(reset < longest ? reset : left(reset, response, now)), field)
    }
    return nil
  }

  /// The seconds from the server's time to `end`, 0 … `longest`. A device whose clock is an hour off would otherwise
  /// wait an hour in place of 2 s.
  private static func left(_ end: Int, _ response: HTTPURLResponse, _ now: Date) -> Int {
    let date = response.value(forHTTPHeaderField: "Date").flatMap { httpDate($0, now: now) }
    // A cached response is older than its Date by its Age (RFC 9111 §5.1).
    let age = response.value(forHTTPHeaderField: "Age").flatMap(digits) ?? 0
    let left = Double(end) - (date.map { Double($0 + age) } ?? now.timeIntervalSince1970)
    return Int(min(max(left.rounded(.up), 0), Double(longest)))
  }

  /// `1*DIGIT` between optional white space, ASCII digits only. Larger numbers become 10¹⁵.
  static func digits(_ value: some StringProtocol) -> Int? {
    let text = value.trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
    guard !text.isEmpty, text.utf8.allSatisfy({ 48...57 ~= $0 }) else { return nil }
    return min(Int(text) ?? .max, 1_000_000_000_000_000)
  }

  /// An HTTP-date in one of its three forms (RFC 9110 §5.6.7) → seconds since 1970. `now` is for the two-digit year
  /// only.
  ///
  /// The day of the week may be wrong. Unlike in the RFC, a year before 1900 is not accepted, because calendars differ
  /// there.
  static func httpDate(_ value: String, now: Date) -> Int? {
    let words = value.trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
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

  /// The format of what follows the day: "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT" or
  /// "Sun Nov  6 08:49:37 1994".
  private static let formats = days.reduce(into: [Substring: String]()) { formats, day in
    formats[day.prefix(3) + ","] = "dd MMM yyyy HH:mm:ss 'GMT'"
    formats[day + ","] = "dd-MMM-yy HH:mm:ss 'GMT'"
    formats[day.prefix(3)] = "MMM dd HH:mm:ss yyyy"
  }
  private static let days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
}
