import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension EndpointParsingTests {
  // MARK: JSONValue

  @Test func theTextOfAnUndecodableBodyIsOneShortLine() throws {
    enum Color: String, Decodable { case red }
    let url = try #require(URL(string: "http://127.0.0.1/"))
    let response = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
    func text<Value: Decodable>(_ type: Value.Type, _ body: String) -> String {
      switch Result(catching: { try JSONDecoder().decode(type, from: Data(body.utf8)) }) {
      case .success: "decoded"
      case .failure(let error): "\(NetworkError.undecodable(error, response, Data(body.utf8)))"
      }
    }
    for body in [#"{"c":"tok_4711\nFORGED"}"#, #"{"c":"\#(String(repeating: "x", count: 140_000))"}"#] {
      let text = text([String: Color].self, body)
      #expect(text.hasPrefix("…: is not valid: 200"), "\(text)")
      #expect(!text.contains { $0.isNewline } && text.count < 500)
    }
    // The key of a dictionary is part of the body, the name of a property is not.
    #expect(text([String: Int].self, #"{"a\nb.c":"x"}"#).hasPrefix("…: expected Int, found string"))
    #expect(text([String: [Named]].self, #"{"k":[{"name":1}]}"#).hasPrefix("…[0].name: expected String, found number"))
    #expect(text([String: Int].self, #"{"\#(String(repeating: "k", count: 50_000))":"x"}"#).count < 500)
    #expect(text([[Int]].self, "[[1],[null]]").hasPrefix("[1][0]: expected Int, found null"))
  }

  struct Named: Decodable { var name: String }

  /// The value of such a key may be from the body, as that of a dictionary is.
  @Test func aCodingKeyWithAValueIsNotPrinted() throws {
    enum Key: CodingKey {
      case name(String)
      var stringValue: String {
        switch self {
        case .name(let text): text
        }
      }
      var intValue: Int? { nil }
      init?(stringValue: String) { self = .name(stringValue) }
      init?(intValue _: Int) { nil }
    }
    let url = try #require(URL(string: "http://127.0.0.1/"))
    let response = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
    let cause = DecodingError.dataCorrupted(.init(codingPath: [Key.name("SECRET")], debugDescription: ""))
    #expect("\(NetworkError.undecodable(cause, response, Data()))".hasPrefix("…: is not valid: 200"))
  }

  /// An index is printed, and a key of the body is not, although it is a number too.
  @Test func aKeyThatIsANumberIsNotPrinted() throws {
    let url = try #require(URL(string: "http://127.0.0.1/"))
    let response = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
    let body = Data(#"[{"4111111111111111":"x"}]"#.utf8)
    let cause = #expect(throws: DecodingError.self) { try JSONDecoder().decode([[Int: Int]].self, from: body) }
    let text = "\(NetworkError.undecodable(try #require(cause), response, body))"
    #expect(text.hasPrefix("[0].…: expected Int, found string: 200"), "\(text)")
  }

  @Test func genericEndpointsAreParsedByTheirTypeToo() async throws {
    let empty = try LoopbackServer(script: .status(200))
    #expect(try await session.load(Of<Int?>(server: empty)) == nil)
    #expect(try await session.load(Of<JSONValue>(server: empty)) == JSONValue(nil))
    #expect(try await session.load(Of<String>(server: empty)) == "")
    let text = try LoopbackServer(script: .ok("hello"))
    #expect(try await session.load(Of<String>(server: text)) == "hello")
    #expect(try await session.load(Of<String?>(server: text)) == "hello")
    #expect(try await session.load(Of<Data>(server: text)) == Data("hello".utf8))
    #expect(text.requests.allSatisfy { $0.value("Accept") != "application/json" })
  }

  @Test func jsonThatIsTooDeepIsAnErrorAndNoCrash() {
    for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
      let deep = String(repeating: open, count: 300) + "1" + String(repeating: close, count: 300)
      #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONValue.self, from: Data(deep.utf8)) }
      let fair = String(repeating: open, count: 90) + "1" + String(repeating: close, count: 90)
      #expect(throws: Never.self) { try JSONDecoder().decode(JSONValue.self, from: Data(fair.utf8)) }
    }
  }

  @Test func jsonWithoutAType() throws {
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
}
