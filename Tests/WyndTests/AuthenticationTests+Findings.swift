import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension AuthenticationTests {
  @Test func aLoginThroughTheSameClientIsSent() async throws {
    let script = NetworkScript { request, _ in
      request.url?.path == "/login" ? .ok("token") : .status(401)
    }
    let authentication = Authentication<BearerToken>(for: try #require(Self.origin)) { _, _ in throw Expired() }
    let client = Self.client(script, authentication)
    #expect(try await Self.get(client, "/login").data == Data("token".utf8))
    #expect(Self.tokens(script) == [nil])
  }

  @Test func theClientOfARenewalHasNoAuthentication() async throws {
    let script = NetworkScript.scripted([.status(401), .ok("x")])
    let hasIt = Box<Bool>()
    let authentication = Authentication(for: try #require(Self.origin), BearerToken("a")) { _, client in
      hasIt.value = client.middleware.contains { $0 is Authentication<BearerToken> }
      return BearerToken("b")
    }
    _ = try await Self.get(Self.client(script, authentication))
    #expect(hasIt.value == false)
  }

  /// Without a task that the authentication knows, it would wait for itself.
  @Test func aRenewalMaySendFromAnyTask() async throws {
    let server = try LoopbackServer { request in
      if request.target == "/token" { return request.value("Authorization") == nil ? .ok("new") : .status(401) }
      return request.value("Authorization") == "Bearer new" ? .ok("ok") : .status(401)
    }
    let authentication = Authentication(for: server.url(), BearerToken("old")) { _, client in
      let data = try await Task.detached { try await Self.get(client, "/token").data }.value
      return BearerToken(String(decoding: data, as: UTF8.self))
    }
    let client = Self.client(server, authentication, policy: RetryPolicy(deadline: .seconds(60), budget: nil))
    #expect(try await Self.get(client).data == Data("ok".utf8))
  }

  @Test func aTokenIsNotPrinted() {
    let token = BearerToken("s3cr3t")
    for text in ["\(token)", String(describing: token), String(reflecting: token), "\(Optional(token) as Any)"] {
      #expect(!text.contains("s3cr3t"))
    }
  }

  @Test func aResponsePrintsNoSecret() throws {
    let head = HTTPURLResponse(
      url: try #require(URL(string: "https://a.example/?token=s3cr3t")), statusCode: 200, httpVersion: nil,
      headerFields: ["Set-Cookie": "a=s3cr3t"])
    let response = NetworkResponse(data: Data("s3cr3t".utf8), response: try #require(head))
    for text in ["\(response)", String(reflecting: response)] { #expect(!text.contains("s3cr3t")) }
  }
}
