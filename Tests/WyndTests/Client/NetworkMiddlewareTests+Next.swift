import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a middleware does with `next`, and what the request and the response keep on their way through it.
extension NetworkMiddlewareTests {
  /// Adds a secret in a field whose name does not say so.
  struct Member: NetworkMiddleware {
    var secretFields: Set<String> = []
    func respond(
      to request: URLRequest, in call: NetworkMiddlewareCall, next: NetworkMiddlewareNext
    ) async throws -> NetworkResponse<Data> {
      var request = request
      request.setValue("7", forHTTPHeaderField: "X-Member")
      return try await next(request)
    }
  }

  @Test(arguments: [true, false]) func dropsTheSecretOfAMiddlewareOnARedirect(onAClient: Bool) async throws {
    let other = try LoopbackServer(script: .ok())
    let server = try LoopbackServer { request in
      request.target == "/" ? .redirect(307, to: "/again") : .redirect(307, to: other.url("/stolen").absoluteString)
    }
    for fields in [["x-member"], []] as [Set<String>] {
      var client = NetworkClient(policy: .quick(), middleware: [Member(secretFields: fields)])
      if onAClient { client = NetworkClient(on: client, policy: .quick()) }
      _ = try await client.performNetworkRequest(server.url(), allowEmptyData: true)
      #expect(other.requests.last?.value("X-Member") == (fields.isEmpty ? "7" : nil))
    }
    #expect(server.requests.count == 4 && server.requests.allSatisfy { $0.value("X-Member") == "7" })
  }

  /// A field that the session adds does not have to look like a secret, either.
  @Test func dropsASecretOfTheSessionOnARedirect() async throws {
    let other = try LoopbackServer(script: .ok())
    let server = try LoopbackServer { _ in .redirect(to: other.url("/stolen").absoluteString) }
    let session = URLSession.ephemeral { $0.httpAdditionalHeaders = ["X-Member": "7"] }
    for fields in [["x-member"], []] as [Set<String>] {
      let client = NetworkClient(on: session, policy: .quick(), middleware: [SecretFields(secretFields: fields)])
      _ = try await client.performNetworkRequest(server.url(), allowEmptyData: true)
      #expect(server.requests.last?.value("X-Member") == "7")
      #expect(other.requests.last?.value("X-Member") ?? "" == (fields.isEmpty ? "7" : ""))
    }
  }

  /// A field of the client itself does not have to look like a secret, either.
  @Test func secretFieldOfTheClientIsSentToItsOriginOnly() async throws {
    let script = NetworkScript([.ok("x")])
    let client = NetworkClient(
      baseURL: URL(string: "https://a.example"), on: script, headers: ["X-Member": "7"],
      middleware: [SecretFields(secretFields: ["X-Member"])])
    for url in ["https://a.example/", "https://b.example/"] {
      _ = try await client.performNetworkRequest(try #require(URL(string: url)))
    }
    #expect(script.values(of: "X-Member") == ["7", nil])
  }
}
