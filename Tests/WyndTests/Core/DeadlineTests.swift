import Foundation
import WyndLoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The deadline of a call, on a real socket.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct DeadlineTests {
  let session = URLSession(configuration: .default)

  @Test func deadlineEndsAnAttemptInFlight() async throws {
    let server = try LoopbackServer(script: .status(503), .hang)
    let began = ContinuousClock.now
    let policy = RetryPolicy(backoff: .immediate, deadline: .seconds(8))
    let result = await session.result(of: server.url(), policy: policy)
    #expect(ContinuousClock.now - began < .seconds(55))
    #expect(result.error?.stopReason == .deadline)
    #expect(result.error?.attempts.count == 2)
    #expect(result.error?.attempts.first?.error?.statusCode == 503)
    #expect(result.error?.urlError?.code == .timedOut)
    let end = ContinuousClock.now + .seconds(30)
    while server.openRequests > 0, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(5)) }
    #expect(server.openRequests == 0, "a request that nobody waits for is still under way")
  }

  /// The server sends a byte now and then, so that no time-out ends the attempt.
  @Test func deadlineEndsAResponseThatNeverEnds() async throws {
    let server = try LoopbackServer(script: .drip(String(repeating: "x", count: 60_000), pieces: 60_000, every: 20))
    let result = await session.result(of: server.url(), policy: RetryPolicy(deadline: .seconds(5)))
    #expect(result.error?.stopReason == .deadline && server.requests.count == 1)
  }

  @Test func doesNotCallShouldRetryAfterTheDeadline() async throws {
    let script = NetworkScript([.silence])
    let questions = Counter()
    var policy = RetryPolicy(deadline: .seconds(8))
    policy.shouldRetry = { _ in
      questions.add()
      return true
    }
    let request = URLRequest(url: .example)
    let error = await #expect(throws: NetworkError.self) {
      try await script.networkResponse(for: request, policy: policy)
    }
    #expect(error?.stopReason == .deadline && questions.value == 0)
  }

  @Test func sendsNothingAfterTheDeadline() async throws {
    let server = try LoopbackServer(script: .ok())
    for deadline in [Duration.zero, .seconds(-1)] {
      let result = await session.result(of: server.url(), policy: RetryPolicy(deadline: deadline))
      #expect(result.error?.stopReason == .deadline && result.error?.attempts.isEmpty == true)
    }
    #expect(server.requests.isEmpty)
    let ample = RetryPolicy(
      maxRetryTime: .seconds(Int64.max), maxUnreachableTime: .seconds(Int64.max), deadline: .seconds(Int64.max))
    #expect(await session.result(of: server.url(), policy: ample).error == nil)
  }
}
