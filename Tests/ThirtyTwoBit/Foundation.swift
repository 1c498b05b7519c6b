// What the copied files use of Foundation, just enough to run them.

typealias TimeInterval = Double
protocol Codable {}

struct CharacterSet {
  let scalars: String.UnicodeScalarView
  init(charactersIn text: String) { scalars = text.unicodeScalars }
  static let whitespaces = CharacterSet(charactersIn: " \t\u{A0}")
}

extension StringProtocol {
  func trimmingCharacters(in set: CharacterSet) -> String {
    var scalars = Array(String(self).unicodeScalars)
    while let first = scalars.first, set.scalars.contains(first) { scalars.removeFirst() }
    while let last = scalars.last, set.scalars.contains(last) { scalars.removeLast() }
    var view = String.UnicodeScalarView()
    for scalar in scalars { view.append(scalar) }
    return String(view)
  }
  func contains(_ text: String) -> Bool {
    let (all, part) = (Array(utf8), Array(text.utf8))
    return all.indices.contains { all[$0...].starts(with: part) }
  }
  func replacingOccurrences(of old: String, with new: String) -> String { String(self) }
  var capitalized: String { String(self) }
}

extension String {
  init(format: String, _ value: Double) { self = "\(Int64(value))" }
}

struct Date: Comparable {
  var timeIntervalSince1970: TimeInterval
  func timeIntervalSince(_ date: Date) -> TimeInterval { timeIntervalSince1970 - date.timeIntervalSince1970 }
  static func < (a: Date, b: Date) -> Bool { a.timeIntervalSince1970 < b.timeIntervalSince1970 }
  static func + (date: Date, seconds: Double) -> Date {
    Date(timeIntervalSince1970: date.timeIntervalSince1970 + seconds)
  }
  init(timeIntervalSince1970: Double) { self.timeIntervalSince1970 = timeIntervalSince1970 }
  init() { self.init(timeIntervalSince1970: 1_800_000_000) }
}
struct Locale { init(identifier: String) {} }
struct TimeZone { init?(secondsFromGMT: Int) {} }
struct Calendar {
  enum Identifier { case gregorian }
  enum Component { case year }
  init(identifier: Identifier) {}
  func date(byAdding component: Component, value: Int, to date: Date) -> Date? { date }
}

/// Knows the dates of the tables only.
final class DateFormatter {
  var locale: Locale?
  var timeZone: TimeZone?
  var dateFormat = ""
  var twoDigitStartDate: Date?
  func date(from text: String) -> Date? {
    for (date, seconds) in knownDates where date == text { return Date(timeIntervalSince1970: seconds) }
    return nil
  }
  func string(from date: Date) -> String {
    for (text, seconds) in knownDates where seconds == date.timeIntervalSince1970 { return text }
    return ""
  }
}

final class HTTPURLResponse {
  let statusCode: Int
  let fields: [(String, String)]
  init(_ statusCode: Int, _ fields: [(String, String)]) {
    self.statusCode = statusCode
    self.fields = fields
  }
  func value(forHTTPHeaderField name: String) -> String? { fields.first { $0.0 == name }?.1 }
}

enum NetworkRequestValidation {
  static func isToken(_ text: String) -> Bool { !text.isEmpty }
}
enum TransferError { case responseTooLarge(limit: Int) }
enum NetworkError: Error { case generalError(TransferError) }
enum NetworkLineSplitter { static let limit = 16_777_216 }
