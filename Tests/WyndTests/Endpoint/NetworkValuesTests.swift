import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Names and values of a query, a form and a JSON object: variables, nil, conditions, dates and nested objects.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct NetworkValuesTests {
  struct Pet: Encodable { var name: String; var age: Int? }

  struct Texts: Equatable {
    var query: String?
    var form: String
    var json: String
  }

  /// What is sent: the query without percent-encoding.
  static func sent(_ values: NetworkValues) async throws -> Texts {
    let script = NetworkScript([.ok("")])
    try await script.load(.post("/x", query: values, body: .form(values)))
    try await script.load(.put("/x", body: .json(values)))
    let bodies = script.requests.map(\.text)
    return Texts(query: script.requests[0].url?.query(percentEncoded: false), form: bodies[0], json: bodies[1])
  }

  // MARK: Variables, nil and conditions

  @Test func takesVariablesOfDifferentTypes() async throws {
    let (name, age, weight, isOpen) = ("a b", 3, 1.5, true)
    let texts = try await Self.sent(["name": name, "age": age, "weight": weight, "open": isOpen])
    #expect(texts.query == "age=3&name=a b&open=true&weight=1.5")
    #expect(texts.form == "age=3&name=a+b&open=true&weight=1.5")
    #expect(texts.json == #"{"age":3,"name":"a b","open":true,"weight":1.5}"#)
  }

  /// It is left out of a query and a form, and is null in JSON.
  @Test func nilIsLeftOutOrNull() async throws {
    let (note, page): (String?, Int?) = (nil, 2)
    let texts = try await Self.sent(["note": note, "page": page, "none": nil])
    #expect(texts.query == "page=2" && texts.form == "page=2")
    #expect(texts.json == #"{"none":null,"note":null,"page":2}"#)
  }

  @Test(arguments: [true, false]) func takesTheBranchesOfACondition(_ flag: Bool) async throws {
    let (name, age) = ("Bella", 3)
    let values: NetworkValues = ["a": flag ? name : nil, "b": flag ? age : nil, "c": flag ? "x" : "y"]
    let texts = try await Self.sent(values)
    #expect(texts.query == (flag ? "a=Bella&b=3&c=x" : "c=y") && texts.form == texts.query)
    #expect(texts.json == (flag ? #"{"a":"Bella","b":3,"c":"x"}"# : #"{"a":null,"b":null,"c":"y"}"#))
  }

  @Test func isAnOrdinaryDictionary() async throws {
    let (text, tag): (String?, String?) = ("dogs", nil)
    var query: NetworkValues = ["page": 2, "old": 1]
    if let text { query["q"] = text }
    if let tag { query["tag"] = tag }
    query["old"] = nil
    #expect(try await Self.sent(query).query == "page=2&q=dogs")
    #expect(query.count == 2)
  }

  /// The dictionary is written in the call.
  @Test func callTakesALiteralOfVariables() async throws {
    let script = NetworkScript([.ok("")])
    let (text, page): (String, Int?) = ("dogs", nil)
    try await script.load(.get("/x", query: ["q": text, "page": page]))
    try await script.load(.post("/x", body: .form(["q": text, "page": page])))
    try await script.load(.post("/x", body: .json(["q": text, "page": page])))
    #expect(script.requests[0].url?.absoluteString == "/x?q=dogs")
    #expect(script.requests[1].httpBody == Data("q=dogs".utf8))
    #expect(script.requests[2].httpBody == Data(#"{"page":null,"q":"dogs"}"#.utf8))
  }

  // MARK: Nested values

  @Test func takesNestedObjects() async throws {
    let (name, note): (String, String?) = ("x", nil)
    let inner = ["name": name, "age": 3, "note": note] as NetworkObject
    let texts = try await Self.sent(["filter": inner, "list": [inner], "page": 1])
    #expect(texts.query == "filter[age]=3&filter[name]=x&list[0][age]=3&list[0][name]=x&page=1")
    #expect(texts.form.removingPercentEncoding == texts.query)
    let object = #"{"age":3,"name":"x","note":null}"#
    #expect(texts.json == #"{"filter":\#(object),"list":[\#(object)],"page":1}"#)
  }

  @Test func takesStructsAndArrays() async throws {
    let texts = try await Self.sent(["pet": Pet(name: "Bella"), "tags": ["a", "b"], "n": 1])
    #expect(texts.query == "n=1&pet[name]=Bella&tags=a&tags=b")
    #expect(texts.json == #"{"n":1,"pet":{"name":"Bella"},"tags":["a","b"]}"#)
  }

  @Test func lastOfARepeatedNameInAnObjectCounts() async throws {
    let object = NetworkObject(dictionaryLiteral: ("a", 1), ("a", "two"))
    #expect(try await Self.sent(["o": object]).json == #"{"o":{"a":"two"}}"#)
  }

  // MARK: Dates

  /// With milliseconds if there are any.
  @Test func writesDatesAlikeEverywhere() async throws {
    let (whole, exact) = (Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 0.25))
    let texts = try await Self.sent(["a": whole, "b": exact, "c": ["d": whole, "n": 1] as NetworkObject])
    let (a, b) = ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.250Z")
    #expect(texts.query == "a=\(a)&b=\(b)&c[d]=\(a)&c[n]=1")
    #expect(texts.form.removingPercentEncoding == texts.query)
    #expect(texts.json == #"{"a":"\#(a)","b":"\#(b)","c":{"d":"\#(a)","n":1}}"#)
  }

  /// Only JSON has an encoder.
  @Test func encoderDecidesAboutDatesInJSON() async throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    encoder.dateEncodingStrategy = .secondsSince1970
    let date = Date(timeIntervalSince1970: 7)
    let values: NetworkValues = ["at": date, "n": 1, "o": ["at": date, "n": 2] as NetworkObject]
    let script = NetworkScript([.ok("")])
    try await NetworkClient(baseURL: URL(string: "https://a.example"), on: script, encoder: encoder).load(
      .post("/x", query: ["at": date], body: .json(values)))
    try await script.load(.post("/x", body: .json(values, encoder: encoder)))
    let json = Data(#"{"at":7,"n":1,"o":{"at":7,"n":2}}"#.utf8)
    #expect(script.requests.map(\.httpBody) == [json, json])
    #expect(script.requests[0].url?.query(percentEncoded: false) == "at=1970-01-01T00:00:07Z")
  }
}
