import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How the members of a value are written as query items and form fields.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct QueryItemEncodingTests {
  struct Filter: Encodable {
    var q = "dogs & cats"
    var page = 2
    var tags = ["a", "b"]
    var range = ["min": 1.5, "max": 20]
    var open = true
    var since = Date(timeIntervalSince1970: 1_795_276_800.25)
    var none: String?
    var boxes: [[String: Int]] = [["w": 1], ["w": 2]]
  }

  /// The query that is sent, without percent-encoding.
  static func text(_ query: NetworkQuery) async throws -> String? {
    let script = NetworkScript([.ok("")])
    try await script.load(.get("/x", query: query))
    return script.requests.first?.url?.query(percentEncoded: false)
  }

  @Test func encodesAStruct() async throws {
    let expected = """
      boxes[0][w]=1&boxes[1][w]=2&open=true&page=2&q=dogs & cats&range[max]=20&range[min]=1.5\
      &since=2026-11-21T16:00:00.250Z&tags=a&tags=b
      """
    #expect(try await Self.text(.encoding(Filter())) == expected)
  }

  @Test func doesNotRoundLongNumbers() async throws {
    struct Numbers: Encodable {
      var a = UInt64.max
      var b = Int64.min
      var c = Decimal(string: "12345678901234567.89")
      var d = 0.1
      var e = 1e300
      var f = 1.0
      var g = -0.0
    }
    let expected = "a=18446744073709551615&b=-9223372036854775808&c=12345678901234567.89&d=0.1&e=1e+300&f=1&g=0"
    #expect(try await Self.text(.encoding(Numbers())) == expected)
  }

  @Test func rejectsValuesWithoutNames() async {
    let script = NetworkScript([.ok("")])
    let queries: [NetworkQuery] = [.encoding([1, 2]), .encoding("x"), .encoding(["a": Double.nan])]
    for query in queries {
      let error = await #expect(throws: NetworkError.self) { try await script.load(.get("/x", query: query)) }
      guard case .invalidRequest(let reason)? = error else { Issue.record("\(error as Any)"); continue }
      #expect(reason.hasPrefix("the query cannot be encoded: "))
    }
    let bodies: [RequestBody] = [.form([1, 2]), .form("x"), .form(["a": Double.nan])]
    for body in bodies {
      let error = await #expect(throws: NetworkError.self) { try await script.load(.post("/x", body: body)) }
      guard case .invalidRequest(let reason)? = error else { Issue.record("\(error as Any)"); continue }
      #expect(reason.hasPrefix("the body cannot be encoded: "))
    }
    #expect(script.requests.isEmpty)
  }

  /// The text names what cannot be encoded, and ends with one full stop.
  @Test func namesTheQueryOrTheBodyThatCannotBeEncoded() async throws {
    let script = NetworkScript([.ok("x")])
    let query = await #expect(throws: NetworkError.self) {
      try await script.load(.get("/x", query: .encoding([1, 2])))
    }
    #expect(query?.localizedDescription.contains("the query cannot be encoded: only a struct") == true)
    let body = await #expect(throws: NetworkError.self) {
      try await script.load(.post("/x", body: .json(["a": Double.nan])))
    }
    let text = try #require(body?.localizedDescription)
    #expect(text.contains("the body cannot be encoded: ") && text.hasSuffix(".") && !text.hasSuffix(".."), "\(text)")
    #expect(script.requests.isEmpty)
  }

  /// A text, or an object of texts.
  enum Mixed: Encodable, ExpressibleByStringLiteral, ExpressibleByDictionaryLiteral {
    case text(String)
    case object([String: String])
    init(stringLiteral text: String) { self = .text(text) }
    init(dictionaryLiteral members: (String, String)...) { self = .object(Dictionary(uniqueKeysWithValues: members)) }
    func encode(to encoder: any Encoder) throws {
      switch self {
      case .text(let text): try text.encode(to: encoder)
      case .object(let members): try members.encode(to: encoder)
      }
    }
  }
  static let values: [(NetworkValues, String)] = [
    (["b": true, "a": false], "a=false&b=true"),
    (["a": [[1, 2], [3]]], "a[0]=1&a[0]=2&a[1]=3"),
    (["a": [["b": "c"], "d"] as [Mixed]], "a[0][b]=c&a[1]=d"),
    (["a": ["c": ["d": 1]]], "a[c][d]=1"), (["a": [1, nil, 2] as [Int?]], "a=1&a=2"),
    (["a": "true", "b": "1", "c": "null", "d": ""], "a=true&b=1&c=null&d="),
    (["a": Date(timeIntervalSince1970: 0)], "a=1970-01-01T00:00:00Z"),
    (["a": -1.25, "b": 1e21], "a=-1.25&b=1000000000000000000000"),
    (["a": URL(string: "https://a.example/?b=c"), "b": UUID?.none], "a=https://a.example/?b=c"),
    (["a": [Int](), "b": ["c": nil] as NetworkObject, "d": 1], "d=1"),
  ]
  /// The values of a dictionary, those of a struct and form fields are written alike.
  @Test(arguments: values) func encodesNestedValuesByConvention(_ values: NetworkValues, _ text: String) async throws {
    let script = NetworkScript([.ok("")])
    try await script.load(.get("/x", query: values))
    #expect(script.requests[0].url?.query(percentEncoded: false) == text)
    #expect(try await Self.text(.encoding(NetworkObject(values))) == text)
    try await script.load(.post("/x", body: .form(values)))
    let form = script.requests[1].text
    #expect(form.removingPercentEncoding == text)
  }

  @Test func sendsNoQueryForNoValues() async throws {
    let none: NetworkValues = ["a": nil]
    let script = NetworkScript([.ok("")])
    try await script.load(.get("/x", query: none))
    try await script.load(.get("/x", query: .encoding(none.mapValues { _ in Int?.none })))
    try await script.load(.get("/x", query: .items([])))
    try await script.load(.get("/x", query: [:]))
    #expect(script.requests.map { $0.url?.absoluteString } == ["/x", "/x", "/x", "/x"])
  }
}
