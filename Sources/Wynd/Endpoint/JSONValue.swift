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

  /// Decodes whatever there is, 100 levels deep at the most: a hostile answer could use up the stack. A whole number
  /// becomes ``integer(_:)``, `1.0` too.
  public init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    let path = decoder.codingPath
    if path.count > 100 { throw DecodingError.dataCorruptedError(in: value, debugDescription: "more than 100 levels") }
    /// nil if it is of another type; what is wrong further inside is thrown.
    func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value? {
      do {
        return try value.decode(type)
      } catch DecodingError.typeMismatch(_, let context) where context.codingPath.count == path.count {
        return nil
      }
    }
    if value.decodeNil() {
      self = .null
    } else if let string = try decoded(String.self) {
      self = .string(string)
    } else if let object = try decoded([String: JSONValue].self) {
      self = .object(object)
    } else if let array = try decoded([JSONValue].self) {
      self = .array(array)
    } else if let bool = try decoded(Bool.self) {
      self = .bool(bool)
    } else if let integer = try? value.decode(Int.self) {
      self = .integer(integer)
    } else {
      self = .number(try value.decode(Double.self))
    }
  }

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
  public var number: Double? {
    switch self {
    case .integer(let integer): Double(integer)
    case .number(let number): number
    default: nil
    }
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
  /// Of a name that stands there twice, the last value counts.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(Dictionary(elements) { $1 })
  }
}
