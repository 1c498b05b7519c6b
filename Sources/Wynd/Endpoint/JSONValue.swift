import Foundation

/// Untyped JSON. Read it with subscripts, and write it as literals.
///
/// ```swift
/// let json: JSONValue = ["name": "Bella", "age": 3, "tags": ["dog", nil]]
/// json["tags"]?[0]?.string        // "dog"
/// ```
///
/// `JSONDecoder` reads it, and decides which numbers are integers: `1.0` is 1. A number with more digits than an `Int`
/// or a `Double` holds is rounded. To keep them, decode a `Decimal` in a type of your own.
nonisolated public enum JSONValue: Sendable, Hashable {
  /// `null`
  case null
  /// `true` or `false`
  case bool(Bool)
  /// An integer that fits into an `Int`.
  case integer(Int)
  /// Any other number.
  case number(Double)
  /// Text.
  case string(String)
  /// A list of values.
  case array([JSONValue])
  /// Values by name.
  case object([String: JSONValue])

  /// The greatest number of levels. Deeper nesting could exhaust the stack, and a decoder's time for a value grows with
  /// the square of its depth.
  static let maxDepth = 64
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
  public var integer: Int? { if case .integer(let integer) = self { integer } else { nil } }
  /// The number, integer or not, or nil if this is not a number. It is rounded if a `Double` cannot hold it.
  public var number: Double? {
    switch self {
    case .integer(let integer): Double(integer)
    case .number(let number): number
    default: nil
    }
  }
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
  public init(integerLiteral value: Int) { self = .integer(value) }
  /// `0.5`. As in JSON, `3.0` is the integer 3.
  public init(floatLiteral value: Double) { self = Int(exactly: value).map { .integer($0) } ?? .number(value) }
  /// `"text"`
  public init(stringLiteral value: String) { self = .string(value) }
  /// `[1, "two", nil]`
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  /// If a name is repeated, the last value is used.
  public init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(Dictionary(elements) { $1 }) }
}

// MARK: - Codable

nonisolated extension JSONValue: Codable {
  /// Decodes JSON of at most 64 levels.
  ///
  /// - Throws: A `DecodingError` if it has more levels, or a number is too large for a `Double`.
  public init(from decoder: any Decoder) throws { try self.init(from: decoder, after: .null) }

  /// Tries the kind of the previous array element first. A kind that does not match costs an error, whose coding path
  /// is slow to make in nested JSON.
  private init(from decoder: any Decoder, after previous: JSONValue) throws {
    let json = try decoder.singleValueContainer()
    if json.decodeNil() {
      self = .null
      return
    }
    let likely = previous.kind
    // Each kind once: nested JSON that fails would be decoded twice on every level.
    for kind in [likely] + Kind.allCases.filter({ $0 != likely }) {
      if let value = try Self.decoded(as: kind, json, decoder) {
        self = value
        return
      }
    }
    let reason = "not JSON of at most \(Self.maxDepth) levels, or a number that is too large"
    throw DecodingError.dataCorruptedError(in: json, debugDescription: reason)
  }

  private enum Kind: CaseIterable {
    case string
    case number
    case bool
    case array
    case object
  }

  private var kind: Kind {
    switch self {
    case .null, .string: .string
    case .integer, .number: .number
    case .bool: .bool
    case .array: .array
    case .object: .object
    }
  }

  /// The value, or nil if it is of another kind, or has too many levels.
  private static func decoded(
    as kind: Kind, _ json: any SingleValueDecodingContainer, _ decoder: any Decoder
  ) throws -> JSONValue? {
    switch kind {
    case .string: return (try? json.decode(String.self)).map { .string($0) }
    case .bool: return (try? json.decode(Bool.self)).map { .bool($0) }
    case .number:
      guard let number = try? json.decode(Double.self) else { return nil }
      // A fraction is not tried as an `Int`, which would cost an error.
      let integer = number == number.rounded() ? try? json.decode(Int.self) : nil
      return integer.map { .integer($0) } ?? .number(number)
    case .array:
      guard var elements = try? decoder.unkeyedContainer(), json.codingPath.count < maxDepth else { return nil }
      var values: [JSONValue] = []
      while !elements.isAtEnd {
        values.append(try JSONValue(from: elements.superDecoder(), after: values.last ?? .null))
      }
      return .array(values)
    case .object:
      if json.codingPath.count >= maxDepth { return nil }
      return (try? json.decode([String: JSONValue].self)).map { .object($0) }
    }
  }

  /// Encodes the JSON that this value represents.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let bool): try container.encode(bool)
    case .integer(let integer): try container.encode(integer)
    case .number(let number): try container.encode(number)
    case .string(let string): try container.encode(string)
    case .array(let elements): try container.encode(elements)
    case .object(let members): try container.encode(members)
    }
  }
}
