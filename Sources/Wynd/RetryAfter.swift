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
  /// DateFormatter takes more than the grammar allows, so only a text that it would write itself is accepted. It knows no leap
  /// second, so that is added here; and it finds another date where the day of the week is wrong, so that is left out. Unlike
  /// the RFC, a year before 1900 is not accepted: the calendars differ, and no server means it.
  static func httpDate(_ value: String, now: Date) -> Int? {
    let words = value.trimmingCharacters(in: CharacterSet(charactersIn: " \t")).split(separator: " ", maxSplits: 1)
    guard words.count == 2 else { return nil }
    let (day, rest) = (words[0], String(words[1]))
    guard day.hasSuffix(",") else {
      // Sun Nov  6 08:49:37 1994
      if !days.contains(where: { $0.prefix(3) == day }) { return nil }
      return seconds1970(rest.replacingOccurrences(of: "  ", with: " 0"), "MMM dd HH:mm:ss yyyy")
    }
    // Sun, 06 Nov 1994 08:49:37 GMT
    let form = "dd MMM yyyy HH:mm:ss 'GMT'"
    if days.contains(where: { $0.prefix(3) == day.dropLast() }) { return seconds1970(rest, form) }
    // Sunday, 06-Nov-94 08:49:37 GMT
    let fields = rest.split(separator: "-", omittingEmptySubsequences: false)
    let calendar = Calendar(identifier: .gregorian)
    guard days.contains(where: { $0 == day.dropLast() }), fields.count == 3, let ending = Int(fields[2].prefix(2)),
      let limit = calendar.date(byAdding: .year, value: 50, to: now)?.timeIntervalSince1970
    else { return nil }
    // «94» is the year of that ending which is not more than 50 years ahead.
    var year = calendar.component(.year, from: now) / 100 * 100 + 100 + ending
    while let seconds = seconds1970("\(fields[0]) \(fields[1]) \(year)\(fields[2].dropFirst(2))", form) {
      if Double(seconds) <= limit { return seconds }
      year -= 100
    }
    return nil
  }

  private static func seconds1970(_ text: String, _ form: String) -> Int? {
    // Making a formatter takes a millisecond, so each thread keeps one.
    let key = "Wynd.HTTPDate"
    let formatter = Thread.current.threadDictionary[key] as? DateFormatter ?? DateFormatter()
    if Thread.current.threadDictionary[key] == nil {
      formatter.locale = Locale(identifier: "en_US_POSIX")
      formatter.timeZone = TimeZone(secondsFromGMT: 0)
      Thread.current.threadDictionary[key] = formatter
    }
    formatter.dateFormat = form
    let usual = text.replacingOccurrences(of: ":60 ", with: ":59 ")
    guard text.utf8.count == (form.hasSuffix("'") ? 24 : 20), let date = formatter.date(from: usual),
      formatter.string(from: date) == usual, date.timeIntervalSince1970 > -2_208_988_800
    else { return nil }
    return Int(date.timeIntervalSince1970) + (usual == text ? 0 : 1)
  }

  private static let days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
}
