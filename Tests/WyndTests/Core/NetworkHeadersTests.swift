import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One type for the header fields that are sent and for those that arrive.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct NetworkHeadersTests {
  @Test func readsAndWritesFieldsWithoutRegardToCase() {
    var headers: NetworkHeaders = ["Accept": "a/b", "X-A": "1", "x-a": "2"]
    #expect(headers["ACCEPT"] == "a/b" && headers["x-A"] == "1, 2" && headers["X-B"] == nil)
    headers["accept"] = "c/d"
    headers["X-A"] = nil
    #expect(headers.fields == [.init("accept", "c/d")])
    #expect(NetworkHeaders(["b": "2", "a": "1"]) == [.init("a", "1"), .init("b", "2")])
  }

  @Test func textHidesCredentials() {
    let headers: NetworkHeaders = [.authorization(bearer: "SECRET"), .userAgent("App/1")]
    #expect("\(headers)" == "[Authorization: …, User-Agent: App/1]")
  }

  @Test func bothLiteralsAreSentByAClientAndACall() async throws {
    let script = NetworkScript([.ok("x")])
    let client = NetworkClient(on: script, headers: ["X-A": "1", "X-B": "2"])
    let named = NetworkClient(baseURL: script.baseURL, on: client, headers: [.userAgent("App/1")])
    try await named.load(.get("/", headers: ["x-b": "3"]))
    try await named.load(.get("/", headers: [.init("X-C", "4"), .init("X-C", "5")]))
    let sent = script.requests
    #expect(sent.map { $0.value(forHTTPHeaderField: "X-A") } == ["1", "1"])
    #expect(sent.map { $0.value(forHTTPHeaderField: "X-B") } == ["3", "2"])
    #expect(sent[1].value(forHTTPHeaderField: "X-C") == "4,5")
    #expect(sent[1].value(forHTTPHeaderField: "User-Agent") == "App/1")
  }

  @Test func clientSendsAllFieldsOfAName() async throws {
    let script = NetworkScript([.ok("x")])
    let client = NetworkClient(baseURL: script.baseURL, on: script, headers: [.init("X-C", "4"), .init("x-c", "5")])
    try await client.load(.get("/"))
    try await client.load(.get("/", headers: ["X-C": "6"]))
    #expect(script.requests.map { $0.value(forHTTPHeaderField: "X-C") } == ["4,5", "6"])
  }

  /// `Accept: application/json` is only the default of an endpoint that is decoded.
  @Test func acceptOfTheClientPrecedesTheDefaultOfAnEndpoint() async throws {
    let script = NetworkScript([.ok("7")])
    let client = NetworkClient(baseURL: script.baseURL, on: script, headers: ["accept": "application/vnd.a+json"])
    let outer = NetworkClient(on: client)
    _ = try await client.load(.get("/", as: Int.self))
    _ = try await outer.load(.get("/", as: Int.self))
    _ = try await client.load(.get("/", headers: [.accept("a/b")], as: Int.self))
    _ = try await script.load(.get("/", as: Int.self))
    let sent = script.requests.map { $0.value(forHTTPHeaderField: "Accept") }
    #expect(sent == ["application/vnd.a+json", "application/vnd.a+json", "a/b", "application/json"])
  }

  @Test func readsTheFieldsOfAResponse() async throws {
    let server = try LoopbackServer(script: .status(200, [("X-Total", "7"), ("x-other", "a b")]))
    let response = try await URLSession.shared.networkResponse(for: server.url(), allowEmptyData: true)
    #expect(response.headers["x-total"] == "7" && response.headers["X-Other"] == "a b")
    #expect(response.value(forHTTPHeaderField: "X-TOTAL") == "7" && response.value(forHTTPHeaderField: "X-B") == nil)
  }
}
