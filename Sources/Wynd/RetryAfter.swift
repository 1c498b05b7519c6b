import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Header fields → how long the server asks us to stay away. Pure, bounded, and safe on whatever bytes a server sends.
nonisolated enum RetryAfter {
  /// The longest time any header can name: 10⁹ s, some 31 years. More would only overflow somebody's arithmetic.
  static let longest = 1_000_000_000

  /// The server's word, and the field it stands in; nil if it said nothing that can be understood.
  ///
  /// A Retry-After that is present but invalid means nil, and no other field is asked: the server meant to say
  /// something, and a guess at it could be an hour off.
  static func wait(asked response: HTTPURLResponse, now: Date) -> (Duration, field: String)? {
    // Asked only for a point in time.
    func reference() -> Date { serverTime(response, now: now) ?? now }
    if let value = response.value(forHTTPHeaderField: "Retry-After") {
      return seconds(value, after: reference(), now: now).map { (.seconds($0), "Retry-After") }
    }
    // Many services send these with every answer, so they count only where the limit is what refused the request.
    let refused = response.statusCode == 429
    if let value = response.value(forHTTPHeaderField: "RateLimit"), let reset = rateLimit(value, refused: refused) {
      return (.seconds(reset), "RateLimit")
    }
    for prefix in ["RateLimit", "X-RateLimit", "X-Rate-Limit"] {
      guard let value = response.value(forHTTPHeaderField: prefix + "-Reset"), let reset = digits(value),
        refused || response.value(forHTTPHeaderField: prefix + "-Remaining").flatMap(digits) == 0
      else { continue }
      // From 10⁹ on it is a point in time (2001 and later), below that a number of seconds.
      let left = reset < longest ? Double(reset) : Double(reset) - reference().timeIntervalSince1970
      return (.seconds(Int(min(max(left.rounded(.up), 0), Double(longest)))), prefix + "-Reset")
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

  /// `"name";r=0;t=50` (draft-ietf-httpapi-ratelimit-headers), or the older `limit=10, remaining=0, reset=50`.
  private static func rateLimit(_ value: String, refused: Bool) -> Int? {
    let whole = value.contains("reset=")
    var longestReset: Int?
    for item in whole ? [value[...]] : value.split(separator: ",") {
      var remaining: Int?
      var reset: Int?
      for parameter in item.split(whereSeparator: { $0 == ";" || $0 == "," }) {
        let pair = parameter.split(separator: "=", maxSplits: 1)
        guard pair.count == 2, let number = digits(pair[1]) else { continue }
        switch pair[0].drop(while: { $0 == " " }) {
        case "r", "remaining": remaining = number
        case "t", "reset": reset = min(number, longest)
        default: break
        }
      }
      if let reset, remaining == 0 || refused && remaining == nil { longestReset = max(reset, longestReset ?? 0) }
    }
    return longestReset
  }

  // MARK: HTTP-date (RFC 9110 §5.6.7)

  /// One of the three forms → seconds since 1970. `now` is for the two-digit year only.
  static func httpDate(_ value: String, now: Date) -> Int? {
    var text = value.drop { $0 == " " || $0 == "\t" }
    while text.last == " " || text.last == "\t" { text.removeLast() }
    let words = text.split(separator: " ", maxSplits: 8, omittingEmptySubsequences: false)
    // Day, month, year.
    let parts: [Substring]
    let clock: Substring
    let name: Substring
    var isLong = false
    switch (words.count, words.last) {
    // Wed, 21 Oct 2015 07:28:00 GMT
    case (6, "GMT"): (name, parts, clock) = (words[0], Array(words[1...3]), words[4])
    // Wednesday, 21-Oct-15 07:28:00 GMT
    case (4, "GMT"):
      (name, parts, clock) = (words[0], words[1].split(separator: "-", omittingEmptySubsequences: false), words[2])
      isLong = true
    // Wed Oct 21 07:28:00 2015, Wed Oct  7 07:28:00 2015
    case (5, let year?): (name, parts, clock) = (words[0] + ",", [words[2], words[1], year], words[3])
    case (6, let year?) where words[2].isEmpty && words[3].utf8.count == 1:
      (name, parts, clock) = (words[0] + ",", ["0" + words[3], words[1], year], words[4])
    default: return nil
    }
    let times = clock.split(separator: ":", omittingEmptySubsequences: false)
    guard days.contains(where: { (isLong ? $0 + "," : $0.prefix(3) + ",") == name }), parts.count == 3,
      times.count == 3,
      let day = number(parts[0], 2), let month = months.firstIndex(of: String(parts[1])).map({ $0 + 1 }),
      var year = number(parts[2], isLong ? 2 : 4), let hour = number(times[0], 2), let minute = number(times[1], 2),
      // The 60th second is a leap second.
      let second = number(times[2], 2), day >= 1, hour < 24, minute < 60, second <= 60
    else { return nil }
    let time = hour * 3600 + minute * 60 + second
    if isLong {
      // «94» is the year of that ending which is not more than 50 years ahead.
      let now = Int(min(max(now.timeIntervalSince1970, -6e10), 2e11))
      year += (1970 + now / 31_556_952 + 50) / 100 * 100 + 100
      while seconds1970(year - 50, month, day) + time > now { year -= 100 }
    }
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    return day <= days[month - 1] ? seconds1970(year, month, day) + time : nil
  }

  /// Midnight of a date in the proleptic Gregorian calendar, by whole 400-year eras that begin in March.
  private static func seconds1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let shifted = month > 2 ? year : year - 1
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return (era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468) * 86_400
  }

  /// Just so many ASCII digits.
  private static func number(_ text: Substring, _ count: Int) -> Int? {
    text.utf8.count == count && text.utf8.allSatisfy { 48...57 ~= $0 } ? Int(text) : nil
  }

  private static let days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}
