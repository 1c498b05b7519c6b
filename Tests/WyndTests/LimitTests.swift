import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Deadline and Retry-After, on a real socket.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct LimitTests {
  let session = URLSession(configuration: .default)

  @Test func theDeadlineEndsAnAttemptInFlight() async throws {
    let server = try LoopbackServer(script: .status(503), .hang)
    let began = ContinuousClock.now
    let policy = RetryPolicy(backoff: .none, deadline: .seconds(8))
    let result = await session.result(of: URLRequest(url: server.url()), policy: policy)
    #expect(ContinuousClock.now - began < .seconds(55))
    #expect(result.error?.stopReason == .deadline)
    #expect(result.error?.attempts.count == 2)
    #expect(result.error?.attempts.first?.error?.statusCode == 503)
    #expect(result.error?.urlError?.code == .timedOut)
    let end = ContinuousClock.now + .seconds(30)
    while server.openRequests > 0, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(5)) }
    #expect(server.openRequests == 0, "a request that nobody waits for is still under way")
  }

  @Test func aDeadlineThatIsOverSendsNothing() async throws {
    let server = try LoopbackServer(script: .ok())
    for deadline in [Duration.zero, .seconds(-1)] {
      let result = await session.result(of: URLRequest(url: server.url()), policy: RetryPolicy(deadline: deadline))
      #expect(result.error?.stopReason == .deadline)
    }
    #expect(server.requests.isEmpty)
    let ample = RetryPolicy(
      maxRetryTime: .seconds(Int64.max), maxUnreachableTime: .seconds(Int64.max), deadline: .seconds(Int64.max))
    #expect(await session.result(of: URLRequest(url: server.url()), policy: ample).error == nil)
  }

  @Test func aRetryAfterIsWaitedForAndNeverShortened() async throws {
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

  @Test func aRetryAfterThatIsTooLongStopsAndIsReported() async throws {
    let server = try LoopbackServer(script: .status(503, [("Retry-After", "3600")], body: "later"))
    let result = await session.result(of: URLRequest(url: server.url()))
    #expect(result.error?.stopReason == .retryAfterTooLong(.seconds(3600)))
    #expect(result.error?.attempts.count == 1)
    #expect(result.error?.statusCode == 503)
    #expect(result.error?.data == Data("later".utf8))
    #expect(server.requests.count == 1)
  }

  @Test func twoRetryAfterLinesAreOneInvalidValueAndMeanBackoff() async throws {
    let server = try LoopbackServer(script: .status(503, [("Retry-After", "30"), ("Retry-After", "40")]), .ok())
    let log = EventLog()
    let policy = RetryPolicy(backoff: .constant(.milliseconds(10)), onEvent: log.add)
    #expect(await session.result(of: URLRequest(url: server.url()), policy: policy).error == nil)
    #expect(log.delays == [.milliseconds(10)])
  }

  @Test func aRetryAfterOnARedirectIsNotWaitedFor() async throws {
    let server = try LoopbackServer {
      $0.target == "/a" ? .redirect(301, to: "/b", [("Retry-After", "3600")]) : .ok("there")
    }
    let log = EventLog()
    let result = await session.result(of: URLRequest(url: server.url("/a")), policy: RetryPolicy(onEvent: log.add))
    #expect(try result.get() == Data("there".utf8))
    #expect(log.delays.isEmpty)
  }
}
