import Foundation

/// Dates in header fields (RFC 9110 §5.6.7).
nonisolated enum NetworkHTTPDate {
  /// The seconds since 1970 of a date in one of the three forms. `now` is for the two-digit year only.
  ///
  /// The day of the week may be wrong. Letters may have any case, as RFC 9111 §4.2 recommends for caches. Unlike in the
  /// RFC, a year before 1900 is not accepted, because calendars differ there.
  static func seconds(_ value: String, now: Foundation.Date) -> Int64? {
    // A date is ASCII. On Linux, DateFormatter traps if what it reads ends inside a character, such as a digit with an
    // accent. In other alphabets, `capitalized` could make ASCII letters.
    guard value.utf8.allSatisfy({ $0 < 128 }) else { return nil }
    let text = value.capitalized.replacingOccurrences(of: "Gmt", with: "GMT")
      .trimmingCharacters(in: NetworkDigits.whiteSpace)
    guard let space = text.firstIndex(of: " ") else { return nil }
    guard let format = format(after: String(text[..<space])) else { return nil }
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = format
    // "94" is the last year with that ending that is at most 50 years ahead.
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
    return Int64(seconds) + (isLeapSecond ? 1 : 0)
  }
  private static let years1900To9999 = -2_208_988_799..<253_402_300_800.0

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

/// Numbers in text from outside: ASCII digits only, without a sign or white space (RFC 5234, `1*DIGIT`).
///
/// Nothing else turns text into numbers. A number is at most 10¹⁵, so that no sum of some of them, and no product with
/// 1000, overflows. It has 64 bits on a watch, too.
nonisolated enum NetworkDigits {
  static let largest: Int64 = 1_000_000_000_000_000

  static func isNumber(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
  }

  /// The number; nil if the text is not a number, or the number is larger than 10¹⁵.
  static func number(_ text: some StringProtocol) -> Int64? {
    guard isNumber(text), let number = Int64(String(text)), number <= largest else { return nil }
    return number
  }

  /// The number between optional white space. Larger numbers become 10¹⁵.
  static func clamped(_ value: some StringProtocol) -> Int64? {
    let text = value.trimmingCharacters(in: whiteSpace)
    return isNumber(text) ? min(Int64(text) ?? largest, largest) : nil
  }

  /// A number with or without decimals, between optional white space, in thousandths, which are rounded up. So a number
  /// of seconds becomes one of milliseconds.
  ///
  /// RFC 9110 §10.2.3 allows no decimals in Retry-After, but large services send them ("2.0").
  static func thousandths(_ value: String) -> Int64? {
    let text = value.trimmingCharacters(in: whiteSpace)
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.allSatisfy(isNumber), let number = Double(text) else { return nil }
    // 2.003 is not exactly a `Double`.
    let millionths = (min(number, Double(largest)) * 1_000_000).rounded()
    return Int64((millionths / 1000).rounded(.up))
  }

  static let whiteSpace = CharacterSet(charactersIn: " \t")
}
