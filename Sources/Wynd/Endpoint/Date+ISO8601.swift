import Foundation

nonisolated extension JSONEncoder.DateEncodingStrategy {
  /// ISO 8601, with milliseconds if the date has any, so that a date that was read with them is written as it was.
  static let networkDefault = Self.custom { date, encoder in
    var container = encoder.singleValueContainer()
    try container.encode(date.networkText)
  }
}

nonisolated extension Foundation.Date {
  /// The date as text of ISO 8601: `2026-11-21T16:00:27Z` or `2026-11-21T16:00:27.789Z`.
  fileprivate var networkText: String {
    // Cut off, not rounded: 0.9999 s belong to this second. A `Double` may lie just below the millisecond that was read.
    let error = min(timeIntervalSince1970.ulp + timeIntervalSinceReferenceDate.ulp, 0.000_1)
    let milliseconds = ((timeIntervalSince1970 + error) * 1000).rounded(.down)
    let second = (milliseconds / 1000).rounded(.down)
    let text = Foundation.Date(timeIntervalSince1970: second).formatted(.iso8601)
    guard let fraction = Int(exactly: milliseconds - second * 1000), 1..<1000 ~= fraction else { return text }
    return text.dropLast() + "." + String(fraction + 1000).dropFirst() + "Z"
  }
}
