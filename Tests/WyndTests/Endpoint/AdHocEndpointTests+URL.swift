import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Calls of a whole URL, such as `client.load(.get(url, as: [User].self))`.
extension AdHocEndpointTests {
  static let sent: [(String, String)] = [
    // As it is written: a `+`, a signature and an order of items that an encoder would change.
    ("https://a.example/x?b=1+2&a=%2B%20c&sig=a/b=", "https://a.example/x?b=1+2&a=%2B%20c&sig=a/b="),
    ("https://a.example?c=1", "https://a.example/?c=1"), ("https://a.example/x?q=1#part", "https://a.example/x?q=1"),
    ("users/7", "https://a.example/v2/users/7"),
    // From a code that was scanned.
    ("HTTPS://A.EXAMPLE/X?Q", "HTTPS://A.EXAMPLE/X?Q"),
  ]
  @Test(arguments: sent) func sendsAURLAsItIsWritten(_ text: String, _ expected: String) async throws {
    let script = NetworkScript([.ok("[7]")])
    let url = try #require(URL(string: text))
    #expect(try await EndpointTests.client(script).load(.get(url, as: [Int].self)) == [7])
    #expect(script.requests.map { $0.url?.absoluteString } == [expected])
    #expect(script.requests.first?.value(forHTTPHeaderField: "Accept") == "application/json")
  }

  @Test(arguments: [
    ("https://a.example/echo?", "?b=2"), ("https://a.example/echo?a=1", "?a=1&b=2"), ("https://a.example/echo", "?b=2"),
    ("https://a.example/echo?a=1&", "?a=1&b=2"),
  ])
  func addsAQueryToThatOfAURL(_ text: String, _ expected: String) async throws {
    let script = NetworkScript([.ok("")])
    try await script.load(.get(try #require(URL(string: text)), query: ["b": 2]))
    #expect(script.requests.map { $0.url?.absoluteString } == ["https://a.example/echo\(expected)"])
  }

  @Test func removesDotSegmentsOfAURL() throws {
    let url = try #require(URL(string: "https://a.example/a/../b/./c?d=.."))
    #expect(try AdHocEndpoint.get(url, as: Void.self).url.absoluteString == "https://a.example/b/c?d=..")
  }

  @Test func aRelativeURLWithABaseIsThatURL() throws {
    let base = URL(string: "https://a.example/b/c/d")
    let url = try #require(URL(string: "../x#part", relativeTo: base))
    #expect(try AdHocEndpoint.get(url, as: Void.self).url.absoluteString == "https://a.example/b/x")
    #expect(
      try AdHocEndpoint.get(url, query: ["a": 1], as: Void.self).url.absoluteString == "https://a.example/b/x?a=1")
  }

  @Test(arguments: [
    "https://u:p@a.example/x", "https://u@a.example/x", "ftp://a.example/x", "mailto:a@a.example", "../x", "/a/../../x",
    "//b.example/x",
  ])
  func rejectsURLsThatCannotBeSent(_ text: String) async throws {
    let script = NetworkScript([.ok("")])
    let url = try #require(URL(string: text))
    let error = await #expect(throws: NetworkError.self) {
      try await EndpointTests.client(script).load(.get(url, as: Void.self))
    }
    guard case .invalidRequest(let reason)? = error else { Issue.record("\(String(describing: error))"); return }
    #expect(!reason.isEmpty && script.requests.isEmpty)
  }

  @Test func addsOnlyTheQueryOfARelativeURLToTheBaseURL() async throws {
    let script = NetworkScript([.ok("")])
    let client = NetworkClient(baseURL: URL(string: "https://a.example/v2"), on: script)
    try await client.load(.get(try #require(URL(string: "?page=2"))))
    #expect(script.requests.map { $0.url?.absoluteString } == ["https://a.example/v2?page=2"])
  }

  // MARK: Pages

  /// As in the article about endpoints.
  static func allUsers(_ client: NetworkClient) async throws -> [User] {
    var users: [User] = []
    var page: AdHocEndpoint<[User]>? = .get("/users", query: ["per_page": 2], as: [User].self)
    while let call = page {
      let response = try await client.loadResponse(call)
      users += response.value
      page = response.link("next").map { .get($0, as: [User].self) }
    }
    return users
  }

  @Test func loadsAllPages() async throws {
    let server = try LoopbackServer { request in
      let pages = ["/v1/users?per_page=2": "/v1/users?cursor=a%2Bb+c", "/v1/users?cursor=a%2Bb+c": "?cursor=3"]
      if request.index == 1 { return .status(503) }
      let links = pages[request.target].map { [("Link", "<\($0)>; rel=\"next\", </v1/users>; rel=first")] } ?? []
      return .status(200, links, body: #"[{"firstName":"\#(request.target)"}]"#)
    }
    let client = NetworkClient(
      baseURL: server.url("/v1"), headers: ["Authorization": "Bearer t"], policy: RetryPolicy(backoff: .immediate))
    let names = try await Self.allUsers(client).map(\.firstName)
    #expect(names == ["/v1/users?per_page=2", "/v1/users?cursor=a%2Bb+c", "/v1/users?cursor=3"])
    #expect(server.requests.count == 4 && server.requests.allSatisfy { $0.value("Authorization") == "Bearer t" })
  }

  @Test func doesNotSendCredentialsToANextPageElsewhere() async throws {
    let other = try LoopbackServer(script: .ok("[]"))
    let link = "<\(other.url("/users"))>; rel=next"
    let server = try LoopbackServer(script: .status(200, [("Link", link)], body: "[]"))
    let authentication = Authentication(for: server.url(), BearerToken("t")) { old, _ in old }
    let client = NetworkClient(
      baseURL: server.url("/v1"), headers: ["X-Api-Key": "K", "X-App": "1"],
      middleware: [authentication])
    _ = try await Self.allUsers(client)
    let (sent, received) = (try #require(server.requests.first), try #require(other.requests.first))
    #expect(sent.value("Authorization") == "Bearer t" && sent.value("X-Api-Key") == "K")
    #expect(received.value("Authorization") == nil && received.value("X-Api-Key") == nil)
    #expect(received.value("X-App") == "1" && received.target == "/users")
  }
}
