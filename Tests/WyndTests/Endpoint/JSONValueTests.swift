import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Untyped JSON.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct JSONValueTests {
  @Test func decodesAndEncodesUntypedJSON() throws {
    let text = #"{"a":[1,2.5,"x",null,true,{"b":9007199254740993}],"big":1e300}"#
    let value = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    #expect(value == ["a": [1, 2.5, "x", nil, true, ["b": 9_007_199_254_740_993]], "big": 1e300])
    #expect(value["a"]?[5]?["b"]?.integer == 9_007_199_254_740_993)
    #expect(value["a"]?[1]?.number == 2.5)
    #expect(value["a"]?[0]?.number == 1)
    #expect(value["a"]?[2]?.string == "x")
    #expect(value["a"]?[4]?.bool == true)
    #expect(value["a"]?[99] == nil)
    #expect(value["a"]?[-1] == nil)
    #expect(value["nothing"] == nil)
    #expect(value["big"]?["x"] == nil)
    let again = try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value))
    #expect(again == value)
    let twice: JSONValue = ["a": 1, "a": 2]
    #expect(twice["a"] == 2)
  }

  static let json: [(String, JSONValue)] = [
    ("null", nil), ("true", true), ("false", false), ("0", 0), ("-1", -1), ("1.0", 1), ("1.5", 1.5), ("1e2", 100),
    ("9223372036854775807", 9_223_372_036_854_775_807), ("9223372036854775808", 9_223_372_036_854_775_808.0),
    (#""""#, ""), (#""1""#, "1"), (#""true""#, "true"), ("[]", []), ("{}", [:]), ("[null]", [nil]),
    (#"{"a":null,"b":[{}]}"#, ["a": nil, "b": [[:]]]), ("[[1],[2,[3]]]", [[1], [2, [3]]]),
  ]
  @Test(arguments: json.indices) func decodesAndEncodesEachKindOfJSONValue(_ row: Int) throws {
    let (text, value) = Self.json[row]
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
    for (levels, isAccepted) in [(99, true), (102, false)] {
      let text = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
      #expect(((try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))) != nil) == isAccepted)
    }
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

  @Test func rejectsJSONThatIsNestedTooDeeply() {
    for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
      let deep = String(repeating: open, count: 300) + "1" + String(repeating: close, count: 300)
      #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONValue.self, from: Data(deep.utf8)) }
      let allowed = String(repeating: open, count: 90) + "1" + String(repeating: close, count: 90)
      #expect(throws: Never.self) { try JSONDecoder().decode(JSONValue.self, from: Data(allowed.utf8)) }
    }
  }

  /// Decoding takes a small multiple of the time of a concrete type, also for nested arrays.
  @Test func decodesUntypedJSONInLinearTime() throws {
    // Of this thread: other tests and programs have most of the processor.
    func now() -> Duration {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
    func time<Value: Decodable>(_ type: Value.Type, _ body: String) throws -> Duration {
      try [0, 1, 2].map { _ in
        let began = now()
        _ = try JSONDecoder().decode(type, from: Data(body.utf8))
        return now() - began
      }.min() ?? .zero
    }
    func check<Value: Decodable>(_ type: Value.Type, _ element: String) throws {
      let elements = "[" + Array(repeating: element, count: 20_000).joined(separator: ",") + "]"
      let limit = try time([Value].self, elements) * 15 + .milliseconds(300)
      #expect(try time(JSONValue.self, elements) < limit, "\(element)")
      let deep = String(repeating: "[", count: 80) + elements + String(repeating: "]", count: 80)
      if type != [String: Int].self { #expect(try time(JSONValue.self, deep) < limit, "\(element)") }
    }
    try check(Int.self, "1")
    try check(Bool.self, "true")
    try check(Double.self, "1.5")
    try check(String.self, #""a""#)
    try check([Int].self, "[]")
    try check([String: Int].self, #"{"a":1}"#)
    // Where nested JSON fails, no level is decoded twice: this would not end.
    let invalid = String(repeating: #"[{},{"a":"#, count: 51) + "1" + String(repeating: "}]", count: 51)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONValue.self, from: Data(invalid.utf8)) }
  }
}
