import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension EndpointParsingTests {
  @Test func describesUndecodableBodyInOneShortLine() throws {
    enum Color: String, Decodable { case red }
    let url = try #require(URL(string: "http://127.0.0.1/"))
    let response = try HTTPURLResponse.made(200, url: url)
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

  static let notJSON: [(String, String, String)] = [
    ("text/html; charset=utf-8", "<!DOCTYPE html><p>SECRET", "its type is text/html"),
    ("text/plain", "SECRET", "its type is text/plain"),
    ("application/json", #"{"token":"SECRET","a":[1,2"#, ""),
    ("application/problem+json", "<p>SECRET", ""),
    ("", "<p>SECRET", ""),
    ("a b/SECRET", "<p>SECRET", ""),
    ("a/" + String(repeating: "SECRET", count: 10), "<p>", ""),
  ]
  @Test(arguments: notJSON) func saysWhyABodyIsNotJSON(_ type: String, _ body: String, _ reason: String) async throws {
    let server = try LoopbackServer { _ in .ok(Array(body.utf8), [("Content-Type", type)]) }
    let client = NetworkClient(baseURL: server.url(), on: URLSession(configuration: .ephemeral))
    let errors = [
      await #expect(throws: NetworkError.self) { try await client.load(.get("/", as: [String: String].self)) },
      await #expect(throws: NetworkError.self) { try await client.load(.get("/", as: [Int].self)) },
    ]
    for error in errors {
      let text = "\(try #require(error))"
      #expect(text.hasPrefix("the body: is not valid" + (reason.isEmpty ? ": 200 from" : " (\(reason)")), "\(text)")
      #expect(!text.contains("SECRET"))
    }
  }

  struct Named: Decodable { var name: String }

  /// The value of such a key may be from the body, as that of a dictionary is.
  @Test func hidesCodingKeysWithAssociatedValues() throws {
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
    let response = try HTTPURLResponse.made(200, url: url)
    let cause = DecodingError.dataCorrupted(.init(codingPath: [Key.name("SECRET")], debugDescription: ""))
    #expect("\(NetworkError.undecodable(cause, response, Data()))".hasPrefix("…: is not valid: 200"))
  }

  /// An index is printed. A key of the body is not, even if it is a number.
  @Test func hidesNumericKeysOfTheBody() throws {
    let url = try #require(URL(string: "http://127.0.0.1/"))
    let response = try HTTPURLResponse.made(200, url: url)
    let body = Data(#"[{"4111111111111111":"x"}]"#.utf8)
    let cause = #expect(throws: DecodingError.self) { try JSONDecoder().decode([[Int: Int]].self, from: body) }
    let text = "\(NetworkError.undecodable(try #require(cause), response, body))"
    #expect(text.hasPrefix("[0].…: expected Int, found string: 200"), "\(text)")
  }
}
