public import Foundation

nonisolated extension RequestBody {
  /// A value as JSON. The default encoder is the client's, or else a `JSONEncoder` that sorts the keys, so that equal
  /// values have equal bodies, and writes dates as ISO 8601 (`2026-11-21T16:00:00Z`, with milliseconds if there are
  /// any), as a query does.
  public static func json(_ value: some Encodable & Sendable, encoder: JSONEncoder? = nil) -> RequestBody {
    let encode: @Sendable (JSONEncoder?) throws -> Data = { encoderOfClient in
      try (encoder ?? encoderOfClient ?? defaultEncoder()).encode(value)
    }
    return RequestBody(content: .memory(encode), contentType: "application/json")
  }

  /// Values of different types as JSON: `.json(["name": name, "age": age])`. nil is `null`.
  public static func json(_ values: NetworkValues, encoder: JSONEncoder? = nil) -> RequestBody {
    json(NetworkObject(values), encoder: encoder)
  }

  private static func defaultEncoder() -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .networkDefault
    encoder.outputFormatting = .sortedKeys
    return encoder
  }

  /// Form fields as a browser sends them (`application/x-www-form-urlencoded`).
  public static func form(_ fields: [URLQueryItem]) -> RequestBody { form { fields } }

  /// The properties of a value as form fields.
  public static func form(_ value: some Encodable & Sendable) -> RequestBody {
    form { try URLQueryItem.networkItems(of: value) }
  }

  /// Values of different types as form fields. nil is left out.
  public static func form(_ values: NetworkValues) -> RequestBody { form(NetworkObject(values)) }

  private static func form(_ fields: @escaping @Sendable () throws -> [URLQueryItem]) -> RequestBody {
    let encode: @Sendable (JSONEncoder?) throws -> Data = { _ in
      Data(NetworkPercentEncoding.query(try fields()).replacingOccurrences(of: "%20", with: "+").utf8)
    }
    return RequestBody(content: .memory(encode), contentType: "application/x-www-form-urlencoded")
  }
}

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
