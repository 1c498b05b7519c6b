import Foundation
import Testing
import Wynd

/// The convention for query items, and its options.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct QueryEncoderTests {
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

  static func text(_ encoder: QueryEncoder, _ value: some Encodable) throws -> String {
    try encoder.encode(value).map { "\($0.name)=\($0.value ?? "nil")" }.joined(separator: "&")
  }

  static let styles: [(QueryEncoder, String)] = [
    (
      .init(),
      "boxes[0][w]=1&boxes[1][w]=2&open=true&page=2&q=dogs & cats&range[max]=20&range[min]=1.5&since=2026-11-21T16:00:00.250Z&tags=a&tags=b"
    ),
    (
      .init(arrays: .brackets, dates: .secondsSince1970),
      "boxes[0][w]=1&boxes[1][w]=2&open=true&page=2&q=dogs & cats&range[max]=20&range[min]=1.5&since=1795276800.25&tags[]=a&tags[]=b"
    ),
    (
      .init(arrays: .commas),
      "boxes[0][w]=1&boxes[1][w]=2&open=true&page=2&q=dogs & cats&range[max]=20&range[min]=1.5&since=2026-11-21T16:00:00.250Z&tags=a,b"
    ),
  ]
  @Test(arguments: styles) func encodesAStructInEachStyle(_ encoder: QueryEncoder, _ expected: String) throws {
    #expect(try Self.text(encoder, Filter()) == expected)
  }

  @Test func doesNotRoundLongNumbers() throws {
    struct Numbers: Encodable {
      var a = UInt64.max
      var b = Int64.min
      var c = Decimal(string: "12345678901234567.89")
      var d = 0.1
      var e = 1e300
      var f = 1.0
      var g = -0.0
    }
    #expect(
      try Self.text(.init(), Numbers())
        == "a=18446744073709551615&b=-9223372036854775808&c=12345678901234567.89&d=0.1&e=1e+300&f=1&g=0")
  }

  @Test func rejectsValuesWithoutNames() {
    #expect(throws: EncodingError.self) { try QueryEncoder().encode([1, 2]) }
    #expect(throws: EncodingError.self) { try QueryEncoder().encode("x") }
    #expect(throws: EncodingError.self) { try QueryEncoder().encode(["a": Double.nan]) }
  }

  /// The text names what cannot be encoded, and ends with one full stop.
  @Test func namesTheQueryOrTheBodyThatCannotBeEncoded() async throws {
    let script = NetworkScript([.ok("x")])
    let query = await #expect(throws: NetworkError.self) {
      try await script.load(.get("/x", query: .init([1, 2])))
    }
    #expect(query?.localizedDescription.contains("the query cannot be encoded: only a struct") == true)
    let body = await #expect(throws: NetworkError.self) {
      try await script.load(.post("/x", body: .json(["a": Double.nan])))
    }
    let text = try #require(body?.localizedDescription)
    #expect(text.contains("the body cannot be encoded: ") && text.hasSuffix(".") && !text.hasSuffix(".."), "\(text)")
    #expect(script.requests.isEmpty)
  }

  static let encoders: [(QueryEncoder, [String: (any Encodable & Sendable)?], String)] = [
    (.init(), ["b": true, "a": false], "a=false&b=true"),
    (.init(), ["a": [[1, 2], [3]]], "a[0]=1&a[0]=2&a[1]=3"),
    (.init(arrays: .brackets), ["a": [[1, 2], [3]]], "a[0][]=1&a[0][]=2&a[1][]=3"),
    (.init(arrays: .commas), ["a": [[1, 2], [3]]], "a[0]=1,2&a[1]=3"),
    (.init(), ["a": ["c": ["d": 1]]], "a[c][d]=1"), (.init(), ["a": [1, nil, 2] as [Int?]], "a=1&a=2"),
    (.init(), ["a": "true", "b": "1", "c": "null", "d": ""], "a=true&b=1&c=null&d="),
    (.init(), ["a": Date(timeIntervalSince1970: 0)], "a=1970-01-01T00:00:00Z"),
    (.init(), ["a": -1.25, "b": 1e21], "a=-1.25&b=1000000000000000000000"),
    (.init(), ["a": URL(string: "https://a.example/?b=c"), "b": UUID?.none], "a=https://a.example/?b=c"),
  ]
  @Test(arguments: encoders) func encodesNestedValuesByConvention(
    _ encoder: QueryEncoder, _ values: [String: (any Encodable & Sendable)?], _ text: String
  ) throws {
    let items = try encoder.encode(values)
    #expect(items.map { $0.name + ($0.value.map { "=" + $0 } ?? "") }.joined(separator: "&") == text)
  }
}
