import Foundation

/// Untyped JSON. Read it with subscripts, and write it as literals.
///
/// ```swift
/// let json: JSONValue = ["name": "Bella", "age": 3, "tags": ["dog", nil]]
/// json["tags"]?[0]?.string        // "dog"
/// ```
nonisolated public struct JSONValue: Sendable, Hashable, Codable, CustomStringConvertible {
  /// A `Bool`, `Int`, `Double`, `String`, `[JSONValue]` or `[String: JSONValue]`, or nil for `null`. A number that is
  /// decoded is an `Int` if it fits into one, even if it is written `1.0`.
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
    let likely = (previous?.value).map { type(of: $0) } as? Kind ?? String.self
    // Each kind once: nested JSON that fails would be decoded twice on every level.
    for kind in [likely] + kinds.filter({ $0 != likely }) where depth <= 100 {
      if kind == [Self].self, var elements = try? decoder.unkeyedContainer() {
        var values: [Self] = []
        while !elements.isAtEnd { values.append(try read(elements.superDecoder(), depth + 1, after: values.last)) }
        return Self(values)
      }
      guard let value = try? json.decode(kind) else { continue }
      return Self((value as? Double).flatMap { $0 == $0.rounded() ? try? json.decode(Int.self) : nil } ?? value)
    }
    throw DecodingError.dataCorruptedError(in: json, debugDescription: "not JSON of at most 100 levels")
  }

  /// Encodes the JSON that this value represents.
  public func encode(to encoder: any Encoder) throws {
    // A container applies the encoder's date format.
    var container = encoder.singleValueContainer()
    if let value { try container.encode(value) } else { try container.encodeNil() }
  }

  /// The member of an object, or nil if there is none or this is not an object.
  public subscript(key: String) -> JSONValue? { (value as? [String: JSONValue])?[key] }
  /// The element of an array, or nil if there is none or this is not an array.
  public subscript(index: Int) -> JSONValue? { index < 0 ? .none : (value as? [Self])?.dropFirst(index).first }
  /// The string, or nil if this is not a string.
  public var string: String? { value as? String }
  /// The Boolean value, or nil if this is not a Boolean.
  public var bool: Bool? { value as? Bool }
  /// The integer, or nil if this is not an integer.
  public var integer: Int? { value as? Int }
  /// The number, integer or not, or nil if this is not a number.
  public var number: Double? { value as? Double ?? integer.map(Double.init) }

  /// The JSON, with the members of each object sorted by name.
  public var description: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "a number that JSON does not have"
  }
  /// Compares the values, and numbers whatever their type.
  public static func == (left: Self, right: Self) -> Bool { left.value as? AnyHashable == right.value as? AnyHashable }
  /// Hashes the value.
  public func hash(into hasher: inout Hasher) { hasher.combine(value as? AnyHashable) }
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
