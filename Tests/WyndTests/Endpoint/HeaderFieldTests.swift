import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Header fields that could forge another field, or of which the server would receive any, are refused.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct HeaderFieldTests {
  struct Call: Endpoint {
    typealias Response = Void
    let path = "/x"
    let headers: [String: String]
  }

  static let noToken = "the name of a header field is not a token (RFC 9110 §5.6.2)"
  static let lineBreak = "the header field X-A holds a line break or NUL"
  static let invalid: [(headers: [String: String], reason: String)] = [
    (["X-A": "1\nX-B: 2"], lineBreak), (["X-A": "1\rX-B: 2"], lineBreak), (["X-A": "1\r\nX-B: 2"], lineBreak),
    (["X-A": "1\r\n"], lineBreak), (["X-A": "\n"], lineBreak), (["X-A": "1\u{0}2"], lineBreak),
    (["X-A\nX-B": "1"], noToken), (["X-A\r\nX-B": "1"], noToken), (["X-A\r": "1"], noToken),
    (["X-A\u{0}": "1"], noToken), (["X-A:": "1"], noToken), ([":X-A": "1"], noToken), (["X A": "1"], noToken),
    ([" X-A": "1"], noToken), (["X-A ": "1"], noToken), (["X-A\t": "1"], noToken), (["": "1"], noToken),
    (["X-Ä": "1"], noToken),
    (["Accept": "a/b", "accept": "c/d"], "the header fields Accept and accept have the same name"),
    (["X-Page": "1", "X-PAGE": "1", "X-B": "2"], "the header fields X-PAGE and X-Page have the same name"),
    // A valid field beside an invalid one.
    (["X-0": "1", "X-A": "\r"], lineBreak),
  ]

  @Test(arguments: invalid) func refusesInvalidFieldsAndSendsNothing(
    _ headers: [String: String], _ reason: String
  ) async {
    let script = NetworkScript([.ok("")])
    let base = URL(string: "https://a.example")
    let client = NetworkClient(baseURL: base, on: script)
    let named = NetworkClient(baseURL: base, on: script, headers: headers)
    let errors: [NetworkError?] = [
      #expect(throws: NetworkError.self) { try Call(headers: headers).request },
      await #expect(throws: NetworkError.self) { try await client.load(Call(headers: headers)) },
      await #expect(throws: NetworkError.self) { try await client.load(.get("/x", headers: headers)) },
      await #expect(throws: NetworkError.self) { try await client.load(.post("/x", headers: headers, as: Int.self)) },
      await #expect(throws: NetworkError.self) { try await named.load(.get("/x")) },
    ]
    for error in errors {
      guard case .invalidRequest(let text)? = error else { Issue.record("\(error as Any)"); continue }
      #expect(text == reason)
    }
    #expect(script.requests.isEmpty)
  }

  /// The field of a call replaces that of the client, however it is spelled.
  @Test func spellingsInACallAndAClientAreOneField() async throws {
    let script = NetworkScript([.ok("")])
    let client = NetworkClient(
      baseURL: URL(string: "https://a.example"), on: script, headers: ["X-Page": "1", "X-App": "2"])
    try await client.load(.get("/x", headers: ["x-page": "3"]))
    try await client.load(Call(headers: ["X-PAGE": "4"]))
    #expect(script.values(of: "X-Page") == ["3", "4"])
    #expect(script.values(of: "X-App") == ["2", "2"])
  }

  @Test(arguments: ["", "a\tb", "comma, semicolon; \"quotes\" {}()", "caf\u{E9}"])
  func sendsOtherValuesUnchanged(_ value: String) async throws {
    let script = NetworkScript([.ok("")])
    try await script.load(.get("/x", headers: ["X-A": value]))
    #expect(script.requests.first?.value(forHTTPHeaderField: "X-A") == value)
  }
}
