import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The key that makes a POST safe to repeat.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct IdempotencyKeyTests {
  @Test func keyIsQuotedAndTheSameInEveryAttempt() async throws {
    let server = try LoopbackServer { $0.index.isMultiple(of: 2) ? .reset : .ok("placed") }
    var request = URLRequest(url: server.url("/orders"), method: "POST")
    let key = UUID()
    #expect(request.idempotencyKey == nil)
    request.idempotencyKey = key
    #expect(request.idempotencyKey == key)
    let session = URLSession(configuration: .ephemeral)
    let policy = RetryPolicy.quick()
    #expect(try await session.performNetworkRequest(request, policy: policy) == Data("placed".utf8))
    #expect(server.values(of: "Idempotency-Key") == ["\"\(key)\"", "\"\(key)\""])

    request.idempotencyKey = nil
    await #expect(throws: NetworkError.self) { try await session.performNetworkRequest(request, policy: policy) }
    #expect(server.requests.count == 3 && server.requests.last?.value("Idempotency-Key") == nil)
  }

  /// Not only the attempt right before the conflict may be in progress.
  @Test func conflictIsRetriedIfAnyEarlierAttemptMayBeInProgress() async throws {
    let script = NetworkScript([.dropped, .failure(.cannotConnectToHost), .status(409), .ok("placed")])
    var request = URLRequest(url: try #require(URL(string: "https://a.example/orders")))
    request.httpMethod = "POST"
    request.idempotencyKey = UUID()
    let policy = RetryPolicy(backoff: .immediate, budget: .unlimited)
    #expect(try await script.performNetworkRequest(request, policy: policy) == Data("placed".utf8))
    #expect(script.requests.count == 4)
  }
}
