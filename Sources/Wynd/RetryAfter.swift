import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Header fields → how long the server asks clients to wait. Pure, bounded, and safe with whatever bytes a server sends.
nonisolated enum RetryAfter {
  /// The longest time any header can name: 10⁹ s, some 31 years. More could overflow a later calculation.
  static let longest = 1_000_000_000

  /// The wait the server asks for, and the field that says so; nil if there is none that can be parsed.
  ///
  /// If Retry-After is present and invalid, no other field is used: a guess at what the server meant could be an hour off.
  static func wait(asked response: HTTPURLResponse, now: Date) -> (Duration, field: String)? {
    // Needed only for a point in time.
    func reference() -> Date { serverTime(response, now: now) ?? now }
    if let value = response.value(forHTTPHeaderField: "Retry-After") {
      return seconds(value, after: reference(), now: now).map { (.seconds($0), "Retry-After") }
    }
    // Many services send these with every response, so they count only where the limit is what refused the request.
    guard response.statusCode == 429 else { return nil }
    for field in ["RateLimit-Reset", "X-RateLimit-Reset"] {
      guard let reset = response.value(forHTTPHeaderField: field).flatMap(digits) else { continue }
      // From 10⁹ on it is a point in time (2001 and later), below that a number of seconds.
      let left = reset < longest ? Double(reset) : Double(reset) - reference().timeIntervalSince1970
      return (.seconds(Int(min(max(left.rounded(.up), 0), Double(longest)))), field)
    }
    return nil
  }

  /// delay-seconds or an HTTP-date (RFC 9110 §10.2.3) → seconds from `reference`, 0 … `longest`.
  static func seconds(_ value: String, after reference: @autoclosure () -> Date, now: Date) -> Int? {
    if let seconds = digits(value) { return min(seconds, longest) }
    guard let date = httpDate(value, now: now) else { return nil }
    return Int(min(max((Double(date) - reference().timeIntervalSince1970).rounded(.up), 0), Double(longest)))
  }

  /// What the server's clock says: a local clock that is an hour off must not turn «in 2 s» into «in an hour».
  private static func serverTime(_ response: HTTPURLResponse, now: Date) -> Date? {
    guard let date = response.value(forHTTPHeaderField: "Date").flatMap({ httpDate($0, now: now) }) else { return nil }
    // An answer out of a cache is older than its Date by its Age (RFC 9111 §5.1).
    let age = response.value(forHTTPHeaderField: "Age").flatMap(digits).map { min($0, longest) } ?? 0
    return Date(timeIntervalSince1970: Double(date + age))
  }

  /// `1*DIGIT` between optional white space, ASCII digits only (`Character.isNumber` takes «²», `Double` takes «0x10»,
  /// «1e3» and «inf»). Longer numbers than an Int holds stay at 10¹⁵.
  static func digits(_ value: some StringProtocol) -> Int? {
    let isSpace: (UInt8) -> Bool = { $0 == 32 || $0 == 9 }
    let bytes = value.utf8.reversed().drop(while: isSpace).reversed().drop(while: isSpace)
    if bytes.isEmpty { return nil }
    var number = 0
    for byte in bytes {
      guard byte >= 48, byte <= 57 else { return nil }
      number = min(number * 10 + Int(byte - 48), 1_000_000_000_000_000)
    }
    return number
  }

  /// An HTTP-date in one of its three forms (RFC 9110 §5.6.7) → seconds since 1970. `now` is for the two-digit year only.
  ///
  /// DateFormatter takes more than the grammar allows (other digits, one digit for two, words behind the date), knows no leap
  /// second, and finds another date where the day of the week is wrong. So the grammar is checked here, a 60th second is
  /// added, and the day of the week is left out. Unlike the RFC, a year before 1900 is not accepted: the calendars differ,
  /// and no server means it.
  static func httpDate(_ value: String, now: Date) -> Int? {
    let text = value.trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
    if let match = text.wholeMatch(
      of: #/(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), ([0-9]{2} [A-Z][a-z]{2} [0-9]{4}) ([0-9]{2}:[0-9]{2}):([0-9]{2}) GMT/#)
    {
      return seconds1970("\(match.1)", "\(match.2)", "\(match.3)")
    }
    if let match = text.wholeMatch(
      of:
        #/(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([A-Z][a-z]{2}) ( [0-9]|[0-9]{2}) ([0-9]{2}:[0-9]{2}):([0-9]{2}) ([0-9]{4})/#)
    {
      return seconds1970("\(match.2) \(match.1) \(match.5)", "\(match.3)", "\(match.4)")
    }
    let form850 =
      #/(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, ([0-9]{2}-[A-Z][a-z]{2}-)([0-9]{2}) ([0-9]{2}:[0-9]{2}):([0-9]{2}) GMT/#
    let calendar = Calendar(identifier: .gregorian)
    guard let match = text.wholeMatch(of: form850), let ending = Int(match.2),
      let limit = calendar.date(byAdding: .year, value: 50, to: now)?.timeIntervalSince1970
    else { return nil }
    // «94» is the year of that ending which is not more than 50 years ahead.
    let day = match.1.replacing("-", with: " ")
    var year = calendar.component(.year, from: now) / 100 * 100 + 100 + ending
    while let seconds = seconds1970("\(day)\(year)", "\(match.3)", "\(match.4)") {
      if Double(seconds) <= limit { return seconds }
      year -= 100
    }
    return nil
  }

  private static func seconds1970(_ day: String, _ minute: String, _ second: String) -> Int? {
    // Making a formatter takes a millisecond, so each thread keeps one.
    let key = "Wynd.HTTPDate"
    let formatter = Thread.current.threadDictionary[key] as? DateFormatter ?? DateFormatter()
    if formatter.dateFormat != "dd MMM yyyy HH:mm:ss" {
      formatter.locale = Locale(identifier: "en_US_POSIX")
      formatter.timeZone = TimeZone(secondsFromGMT: 0)
      formatter.isLenient = false
      formatter.dateFormat = "dd MMM yyyy HH:mm:ss"
      Thread.current.threadDictionary[key] = formatter
    }
    let isLeapSecond = second == "60"
    guard let date = formatter.date(from: "\(day) \(minute):\(isLeapSecond ? "59" : second)"),
      date.timeIntervalSince1970 > -2_208_988_800
    else { return nil }
    return Int(date.timeIntervalSince1970) + (isLeapSecond ? 1 : 0)
  }
}
