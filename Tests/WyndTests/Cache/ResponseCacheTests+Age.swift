import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How old a response is that took long to arrive (RFC 9111 §4.2.3).
extension ResponseCacheTests {
  private static let delay: Int32 = 2000

  private static func slow(_ response: ScriptedResponse) -> ScriptedResponse {
    ScriptedResponse([.pause(milliseconds: delay)] + response.steps)
  }

  private static func client(_ server: LoopbackServer, policy: RetryPolicy = .never) -> NetworkClient {
    NetworkClient(baseURL: server.url(), on: ResponseCache(), policy: policy)
  }

  /// The Age with which the cache serves what it has stored, as a response or as an error.
  private static func age(_ client: NetworkClient, _ server: LoopbackServer) async throws -> Int {
    do {
      let response = try await client.networkResponse(for: server.url())
      #expect(response.source == .cache)
      return try #require(response.response.value(forHTTPHeaderField: "Age").flatMap { Int($0) })
    } catch let error as NetworkError {
      return try #require(error.response?.value(forHTTPHeaderField: "Age").flatMap { Int($0) })
    }
  }

  @Test func aResponseThatTakesLongerThanItsMaxAgeIsStale() async throws {
    let fields = [("Cache-Control", "max-age=2")]
    let server = try LoopbackServer(script: Self.slow(.status(200, fields, body: "one")), .ok("two"))
    let client = Self.client(server)
    for expected in ["one", "two"] {
      #expect(try await client.performNetworkRequest(server.url()) == Data(expected.utf8))
    }
  }

  @Test(arguments: [200, 404]) func ageIncludesTheTimeUntilTheResponseArrived(_ status: Int) async throws {
    let fields = [("Cache-Control", "max-age=600"), ("Age", "10")]
    let server = try LoopbackServer(script: Self.slow(.status(status, fields, body: "one")))
    let client = Self.client(server)
    _ = try? await client.performNetworkRequest(server.url())
    #expect(try await Self.age(client, server) >= 12)
    #expect(server.requests.count == 1)
  }
}
