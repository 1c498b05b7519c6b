import Foundation
import WyndLoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension RetryAfterTests {
  // MARK: Calls on a socket

  private var session: URLSession { URLSession(configuration: .default) }

  @Test func waitsAtLeastAsLongAsRetryAfter() async throws {
    let server = try LoopbackServer(script: .status(429, [("Retry-After", "1")]), .ok("hello"))
    let began = ContinuousClock.now
    let log = EventLog()
    var request = URLRequest(url: server.url(), method: "POST")
    request.httpBody = Data("x".utf8)
    #expect(await session.result(of: request, policy: RetryPolicy(onEvent: log.add)).error == nil)
    #expect(ContinuousClock.now - began >= .seconds(1))
    #expect(server.requests.count == 2)
    #expect(log.delays.allSatisfy { $0 >= .seconds(1) && $0 <= .milliseconds(1500) })
  }

  @Test func stopsForARetryAfterThatIsTooLong() async throws {
    let server = try LoopbackServer(script: .status(503, [("Retry-After", "3600")], body: "later"))
    let result = await session.result(of: URLRequest(url: server.url()))
    #expect(result.error?.stopReason == .retryAfterTooLong(.seconds(3600)))
    #expect(result.error?.attempts.count == 1)
    #expect(result.error?.statusCode == 503)
    #expect(result.error?.data == Data("later".utf8))
    #expect(server.requests.count == 1)
  }

  @Test func ignoresRepeatedRetryAfterHeaders() async throws {
    let server = try LoopbackServer(script: .status(503, [("Retry-After", "30"), ("Retry-After", "40")]), .ok())
    let log = EventLog()
    let policy = RetryPolicy(backoff: .constant(.milliseconds(10)), onEvent: log.add)
    #expect(await session.result(of: URLRequest(url: server.url()), policy: policy).error == nil)
    #expect(log.delays == [.milliseconds(10)])
  }

  @Test func ignoresRetryAfterOnARedirect() async throws {
    let server = try LoopbackServer {
      $0.target == "/a" ? .redirect(301, to: "/b", [("Retry-After", "3600")]) : .ok("there")
    }
    let log = EventLog()
    let result = await session.result(of: URLRequest(url: server.url("/a")), policy: RetryPolicy(onEvent: log.add))
    #expect(try result.get() == Data("there".utf8))
    #expect(log.delays.isEmpty)
  }
}
