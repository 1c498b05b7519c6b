import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Untyped JSON.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct JSONValueTests {
  static let json: [(String, JSONValue)] = [
    ("null", nil), ("true", true), ("false", false), ("0", 0), ("-1", -1), ("1.0", 1), ("1.5", 1.5), ("1e2", 100),
    ("9223372036854775807", 9_223_372_036_854_775_807), ("9223372036854775808", 9_223_372_036_854_775_808.0),
    (#""""#, ""), (#""1""#, "1"), (#""true""#, "true"), ("[]", []), ("{}", [:]), ("[null]", [nil]),
    (#"{"a":null,"b":[{}]}"#, ["a": nil, "b": [[:]]]), ("[[1],[2,[3]]]", [[1], [2, [3]]]),
  ]
  @Test(arguments: json) func decodesAndEncodesEachKindOfJSONValue(_ text: String, _ value: JSONValue) throws {
    #expect(try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) == value)
    #expect(try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value)) == value)
  }

  @Test func subscriptsAndAccessorsReturnNilForOtherKinds() {
    let json: JSONValue = ["a": [1, 2.5, "x", true, nil], "\("b")": 3.0]
    #expect(json["a"]?[0]?.integer == 1 && json["a"]?[1]?.integer == nil && json["a"]?[0]?.number == 1)
    #expect(json["a"]?[1]?.number == 2.5 && json["a"]?[2]?.number == nil && json["a"]?[2]?.string == "x")
    #expect(json["a"]?[0]?.string == nil && json["a"]?[3]?.bool == true && json["a"]?[0]?.bool == nil)
    #expect(json["a"]?[4] == .null && json["a"]?[5] == nil && json["a"]?["x"] == nil && json[0] == nil)
    #expect(json["b"]?.number == 3 && json["b"]?.integer == 3 && json["c"] == nil)
    #expect(json["a"] == .array([1, 2.5, "x", true, .null]) && json["b"] == 3 && json["b"] != 3.5)
    guard case .object(let members) = json, case .array(let elements)? = members["a"] else {
      Issue.record("\(json)"); return
    }
    #expect(elements.count == 5 && Set([json, ["b": 3], json]).count == 2)
    let names = ["a", "b"]
    let made = JSONValue.object(["names": .array(names.map { .string($0) }), "age": 3.0, "none": .null])
    #expect(made == ["names": ["a", "b"], "age": 3, "none": nil] && made["none"] == .null)
    #expect(JSONValue(floatLiteral: .infinity) != 1 && JSONValue(floatLiteral: -0.0) == 0)
  }

  static let numbers: [(text: String, integer: Int?, number: Double)] = [
    ("0", 0, 0), ("-0.0", 0, 0), ("1.0", 1, 1), ("1e2", 100, 100),
    ("0.1", nil, 0.1), ("1e300", nil, 1e300),
    ("5e-324", nil, .leastNonzeroMagnitude),
    ("1.7976931348623157e308", nil, .greatestFiniteMagnitude),
    // A `Double` does not hold these integers.
    ("9007199254740993", 9_007_199_254_740_993, 9_007_199_254_740_992), ("9223372036854775807", .max, 0x1p63),
    ("-9223372036854775808", .min, -0x1p63),
    // An `Int` does not hold these.
    ("9223372036854775808", nil, 0x1p63), ("1e19", nil, 1e19),
    ("123456789012345678901234567890", nil, 1.2345678901234568e29),
  ]
  @Test(arguments: numbers) func numberIsAnIntOrADouble(_ text: String, _ integer: Int?, _ number: Double) throws {
    let json = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    #expect(json.integer == integer && json.number == number && json.string == nil && json.bool == nil, "\(json)")
    #expect(json == integer.map { .integer($0) } ?? .number(number))
    #expect(try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(json)) == json)
    #expect(JSONValue(floatLiteral: number).number == number)
  }

  @Test(arguments: ["1e400", "-1e400", "[1,1e400]", #"{"a":1e400}"#, "1e99999"])
  func rejectsJSONNumbersThatOverflow(_ text: String) {
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) }
  }

  @Test func anIntegralLiteralIsAnInteger() {
    #expect((3.0 as JSONValue) == 3 && (-0.0 as JSONValue) == 0 && (0.5 as JSONValue) == .number(0.5))
    #expect((1e19 as JSONValue) == .number(1e19) && (1e18 as JSONValue).integer == 1_000_000_000_000_000_000)
  }

  @Test func printsAsJSON() {
    let json: JSONValue = ["b": [1, 2.5, nil, true], "a": ["c": "x/\"y\""], "d": [:]]
    #expect("\(json)" == #"{"a":{"c":"x/\"y\""},"b":[1,2.5,null,true],"d":{}}"#)
    #expect("\(JSONValue.null)" == "null" && "\(JSONValue(floatLiteral: .nan))" == "a number that JSON does not have")
  }

  /// A client's key strategy renames properties, and nothing in JSON without a type.
  @Test func keyStrategiesDoNotChangeKeys() throws {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let text = #"[{"user_id":{"a_b":1}}]"#
    #expect(try decoder.decode(JSONValue.self, from: Data(text.utf8)) == [["user_id": ["a_b": 1]]])
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    #expect(try encoder.encode(["userId": 1] as JSONValue) == Data(#"{"userId":1}"#.utf8))
  }

  @Test func readsNoMoreThan64Levels() {
    for (open, close) in [("[", "]"), (#"{"a":"#, "}"), (#"[{"a":"#, "}]")] {
      let levels = open.count == 6 ? 2 : 1
      func decode(_ count: Int) throws -> JSONValue {
        let text = String(repeating: open, count: count) + "1" + String(repeating: close, count: count)
        return try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
      }
      #expect(throws: Never.self) { try decode(64 / levels) }
      for count in [64 / levels + 1, 500, 200_000] { #expect(throws: DecodingError.self) { try decode(count) } }
    }
    // Levels beside each other do not add up.
    let wide = "[" + Array(repeating: "[[1]]", count: 200).joined(separator: ",") + "]"
    #expect(throws: Never.self) { try JSONDecoder().decode(JSONValue.self, from: Data(wide.utf8)) }
  }

  private static let kinds = ["1", #""a""#, "true", "null", "[]", "{}", "1.5"]
  private static func elements(_ count: Int) -> String {
    "[" + (0..<count).map { kinds[$0 % kinds.count] }.joined(separator: ",") + "]"
  }
  private static func members(_ count: Int) -> String {
    "{" + (0..<count).map { "\"k\($0)\":" + kinds[$0 % kinds.count] }.joined(separator: ",") + "}"
  }
  private static func nested(_ text: String, _ levels: Int, in open: String, _ close: String) -> String {
    String(repeating: open, count: levels) + text + String(repeating: close, count: levels)
  }

  static let hostile: [(text: String, isAccepted: Bool)] = [
    (elements(100_000), true), (nested("1", 500, in: "[", "]"), false),
    (nested(members(5000), 60, in: #"{"a":"#, "}"), true),
    // Where nested JSON fails, no level is decoded twice: this would not end.
    (nested("1", 51, in: #"[{},{"a":"#, "}]"), false), (nested("1e400", 30, in: #"[{},{"a":"#, "}]"), false),
  ]
  /// JSON whose kind changes from value to value, so that a decoder has to try several, or that is nested deeply.
  @Test(arguments: hostile) func readsOrRejectsHostileJSONInTime(_ text: String, _ isAccepted: Bool) {
    let began = Self.processorTime()
    let json = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    // Two seconds with optimization, which tests are compiled without.
    #expect(Self.processorTime() - began < .seconds(6))
    #expect((json != nil) == isAccepted)
  }

  /// Of this thread: other tests and programs have most of the processor.
  static func processorTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  /// Decoding takes a small multiple of the time of a concrete type, even for nested arrays.
  @Test func decodesUntypedJSONInLinearTime() throws {
    func time<Value: Decodable>(_ type: Value.Type, _ body: String) throws -> Duration {
      try [0, 1, 2].map { _ in
        let began = Self.processorTime()
        _ = try JSONDecoder().decode(type, from: Data(body.utf8))
        return Self.processorTime() - began
      }.min() ?? .zero
    }
    func check<Value: Decodable>(_ type: Value.Type, _ element: String) throws {
      let elements = "[" + Array(repeating: element, count: 20_000).joined(separator: ",") + "]"
      let limit = try time([Value].self, elements) * 15 + .milliseconds(300)
      #expect(try time(JSONValue.self, elements) < limit, "\(element)")
      let deep = Self.nested(elements, 60, in: "[", "]")
      if type != [String: Int].self { #expect(try time(JSONValue.self, deep) < limit, "\(element)") }
    }
    try check(Int.self, "1")
    try check(Bool.self, "true")
    try check(Double.self, "1.5")
    try check(String.self, #""a""#)
    try check([Int].self, "[]")
    try check([String: Int].self, #"{"a":1}"#)
  }
}
