public import Foundation

/// Any `Encodable` → query items or form fields.
///
/// ```swift
/// var queryItems: [URLQueryItem] { get throws { try QueryEncoder().encode(["q": "dogs", "page": 2, "tags": ["a", "b"]]) } }
/// // page=2&q=dogs&tags=a&tags=b
/// ```
///
/// One convention, each part of which can be changed: arrays repeat the name, nested values stand in brackets
/// (`filter[age]=3`), dates are ISO 8601 (`2026-11-21T16:00:00Z`), truth values `true` and `false`, and a nil is left
/// out. The order is that of the names.
nonisolated public struct QueryEncoder: Sendable {
  /// How an array is written.
  public enum ArrayStyle: Sendable {
    /// `a=1&a=2`
    case repeated
    /// `a[]=1&a[]=2`
    case brackets
    /// `a[0]=1&a[1]=2`
    case indices
    /// `a=1,2`
    case commas
  }
  /// How a value within a value is written.
  public enum NestingStyle: Sendable {
    /// `a[b]=1`
    case brackets
    /// `a.b=1`
    case dots
  }
  /// How a truth value is written.
  public enum BoolStyle: Sendable {
    /// `true` and `false`
    case words
    /// `1` and `0`
    case digits
  }
  /// How an explicit nil is written; a property that is nil is left out by its own `encode(to:)`.
  public enum NilStyle: Sendable {
    /// Left out.
    case omitted
    /// `a=`
    case empty
  }

  /// How an array is written.
  public var arrays: ArrayStyle
  /// How a value within a value is written.
  public var nesting: NestingStyle
  /// How a truth value is written.
  public var bools: BoolStyle
  /// How a date is written.
  public var dates: JSONEncoder.DateEncodingStrategy
  /// How an explicit nil is written.
  public var nils: NilStyle

  /// Makes an encoder; every part of the convention has its default.
  public init(
    arrays: ArrayStyle = .repeated, nesting: NestingStyle = .brackets, bools: BoolStyle = .words,
    dates: JSONEncoder.DateEncodingStrategy = .iso8601, nils: NilStyle = .omitted
  ) {
    self.arrays = arrays
    self.nesting = nesting
    self.bools = bools
    self.dates = dates
    self.nils = nils
  }

  /// The items of a struct or dictionary.
  ///
  /// - Throws: What the value's own encoding throws, or an `EncodingError` if it has no names.
  public func encode(_ value: some Encodable) throws -> [URLQueryItem] {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = dates
    let node = try JSONDecoder().decode(Node.self, from: encoder.encode(value))
    if case .null = node { return [] }
    guard case .object(let fields) = node else {
      throw EncodingError.invalidValue(
        value, .init(codingPath: [], debugDescription: "only a struct or a dictionary has names"))
    }
    var items: [URLQueryItem] = []
    for (name, node) in fields.sorted(by: { $0.key < $1.key }) { add(node, name, to: &items) }
    return items
  }

  /// The items of values of several kinds: `encode(["q": "dogs", "page": 2])`.
  public func encode(_ values: [String: (any Encodable)?]) throws -> [URLQueryItem] {
    try encode(values.mapValues(AnyEncodable.init))
  }

  private func add(_ node: Node, _ name: String, to items: inout [URLQueryItem]) {
    switch node {
    case .array(let nodes) where arrays == .commas && !nodes.contains(where: \.isNested):
      let values = nodes.compactMap(text)
      if !values.isEmpty { items.append(URLQueryItem(name: name, value: values.joined(separator: ","))) }
    case .array(let nodes):
      for (index, node) in nodes.enumerated() {
        let isPlain = arrays == .repeated && !node.isNested
        add(node, isPlain ? name : name + (arrays == .brackets && !node.isNested ? "[]" : "[\(index)]"), to: &items)
      }
    case .object(let fields):
      for (key, node) in fields.sorted(by: { $0.key < $1.key }) {
        add(node, nesting == .dots ? "\(name).\(key)" : "\(name)[\(key)]", to: &items)
      }
    default: if let value = text(node) { items.append(URLQueryItem(name: name, value: value)) }
    }
  }

  private func text(_ node: Node) -> String? {
    switch node {
    case .null: nils == .empty ? "" : nil
    case .bool(let bool): bools == .digits ? (bool ? "1" : "0") : "\(bool)"
    case .text(let text): text
    case .array, .object: nil
    }
  }

  /// JSON with every number as it would be written: a `Double` between would round long ones.
  private enum Node: Decodable {
    case null
    case bool(Bool)
    case text(String)
    case array([Node])
    case object([String: Node])

    var isNested: Bool {
      switch self {
      case .array, .object: true
      default: false
      }
    }

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      self =
        if value.decodeNil() {
          .null
        } else if let bool = try? value.decode(Bool.self) {
          .bool(bool)
        } else if let text = try? value.decode(String.self) {
          .text(text)
        } else if let array = try? value.decode([Node].self) {
          .array(array)
        } else if let object = try? value.decode([String: Node].self) {
          .object(object)
        } else if let number = try? value.decode(Decimal.self) {
          .text("\(number)")
        } else {
          .text("\(try value.decode(Double.self))")
        }
    }
  }
}

/// So that one dictionary may hold values of several types.
nonisolated struct AnyEncodable: Encodable {
  let value: (any Encodable)?

  func encode(to encoder: any Encoder) throws {
    // Through a container, which knows how the encoder writes a date.
    var container = encoder.singleValueContainer()
    if let value { try container.encode(value) } else { try container.encodeNil() }
  }
}
