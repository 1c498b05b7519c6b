import Foundation

/// JSON without a type: read it with subscripts, write it as literals.
///
/// ```swift
/// let json: JSONValue = ["name": "Bella", "age": 3, "tags": ["dog", nil]]
/// json["tags"]?[0]?.string        // "dog"
/// ```
nonisolated public enum JSONValue: Sendable, Hashable, Codable {
  /// `null`
  case null
  /// `true` or `false`
  case bool(Bool)
  /// A whole number that an `Int` holds.
  case integer(Int)
  /// Any other number.
  case number(Double)
  /// Text.
  case string(String)
  /// Values in order.
  case array([JSONValue])
  /// Values by name.
  case object([String: JSONValue])

  /// Decodes any JSON of at most 100 levels; deeper nesting could exhaust the stack. A whole number becomes
  /// ``integer(_:)``, `1.0` too.
  public init(from decoder: any Decoder) throws {
    var kind = 0
    self = try Self.read(decoder, depth: decoder.codingPath.count, &kind)
  }

  /// The kind of the previous value of an array is tried first: a kind that does not match costs an error, and making its
  /// coding path takes long in nested JSON.
  private static func read(_ decoder: any Decoder, depth: Int, _ kind: inout Int) throws -> JSONValue {
    let value = try decoder.singleValueContainer()
    if depth > 100 { throw DecodingError.dataCorruptedError(in: value, debugDescription: "more than 100 levels") }
    if value.decodeNil() { return .null }
    for _ in 0..<5 {
      switch kind {
      case 0: if let string = try? value.decode(String.self) { return .string(string) }
      case 1:
        if let number = try? value.decode(Double.self) {
          let integer = number == number.rounded() ? try? value.decode(Int.self) : nil
          return integer.map(JSONValue.integer) ?? .number(number)
        }
      case 2: if let bool = try? value.decode(Bool.self) { return .bool(bool) }
      case 3:
        if (try? decoder.container(keyedBy: NoKey.self)) != nil {
          return .object(try value.decode([String: JSONValue].self))
        }
      default:
        if var elements = try? decoder.unkeyedContainer() {
          var values: [JSONValue] = []
          while !elements.isAtEnd { values.append(try read(elements.superDecoder(), depth: depth + 1, &kind)) }
          return .array(values)
        }
      }
      kind = (kind + 1) % 5
    }
    throw DecodingError.dataCorruptedError(in: value, debugDescription: "not JSON")
  }
  private enum NoKey: CodingKey {}

  /// Encodes what it is.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let bool): try container.encode(bool)
    case .integer(let integer): try container.encode(integer)
    case .number(let number): try container.encode(number)
    case .string(let string): try container.encode(string)
    case .array(let array): try container.encode(array)
    case .object(let object): try container.encode(object)
    }
  }

  /// The member of an object; nil if there is none, or this is no object.
  public subscript(key: String) -> JSONValue? { if case .object(let object) = self { object[key] } else { nil } }
  /// The element of an array; nil if there is none, or this is no array.
  public subscript(index: Int) -> JSONValue? {
    if case .array(let array) = self, array.indices.contains(index) { array[index] } else { nil }
  }
  /// The text, if this is one.
  public var string: String? { if case .string(let string) = self { string } else { nil } }
  /// The truth value, if this is one.
  public var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }
  /// The whole number, if this is one.
  public var integer: Int? { if case .integer(let integer) = self { integer } else { nil } }
  /// The number, whole or not, if this is one.
  public var number: Double? { if case .number(let number) = self { number } else { integer.map(Double.init) } }
}

nonisolated extension JSONValue: CustomStringConvertible {
  /// The JSON, with the members of each object sorted by name.
  public var description: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "a number that JSON does not have"
  }
}

nonisolated extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  /// `nil`
  public init(nilLiteral: ()) { self = .null }
  /// `true`
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// `3`
  public init(integerLiteral value: Int) { self = .integer(value) }
  /// `0.5`
  public init(floatLiteral value: Double) { self = .number(value) }
  /// `"text"`
  public init(stringLiteral value: String) { self = .string(value) }
  /// `[1, "two", nil]`
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  /// Of two values with one name, the last one counts.
  public init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(Dictionary(elements) { $1 }) }
}
