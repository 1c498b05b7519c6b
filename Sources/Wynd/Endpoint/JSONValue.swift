/// Untyped JSON. Read it with subscripts, and write it as literals.
///
/// ```swift
/// let json: JSONValue = ["name": "Bella", "age": 3, "tags": ["dog", nil]]
/// json["tags"]?[0]?.string        // "dog"
/// ```
nonisolated public enum JSONValue: Sendable, Hashable, Codable, CustomStringConvertible {
  /// `null`
  case null
  /// `true` or `false`
  case bool(Bool)
  /// An integer that fits into an `Int`.
  case integer(Int)
  /// Any other number.
  case number(Double)
  /// A string.
  case string(String)
  /// An array.
  case array([JSONValue])
  /// An object.
  case object([String: JSONValue])

  /// Decodes JSON of at most 100 levels; deeper nesting could exhaust the stack. An integer becomes ``integer(_:)``,
  /// even if it is written `1.0`.
  public init(from decoder: any Decoder) throws {
    var kind = 0
    self = try Self.read(decoder, depth: decoder.codingPath.count, &kind)
  }

  /// Tries the kind of the previous array element first. A kind that does not match costs an error, whose coding path
  /// is slow to make in nested JSON.
  private static func read(_ decoder: any Decoder, depth: Int, _ kind: inout Int) throws -> JSONValue {
    let value = try decoder.singleValueContainer()
    if value.decodeNil() { return .null }
    for _ in 0..<5 where depth <= 100 {
      switch kind {
      case 0: if let string = try? value.decode(String.self) { return .string(string) }
      case 1:
        if let number = try? value.decode(Double.self) {
          return (number == number.rounded() ? try? .integer(value.decode(Int.self)) : nil) ?? .number(number)
        }
      case 2: if let bool = try? value.decode(Bool.self) { return .bool(bool) }
      case 3: if let object = try? value.decode([String: JSONValue].self) { return .object(object) }
      default:
        if var elements = try? decoder.unkeyedContainer() {
          var values: [JSONValue] = []
          while !elements.isAtEnd { values.append(try read(elements.superDecoder(), depth: depth + 1, &kind)) }
          return .array(values)
        }
      }
      kind = (kind + 1) % 5
    }
    throw DecodingError.dataCorruptedError(in: value, debugDescription: "not JSON of at most 100 levels")
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
    case .array(let array): try container.encode(array)
    case .object(let object): try container.encode(object)
    }
  }

  /// The member of an object, or nil if there is none or this is not an object.
  public subscript(key: String) -> JSONValue? { if case .object(let object) = self { object[key] } else { nil } }
  /// The element of an array, or nil if there is none or this is not an array.
  public subscript(index: Int) -> JSONValue? {
    if case .array(let array) = self, array.indices.contains(index) { array[index] } else { nil }
  }
  /// The string, or nil if this is not a string.
  public var string: String? { if case .string(let string) = self { string } else { nil } }
  /// The Boolean value, or nil if this is not a Boolean.
  public var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }
  /// The integer, or nil if this is not an integer.
  public var integer: Int? { if case .integer(let integer) = self { integer } else { nil } }
  /// The number, integer or not, or nil if this is not a number.
  public var number: Double? { if case .number(let number) = self { number } else { integer.map(Double.init) } }

  /// The JSON, with the members of each object sorted by name.
  public var description: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "a number that JSON does not have"
  }
}

nonisolated extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
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
  /// If a name is repeated, the last value is used.
  public init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(Dictionary(elements) { $1 }) }
}
