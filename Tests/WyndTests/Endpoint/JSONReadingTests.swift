import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Untyped JSON is read in one pass.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct JSONReadingTests {
  static let valid = [
    "null", " \t\r\n1 \n", #""""#, #""a\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00\u0000""#, #""Bélla 😀 \uFFFF""#,
    #"[1,"a",true,false,null,{},[],[[]],{"a":{"b":[1.5e-3,-0,0.5,1E+2]}}]"#, "[ 1 , 2 ]", #"{ "a" : 1 , "b" : [ ] }"#,
    #"{"a":1,"a":2,"a":3}"#, #"{"":{"":0}}"#, "0", "-1.25", "1e5", "\u{FEFF}[1]",
  ]
  @Test(arguments: valid) func readsTheSameValueAsJSONDecoder(_ text: String) throws {
    let value = try JSONValue(data: Data(text.utf8))
    #expect(try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) == value)
    #expect(try JSONValue(data: Data("\(value)".utf8)) == value)
  }

  static let invalid = [
    "", " ", "nul", "nulll", "tru", "False", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{", "{\"a\"", "{\"a\":",
    "{\"a\":1",
    "{\"a\":1,}", "{a:1}", "{1:1}", "{\"a\" 1}", "1 2", "01", "-", "+1", ".5", "1.", "1.e2", "1e", "1e+", "0x1", "NaN",
    "Infinity", "--1", "-a", "\"", "\"a", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\u12G4\"", "\"\\u+123\"", "\"\\uD800\"",
    "\"\\uDC00\"", "\"\\uD800\\u0041\"", "\"\\uD800x\"", "\"a\nb\"", "\"a\u{1}\"", "'a'", "[1]]", "// 1", "[1]x",
    "\u{A0}1",
  ]
  @Test(arguments: invalid) func rejectsInvalidJSON(_ text: String) {
    #expect(throws: DecodingError.self) { try JSONValue(data: Data(text.utf8)) }
  }

  @Test func rejectsBytesThatAreNotUTF8() {
    for bytes: [UInt8] in [
      [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x5B, 0x31, 0x5D, 0x80],
    ] {
      #expect(throws: DecodingError.self) { try JSONValue(data: Data(bytes)) }
    }
  }

  @Test func readsNoMoreThan100Levels() throws {
    for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
      func text(_ levels: Int) -> Data {
        Data((String(repeating: open, count: levels) + "1" + String(repeating: close, count: levels)).utf8)
      }
      #expect(throws: Never.self) { try JSONValue(data: text(100)) }
      #expect(throws: DecodingError.self) { try JSONValue(data: text(101)) }
      #expect(throws: DecodingError.self) { try JSONValue(data: text(200_000)) }
      // Levels beside each other do not add up.
      let wide = "[" + Array(repeating: "[[1]]", count: 200).joined(separator: ",") + "]"
      #expect(throws: Never.self) { try JSONValue(data: Data(wide.utf8)) }
    }
  }

  /// 20,000 values whose kind changes each time, 98 levels deep. A decoder that tries the kinds takes seconds.
  @Test func readsHostileJSONInLinearTime() throws {
    func seconds(_ count: Int) throws -> Double {
      let kinds = ["1", #""a""#, "true", "null", "[]", "{}", "1.5"]
      let values = (0..<count).map { kinds[$0 % kinds.count] }.joined(separator: ",")
      let data = Data((String(repeating: "[", count: 98) + values + String(repeating: "]", count: 98)).utf8)
      return try (0..<3).map { _ in
        let began = Self.processorTime()
        let json = try JSONValue(data: data)
        #expect("\(json)".utf8.count == data.count)
        return Self.processorTime() - began
      }.min() ?? 0
    }
    let (few, many) = (try seconds(20_000), try seconds(80_000))
    #expect(many < few * 16 + 0.3, "\(few) \(many)")
    #expect(few < 1, "\(few)")
  }

  /// Of this thread: other tests and programs have most of the processor.
  static func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  @Test func anEndpointReadsItsResponseInOnePass() async throws {
    let script = NetworkScript([.ok(#"{"a":[1,"b"]}"#), .ok("[1,]"), .ok("['a',]")])
    struct Call: Endpoint {
      typealias Response = JSONValue
      var host: String { "a.example" }
      var path: String { "/" }
      var allowsJSON5 = false
      var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = allowsJSON5
        return decoder
      }
    }
    #expect(try await script.load(Call()) == ["a": [1, "b"]])
    let error = await #expect(throws: NetworkError.self) { try await script.load(Call()) }
    guard case .undecodable(DecodingError.dataCorrupted(let context), _, _)? = error else {
      Issue.record("\(String(describing: error))"); return
    }
    #expect(context.debugDescription == "not valid JSON at byte 3")
    #expect(try await script.load(Call(allowsJSON5: true)) == ["a"])
  }
}
