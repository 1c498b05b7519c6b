import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The header fields that are sent, and those that arrive.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct NetworkHeadersTests {
  static let base = URL(string: "https://a.example")

  /// The header fields of a response.
  static func headers(_ fields: [String: String]) throws -> NetworkHeaders {
    try NetworkResponse(data: Data(), response: .made(200, fields)).headers
  }

  @Test func readsFieldsWithoutRegardToCase() throws {
    let headers = try Self.headers(["X-Total": "7", "x-a": "1", "X-Empty": ""])
    #expect(headers["x-total"] == "7" && headers["X-TOTAL"] == "7" && headers["X-Total"] == "7")
    #expect(headers["X-A"] == "1" && headers["x-empty"] == "" && headers["X-B"] == nil && headers[""] == nil)
  }

  @Test func isASequenceOfNamesAndValuesSortedByName() throws {
    let headers = try Self.headers(["X-B": "2", "X-A": "1", "X-C": "3"])
    var texts: [String] = []
    for (name, value) in headers { texts.append("\(name)=\(value)") }
    #expect(texts == ["X-A=1", "X-B=2", "X-C=3"] && headers.map { $0.value } == ["1", "2", "3"])
    #expect(headers.dictionary == ["X-A": "1", "X-B": "2", "X-C": "3"])
    #expect(try headers == Self.headers(["X-C": "3", "X-B": "2", "X-A": "1"]) && headers != Self.headers([:]))
    #expect(try Array(Self.headers([:])).isEmpty && Self.headers([:]).dictionary.isEmpty)
  }

  @Test func textHidesCredentials() throws {
    let headers = try Self.headers(["X-Api-Key": "SECRET", "X-App": "App/1", "X-Other": "Bearer SECRET"])
    #expect("\(headers)" == "X-Api-Key: …, X-App: App/1, X-Other: …")
  }

  /// A redirect that is not followed often has the code of a sign-in.
  @Test func textHidesWhatMayBeSecretInURLs() throws {
    let secrets = [
      "https://user:PW@app/cb", "/cb?code=C", "https://a/cb#access_token=T", "<https://a/x?token=T>; rel=\"next\"",
      "5; url=https://a.example/?q=1", "//u:p@h/a", "#f", "\u{E4}\u{301}?\u{301}x",
    ]
    for value in secrets { #expect("\(try Self.headers(["Location": value]))" == "Location: …") }
    for value in ["https://a.example/b", "text/html; charset=utf-8", "W/\"1\"", ""] {
      #expect("\(try Self.headers(["Location": value]))" == "Location: \(value)")
    }
  }

  /// The padding of base64 looks like a name with an empty value.
  @Test func textHidesAQueryWithoutNames() throws {
    for query in ["c2VjcmV0", "c2VjcmV0=", "c2VjcmV0==", "a=1&c2VjcmV0="] {
      let error = NetworkError.endpointError(
        try HTTPURLResponse.made(500, [:], url: try #require(URL(string: "https://a.example/x?\(query)"))), nil)
      #expect(!"\(error)".contains("c2VjcmV0"), "\(error)")
    }
  }

  @Test func fieldsOfAClientAndACallAreSent() async throws {
    let script = NetworkScript([.ok("x")])
    let client = NetworkClient(on: script, headers: ["X-A": "1", "X-B": "2"])
    let named = NetworkClient(baseURL: Self.base, on: client, headers: ["User-Agent": "App/1"])
    try await named.load(.get("/", headers: ["x-b": "3"]))
    try await named.load(.get("/", headers: ["X-C": "4"]))
    let sent = script.requests
    #expect(sent.map { $0.value(forHTTPHeaderField: "X-A") } == ["1", "1"])
    #expect(sent.map { $0.value(forHTTPHeaderField: "X-B") } == ["3", "2"])
    #expect(sent[1].value(forHTTPHeaderField: "X-C") == "4")
    #expect(sent[1].value(forHTTPHeaderField: "User-Agent") == "App/1")
  }

  /// `Accept: application/json` is only the default of an endpoint that is decoded.
  @Test func acceptOfTheClientPrecedesTheDefaultOfAnEndpoint() async throws {
    let script = NetworkScript([.ok("7")])
    let client = NetworkClient(baseURL: Self.base, on: script, headers: ["accept": "application/vnd.a+json"])
    let outer = NetworkClient(on: client)
    _ = try await client.load(.get("/", as: Int.self))
    _ = try await outer.load(.get("/", as: Int.self))
    _ = try await client.load(.get("/", headers: ["Accept": "a/b"], as: Int.self))
    _ = try await script.load(.get("/", as: Int.self))
    let sent = script.values(of: "Accept")
    #expect(sent == ["application/vnd.a+json", "application/vnd.a+json", "a/b", "application/json"])
  }

  @Test func readsTheFieldsOfAResponse() async throws {
    let server = try LoopbackServer(script: .status(200, [("X-Total", "7"), ("x-other", "a b")]))
    let response = try await URLSession.shared.networkResponse(for: server.url(), allowEmptyData: true)
    #expect(response.headers["x-total"] == "7" && response.headers["X-Other"] == "a b")
    #expect(response.value(forHTTPHeaderField: "X-TOTAL") == "7" && response.value(forHTTPHeaderField: "X-B") == nil)
  }
}
