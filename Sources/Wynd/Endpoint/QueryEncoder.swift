public import Foundation

/// Encodes any `Encodable` as query items or form fields.
///
/// ```swift
/// var queryItems: [URLQueryItem] {
///   get throws { try QueryEncoder().encode(["q": "dogs", "page": 2, "tags": ["a", "b"]]) }
/// }
/// // page=2&q=dogs&tags=a&tags=b
/// ```
///
/// Items are sorted by name. The names of nested values are in brackets (`filter[age]=3`), Boolean values are `true` or
/// `false`, and nil values are omitted.
nonisolated public struct QueryEncoder: Sendable {
  /// Values of different types, by name. nil values are omitted.
  public typealias Values = [String: (any Encodable & Sendable)?]

  /// How arrays are encoded. An array of arrays or objects always has indices: `a[0][b]=1`.
  public enum ArrayStyle: Sendable {
    /// `a=1&a=2`
    case repeated
    /// `a[]=1&a[]=2`
    case brackets
    /// `a=1,2`
    case commas
  }

  private let arrays: ArrayStyle
  private let dates: JSONEncoder.DateEncodingStrategy?

  /// Makes an encoder.
  ///
  /// - Parameters:
  ///   - arrays: How arrays are encoded.
  ///   - dates: How dates are encoded. The default is ISO 8601 (`2026-11-21T16:00:00Z`), with milliseconds if there are
  ///     any.
  public init(arrays: ArrayStyle = .repeated, dates: JSONEncoder.DateEncodingStrategy? = nil) {
    self.arrays = arrays
    self.dates = dates
  }

  /// Encodes the members of a struct or dictionary as query items.
  ///
  /// - Throws: The error of encoding the value, or an `EncodingError` if it is neither a struct nor a dictionary.
  public func encode(_ value: some Encodable) throws -> [URLQueryItem] {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = dates ?? .networkDefault
    guard let node = try JSONDecoder().decode(Node?.self, from: encoder.encode(value)) else { return [] }
    let context = EncodingError.Context(codingPath: [], debugDescription: "only a struct or a dictionary has names")
    guard case .object(let fields) = node else { throw EncodingError.invalidValue(value, context) }
    return fields.sorted { $0.key < $1.key }.flatMap { items($0.value, $0.key) }
  }

  /// Encodes values of different types as query items: `encode(["q": "dogs", "page": 2])`.
  ///
  /// - Throws: The error of encoding a value.
  public func encode(_ values: Values) throws -> [URLQueryItem] { try encode(values.mapValues(NetworkEncodable.init)) }

  private func items(_ node: Node, _ name: String) -> [URLQueryItem] {
    switch node {
    case .text(let text): return [URLQueryItem(name: name, value: text)]
    case .object(let fields): return fields.sorted { $0.key < $1.key }.flatMap { items($0.value, "\(name)[\($0.key)]") }
    case .array(let nodes):
      let texts = nodes.compactMap(\.text)
      if texts.count < nodes.count { return nodes.enumerated().flatMap { items($1, "\(name)[\($0)]") } }
      let values = arrays == .commas && !texts.isEmpty ? [texts.joined(separator: ",")] : texts
      return values.map { URLQueryItem(name: arrays == .brackets ? name + "[]" : name, value: $0) }
    }
  }

  /// JSON without nulls, and with its numbers as text, because a `Double` would round long ones.
  private enum Node: Decodable {
    case text(String)
    case array([Node])
    case object([String: Node])

    var text: String? { if case .text(let text) = self { text } else { nil } }

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      func text<Value: Decodable>(_ type: Value.Type) -> Node? { (try? value.decode(type)).map { .text("\($0)") } }
      self =
        try text(Bool.self) ?? text(String.self) ?? text(Decimal.self) ?? text(Double.self)
        ?? (try? .array(value.decode([Node?].self).compactMap { $0 }))
        ?? .object(value.decode([String: Node?].self).compactMapValues { $0 })
    }
  }
}

/// A value whose type is not known. nil is encoded as `null`.
nonisolated struct NetworkEncodable: Encodable, Sendable {
  let value: (any Encodable & Sendable)?

  func encode(to encoder: any Encoder) throws {
    // A container applies the encoder's date format.
    var container = encoder.singleValueContainer()
    if let value { try container.encode(value) } else { try container.encodeNil() }
  }
}
