public import Foundation

/// Untyped JSON. Read it with subscripts, and write it as literals.
///
/// ```swift
/// let json: JSONValue = ["name": "Bella", "age": 3, "tags": ["dog", nil]]
/// json["tags"]?[0]?.string        // "dog"
/// ```
///
/// A response of this type is read in one pass, also if it is deeply nested. Where JSON is a property of another type,
/// a decoder has to try one type after the other, which takes about 100 times as long in the worst case.
nonisolated public enum JSONValue: Sendable, Hashable {
  /// `null`
  case null
  /// `true` or `false`
  case bool(Bool)
  /// A number, with all its digits.
  case number(Number)
  /// Text.
  case string(String)
  /// A list of values.
  case array([JSONValue])
  /// Values by name.
  case object([String: JSONValue])

  /// The greatest number of levels. Deeper nesting could exhaust the stack.
  static let maxDepth = 100

  /// Reads a JSON text (RFC 8259) of at most 100 levels.
  ///
  /// - Throws: A `DecodingError` if it is not valid, or a number is too large for a `Double`.
  public init(data: Data) throws { self = try NetworkJSONReader.value(of: data) }
}

// MARK: - Reading

nonisolated extension JSONValue {
  /// The member of an object, or nil if there is none or this is not an object.
  public subscript(key: String) -> JSONValue? { if case .object(let members) = self { members[key] } else { nil } }
  /// The element of an array, or nil if there is none or this is not an array.
  public subscript(index: Int) -> JSONValue? {
    guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
    return elements[index]
  }
  /// The string, or nil if this is not a string.
  public var string: String? { if case .string(let string) = self { string } else { nil } }
  /// The Boolean value, or nil if this is not a Boolean.
  public var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }
  /// The integer, or nil if this is not an integer or does not fit into an `Int`.
  public var integer: Int? { if case .number(let number) = self { number.integer } else { nil } }
  /// The number, integer or not, or nil if this is not a number. It is rounded if a `Double` cannot hold it.
  public var number: Double? { if case .number(let number) = self { number.double } else { nil } }
}

nonisolated extension JSONValue: CustomStringConvertible {
  /// The JSON, with the members of each object sorted by name.
  public var description: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "a number that JSON does not have"
  }
}

// MARK: - Literals

nonisolated extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// `nil`
  public init(nilLiteral: ()) { self = .null }
  /// `true`
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// `3`
  public init(integerLiteral value: Int) { self = .number(Number(value)) }
  /// `0.5`
  public init(floatLiteral value: Double) { self = .number(Number(value)) }
  /// `"text"`
  public init(stringLiteral value: String) { self = .string(value) }
  /// `[1, "two", nil]`
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  /// If a name is repeated, the last value is used.
  public init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(Dictionary(elements) { $1 }) }
}

// MARK: - Codable

nonisolated extension JSONValue: Codable {
  /// Decodes JSON of at most 100 levels.
  ///
  /// - Throws: A `DecodingError` if it has more levels, or a number is too large for a `Double`.
  public init(from decoder: any Decoder) throws {
    self = try Self.decoded(by: decoder, depth: decoder.codingPath.count, after: .null)
  }

  private enum Kind: CaseIterable {
    case string
    case number
    case bool
    case object
    case array
  }

  private var kind: Kind {
    switch self {
    case .null, .string: .string
    case .number: .number
    case .bool: .bool
    case .object: .object
    case .array: .array
    }
  }

  /// Tries the kind of the previous array element first. One that does not match costs an error, whose coding path
  /// is slow to make in nested JSON.
  private static func decoded(by decoder: any Decoder, depth: Int, after previous: JSONValue) throws -> JSONValue {
    let json = try decoder.singleValueContainer()
    if json.decodeNil() { return .null }
    let likely = previous.kind
    // Each kind once: nested JSON that fails would be decoded twice on every level.
    for kind in [likely] + Kind.allCases.filter({ $0 != likely }) where depth <= maxDepth {
      if let value = try decoded(as: kind, json, decoder, depth) { return value }
    }
    let reason = "not JSON of at most \(maxDepth) levels, or a number that is too large"
    throw DecodingError.dataCorruptedError(in: json, debugDescription: reason)
  }

  /// The value, or nil if it is of another kind.
  private static func decoded(
    as kind: Kind, _ json: any SingleValueDecodingContainer, _ decoder: any Decoder, _ depth: Int
  ) throws -> JSONValue? {
    switch kind {
    case .string: return (try? json.decode(String.self)).map { .string($0) }
    case .bool: return (try? json.decode(Bool.self)).map { .bool($0) }
    case .object: return (try? json.decode([String: JSONValue].self)).map { .object($0) }
    case .number:
      guard let double = try? json.decode(Double.self) else { return nil }
      return .number(Number(double, try? json.decode(Decimal.self)))
    case .array:
      guard var elements = try? decoder.unkeyedContainer() else { return nil }
      var values: [JSONValue] = []
      while !elements.isAtEnd {
        let previous = values.last ?? .null
        values.append(try decoded(by: elements.superDecoder(), depth: depth + 1, after: previous))
      }
      return .array(values)
    }
  }

  /// Encodes the JSON that this value represents.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let bool): try container.encode(bool)
    case .number(let number): try number.encode(to: &container)
    case .string(let string): try container.encode(string)
    case .array(let elements): try container.encode(elements)
    case .object(let members): try container.encode(members)
    }
  }
}
