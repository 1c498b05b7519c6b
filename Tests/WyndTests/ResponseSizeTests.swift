import Foundation
import LoopbackServer
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct ResponseSizeTests {
  let session = URLSession(configuration: .ephemeral)

  func fails(_ server: LoopbackServer, _ limit: Int?, _ method: String = "GET") async -> Bool {
    var request = URLRequest(url: server.url())
    request.httpMethod = method
    let result = await session.result(of: request, policy: RetryPolicy(maxResponseSize: limit, budget: nil))
    if case .failure(.responseTooLarge(limit ?? 0)) = result { return true }
    return false
  }

  @Test func theLimitIsABodysSize() async throws {
    let server = try LoopbackServer { _ in .ok(someBytes(1_000)) }
    #expect(await fails(server, 999))
    #expect(await !fails(server, 1_000))
    #expect(await !fails(server, nil))
    // Nothing is repeated.
    #expect(server.requests.count == 3)
    #expect(RetryPolicy().maxResponseSize == 268_435_456)
    let error = try LoopbackServer { _ in .status(500, body: String(repeating: "x", count: 1_000)) }
    #expect(await fails(error, 999))
    let chunked = try LoopbackServer { _ in
      Answer([.send(Answer.head(200, [("Transfer-Encoding", "chunked")])), Answer.text("3\r\nabc\r\n0\r\n\r\n")])
    }
    #expect(await fails(chunked, 2))
  }

  /// 10 GB are announced, and never come.
  @Test func anAnnouncedSizeEndsTheCallBeforeItHasCome() async throws {
    let answer = Answer([.send(Answer.head(200, [("Content-Length", "10000000000")])), Answer.text("x"), .hang])
    let server = try LoopbackServer { _ in answer }
    // Without it, the time-out would end it, after a minute.
    #expect(await fails(server, 268_435_456))
    // An answer to HEAD announces a body that does not come.
    let head = try LoopbackServer { _ in Answer([.send(Answer.head(200, [("Content-Length", "10000000000")]))]) }
    #expect(await !fails(head, 1_000, "HEAD"))
  }

  /// What lies in a middleware's way is measured too.
  @Test func theClientHasTheSameLimit() async throws {
    let answer = Answer([.send(Answer.head(200, [("Content-Length", "10000000000")])), Answer.text("x"), .hang])
    let server = try LoopbackServer { _ in answer }
    let client = NetworkClient(
      baseURL: server.url(), session: session, policy: RetryPolicy(maxResponseSize: 1_000_000, budget: nil),
      attemptMiddleware: [ResponseValidation()])
    let error = await #expect(throws: NetworkError.self) {
      try await client.performNetworkRequest(URLRequest(url: server.url()))
    }
    guard case .responseTooLarge(1_000_000)? = error else { Issue.record("\(String(describing: error))"); return }
  }
}
