import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The limit of one attempt. Its other limits are in the table of `RetryLimitTests`.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct AttemptTimeoutTests {
  static let policy = RetryPolicy(backoff: .immediate, attemptTimeout: .seconds(10))

  @Test func slowAttemptIsRetried() async throws {
    let call = try await RetryRuleTests.run([.silence, .silence, .ok("x")], policy: Self.policy)
    #expect(call.error == nil && call.sends == 3 && call.elapsed == .seconds(20))
    #expect(call.log.sources == [.backoff, .backoff])
  }

  @Test func slowPOSTIsNotRepeated() async throws {
    let call = try await RetryRuleTests.run([.silence, .ok("x")], method: "POST", policy: Self.policy)
    #expect(call.sends == 1 && call.elapsed == .seconds(10))
    #expect(call.error?.stopReason == .notSafeToRepeat(method: "POST"))
    #expect(call.error?.isTimeout == true && call.error?.urlError?.code == .timedOut)
  }

  /// A middleware may send several requests in one attempt, or let a person sign in between them.
  @Test func appliesToEachRequestOfAMiddleware() async throws {
    let script = NetworkScript([.silence, .silence, .ok("x")])
    let repeating: NetworkClosureMiddleware = .around { request, next in
      for _ in 0..<2 { _ = try? await next(request) }
      return try await next(request)
    }
    let client = NetworkClient(on: script, policy: Self.policy, middleware: [repeating])
    let response = try await client.networkResponse(for: URLRequest(url: .example))
    #expect(response.attempts.count == 1 && script.requests.count == 3)
    #expect(script.elapsed == .seconds(20))
  }

  /// A server that sends a byte now and then is never silent, so its attempt has no other end.
  @Test(arguments: [false, true]) func endsAnAttemptThatKeepsReceivingData(_ isUpload: Bool) async throws {
    let drip = ScriptedResponse.drip(String(repeating: "x", count: 3000), pieces: 3000, every: 20)
    let server = try LoopbackServer(script: drip, .ok("whole"))
    let session = URLSession(configuration: .ephemeral)
    let policy = RetryPolicy(backoff: .immediate, attemptTimeout: .seconds(5), budget: .unlimited)
    let request = URLRequest(url: server.url(), method: "PUT")
    let response =
      isUpload
      ? try await session.performNetworkUpload(request, from: Data("x".utf8), policy: policy)
      : try await session.networkResponse(for: request, policy: policy)
    #expect(response.data.text == "whole")
    #expect(response.attempts.first?.error?.urlError?.code == .timedOut)
    #expect(response.attempts.first.map { $0.duration >= .seconds(5) } == true)
  }

  /// Of a stream, the limit is that of the head, unless the response is an error, whose body is read first.
  @Test(arguments: [CallKind.stream, .download]) func endsAnErrorWhoseBodyDoesNotEnd(_ kind: CallKind) async throws {
    let stalled = ScriptedResponse([
      .send(ScriptedResponse.head(500, [("Content-Length", "100")])), ScriptedResponse.text("x"), .hang,
    ])
    let server = try LoopbackServer(script: stalled, .ok("whole"))
    let policy = RetryPolicy(backoff: .immediate, attemptTimeout: .seconds(2), budget: .unlimited)
    let session = URLSession(configuration: .ephemeral)
    let response = try await kind.response(to: URLRequest(url: server.url()), on: session, policy: policy)
    #expect(response.data.text == "whole" && server.requests.count == 2)
  }
}
