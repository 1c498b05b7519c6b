import Foundation
import Testing
import Wynd

/// The numbers of untyped JSON are written as they were read.
@Suite struct JSONNumberTests {
  static func read(_ text: String) throws -> JSONValue {
    let value = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    let inOnePass = try JSONValue(data: Data(text.utf8))
    #expect(inOnePass == value && "\(inOnePass)" == "\(value)", "\(text)")
    return value
  }
  static func write(_ value: JSONValue) throws -> String {
    String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
  }

  static let exact = [
    "0", "-1", "9007199254740993", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
    "18446744073709551615", "18446744073709551616", "-9223372036854775809", "10000000000000000000",
    "100000000000000000000", "123456789012345678901234567890", "-123456789012345678901234567890", "0.1", "-0.1", "1.5",
    "0.30000000000000004", "3.141592653589793", "3.141592653589793238462643", "123456789012345678.5",
    "9007199254740993.5", "4503599627370497.5", "1.00000000000000000001", "-0.12345678901234567890123",
    "99999999999999999999999999999999999999", "4611686018427387904", "[18446744073709551615,0.5,1]",
    "[1,123456789012345678.5,18446744073709551616,0.1,2,-1.5]", #"["a",1.00000000000000000001,true,3]"#,
    #"{"id":18446744073709551615}"#, #"{"a":[{"b":123456789012345678901234567890}]}"#,
  ]

  @Test(arguments: exact) func writesJSONNumbersUnchanged(_ text: String) throws {
    let value = try Self.read(text)
    #expect(try Self.write(value) == text)
    #expect(try Self.read(Self.write(value)) == value)
  }

  static let normalized = [
    ("1.0", "1"), ("1e2", "100"), ("1.50", "1.5"), ("-0.0", "-0"), ("-0", "-0"), ("0.0", "0"), ("1e300", "1e+300"),
    ("-1e-200", "-1e-200"), ("1e19", "10000000000000000000"), ("9007199254740993.0", "9007199254740993"),
    ("5e-324", "5e-324"), ("1.7976931348623157e308", "1.7976931348623157e+308"), ("[1,-0.0]", "[1,-0]"),
    ("1e22", "10000000000000000000000"), ("0.1e1", "1"),
  ]

  @Test(arguments: normalized.indices) func normalizesJSONNumbersWithoutChangingTheirValue(_ row: Int) throws {
    let (text, written) = Self.normalized[row]
    #expect(try Self.write(Self.read(text)) == written)
    #expect(try Self.read(written) == Self.read(text))
  }

  @Test(arguments: ["1e400", "-1e400", "[1,1e400]", #"{"a":1e400}"#, "1e99999"])
  func rejectsJSONNumbersThatOverflow(_ text: String) {
    #expect(throws: DecodingError.self) { try Self.read(text) }
    #expect(throws: DecodingError.self) { try JSONValue(data: Data(text.utf8)) }
  }

  @Test func numberAccessorsReadLargeAndExactNumbers() throws {
    let large = try Self.read("18446744073709551615")
    #expect(large.integer == nil && large.number == 18_446_744_073_709_551_615.0)
    #expect(large.string == nil && large.bool == nil)
    let larger = try Self.read("123456789012345678901234567890")
    #expect(larger.integer == nil && larger.number == 1.2345678901234568e29)
    let pi = try Self.read("3.141592653589793238462643")
    #expect(pi.integer == nil && pi.number == 3.141592653589793)
    let zero = try Self.read("-0.0")
    #expect(zero.integer == 0 && zero.number == 0 && zero.number?.sign == .minus && zero == 0)
    #expect(try Self.read("1.0").integer == 1 && Self.read("9223372036854775807").integer == .max)
    #expect(try Self.read("123456789012345678.5").integer == nil)
    for text in ["18446744073709551615", "123456789012345678901234567890", "0.5", "3", "1e100"] {
      guard case .number(let number) = try Self.read(text) else { Issue.record("\(text)"); return }
      #expect(number.decimal == Decimal(string: text) && number.double == Double(text), "\(text)")
    }
    guard case .number(let huge) = try Self.read("1e300") else { Issue.record("no number"); return }
    #expect(huge.decimal == nil && huge.double == 1e300)
  }

  @Test func equalJSONNumbersAreEqualInAnyNotation() throws {
    let equal: [(JSONValue, JSONValue)] = [
      (try Self.read("1.0"), 1), (try Self.read("1e20"), 1e20), (try Self.read("100000000000000000000"), 1e20),
      (try Self.read("1e23"), 1e23), (try Self.read("0.1"), 0.1), (try Self.read("-0"), 0),
      (try Self.read("1e300"), 1e300),
      (try Self.read("9223372036854775808"), 9_223_372_036_854_775_808.0),
      (try Self.read("[18446744073709551616]"), try Self.read("[18446744073709551616.0]")),
      (.number(.init(3)), 3), (.number(.init(0.1)), 0.1), (.number(.init(3.0)), 3), (3.0, 3),
      (1e19, try Self.read("1e19")),
    ]
    for (left, right) in equal {
      #expect(left == right && left.hashValue == right.hashValue, "\(left) \(right)")
      #expect(Set([left, right]).count == 1)
    }
    let different = [
      "18446744073709551615", "18446744073709551616", "18446744073709551617", "1", "1.00000000000000000001",
      "3.141592653589793", "3.141592653589793238462643", "3.141592653589793238462644", "\"1\"", "true",
    ]
    #expect(Set(try different.map(Self.read)).count == different.count)
  }

  /// The shortest text of this `Double` is another integer.
  @Test func aLargeDoubleIsWrittenExactly() throws {
    for value in [4_611_686_018_427_387_904.0, 9_223_372_036_854_775_808, -9_223_372_036_854_775_808, 1e18, 1e22] {
      let json = JSONValue(floatLiteral: value)
      #expect(try Self.read(Self.write(json)) == json, "\(json)")
    }
    #expect(try Self.write(JSONValue(floatLiteral: 9_223_372_036_854_775_808)) == "9223372036854775808")
  }
}
