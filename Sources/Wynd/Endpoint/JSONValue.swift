import Foundation

/// Untyped JSON. Read it with subscripts, and write it as literals.
///
/// ```swift
/// let json: JSONValue = ["name": "Bella", "age": 3, "tags": ["dog", nil]]
/// json["tags"]?[0]?.string        // "dog"
/// ```
nonisolated public struct JSONValue: Sendable, Hashable, Codable, CustomStringConvertible {
  /// A `Bool`, `Int`, `Double`, `String`, `[JSONValue]` or `[String: JSONValue]`, or nil for `null`. A number that is
  /// decoded is an `Int` if it fits into one, even if it is written `1.0`. A larger integer is a `UInt64` or a
  /// `Decimal`, and a fraction with more digits than a `Double` holds is a `Decimal` (38 digits), so that a number is
  /// written as it was read.
  public let value: (any Encodable & Sendable)?

  /// Makes JSON of an array or an object of ``JSONValue``, or of another type of ``value``, or null of nil. Any other
  /// value can be encoded as JSON, but not read or compared.
  public init(_ value: (any Encodable & Sendable)?) { self.value = value }

  private typealias Kind = any (Codable & Sendable).Type
  private static let kinds: [Kind] = [String.self, Double.self, Bool.self, [String: Self].self, [Self].self]

  /// Tries the kind of the previous array element first. One that does not match costs an error, whose coding path
  /// is slow to make in nested JSON.
  private static func read(_ decoder: any Decoder, _ depth: Int, after previous: JSONValue? = nil) throws -> JSONValue {
    let json = try decoder.singleValueContainer()
    if json.decodeNil() { return nil }
    let likely = previous?.number == nil ? (previous?.value).map { type(of: $0) } as? Kind ?? String.self : Double.self
    // Each kind once: nested JSON that fails would be decoded twice on every level.
    for kind in [likely] + kinds.filter({ $0 != likely }) where depth <= 100 {
      if kind == [Self].self, var elements = try? decoder.unkeyedContainer() {
        var values: [Self] = []
        while !elements.isAtEnd { values.append(try read(elements.superDecoder(), depth + 1, after: values.last)) }
        return Self(values)
      }
      guard let value = try? json.decode(kind) else { continue }
      guard let double = value as? Double else { return Self(value) }
      return Self(number(double, try? json.decode(Decimal.self)))
    }
    let reason = "not JSON of at most 100 levels, or a number that is too large"
    throw DecodingError.dataCorruptedError(in: json, debugDescription: reason)
  }

  /// A number in the simplest type that holds it exactly. The arguments are the same number, decoded twice.
  private static func number(_ double: Double, _ decimal: Decimal?) -> any Codable & Sendable {
    // An integer has no negative zero.
    if double == 0, double.sign == .minus { return double }
    // A `Decimal` has exponents to 127, and becomes zero or loses digits beyond.
    guard let decimal, Double(decimal.description) == double else { return double }
    let simplest = simplest(decimal)
    // A `Double` writes large integers with an exponent.
    return simplest is Double && double == double.rounded() ? decimal : simplest
  }

  /// The number as an `Int`, `UInt64` or `Double`, if it is exactly the same number in JSON.
  private static func simplest(_ decimal: Decimal) -> any Codable & Hashable & Sendable {
    let text = decimal.description
    if let integer = Int(text) { return integer }
    if let integer = UInt64(text) { return integer }
    if let double = Double(text), Decimal(string: double.description) == decimal { return double }
    return decimal
  }

  /// Encodes the JSON that this value represents.
  public func encode(to encoder: any Encoder) throws {
    // A container applies the encoder's date format.
    var container = encoder.singleValueContainer()
    guard let value else { return try container.encodeNil() }
    // JSONEncoder writes the shortest text that is the same `Double`, which is another integer.
    if let double = value as? Double, double != 0, let integer = Int(exactly: double) {
      try container.encode(integer)
    } else if let double = value as? Double, double != 0, let integer = UInt64(exactly: double) {
      try container.encode(integer)
    } else {
      try container.encode(value)
    }
  }

  /// The member of an object, or nil if there is none or this is not an object.
  public subscript(key: String) -> JSONValue? { (value as? [String: JSONValue])?[key] }
  /// The element of an array, or nil if there is none or this is not an array.
  public subscript(index: Int) -> JSONValue? { index < 0 ? .none : (value as? [Self])?.dropFirst(index).first }
  /// The string, or nil if this is not a string.
  public var string: String? { value as? String }
  /// The Boolean value, or nil if this is not a Boolean.
  public var bool: Bool? { value as? Bool }
  /// The integer, or nil if this is not an integer or does not fit into an `Int`.
  public var integer: Int? {
    // A server may write zero as `-0.0`, which only a `Double` can hold.
    if let double = value as? Double, double == 0, double.sign == .minus { return 0 }
    return value as? Int
  }
  /// The number, integer or not, or nil if this is not a number. It is rounded if a `Double` cannot hold it; ``value``
  /// has the exact number.
  public var number: Double? {
    switch value {
    case let number as Double: number
    case let number as Int: Double(number)
    case let number as UInt64: Double(number)
    case let number as Decimal: Double(number.description)
    default: nil
    }
  }

  /// The JSON, with the members of each object sorted by name.
  public var description: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "a number that JSON does not have"
  }
  /// Compares the values, and numbers whatever their type.
  public static func == (left: Self, right: Self) -> Bool { left.comparable == right.comparable }
  /// Hashes the value.
  public func hash(into hasher: inout Hasher) { hasher.combine(comparable) }

  /// `AnyHashable` compares numbers whatever their type, except a `Decimal`.
  private var comparable: AnyHashable? {
    if let decimal = value as? Decimal { return AnyHashable(Self.simplest(decimal)) }
    return value as? AnyHashable
  }
}

nonisolated extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// Decodes JSON of at most 100 levels; deeper nesting could exhaust the stack.
  public init(from decoder: any Decoder) throws { self = try Self.read(decoder, decoder.codingPath.count) }
  /// `nil`
  public init(nilLiteral: ()) { value = nil }
  /// `true`
  public init(booleanLiteral value: Bool) { self.value = value }
  /// `3`
  public init(integerLiteral value: Int) { self.value = value }
  /// `0.5`
  public init(floatLiteral value: Double) { self.value = value }
  /// `"text"`
  public init(stringLiteral value: String) { self.value = value }
  /// `[1, "two", nil]`
  public init(arrayLiteral elements: JSONValue...) { value = elements }
  /// If a name is repeated, the last value is used.
  public init(dictionaryLiteral elements: (String, JSONValue)...) { value = Dictionary(elements) { $1 } }
}
