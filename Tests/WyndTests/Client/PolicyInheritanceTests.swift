import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Fields that the policy of a call does not set are taken from the endpoint's policy, then from the client's.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct PolicyInheritanceTests {
  typealias Item = NetworkClientTests.Item

  static let base = URL(string: "https://a.example")

  static func sends(_ client: NetworkClient, _ script: NetworkScript, _ policy: RetryPolicy) async -> Int {
    let before = script.requests.count
    _ = try? await client.load(Item(), policy: policy)
    return script.requests.count - before
  }

  @Test func callKeepsTheLimitsOfItsClientThatItDoesNotSet() async throws {
    let script = NetworkScript([.status(503)])
    let client = NetworkClient(
      baseURL: Self.base, on: script,
      policy: RetryPolicy(maxRetries: 5, backoff: .constant(.seconds(3)), deadline: .seconds(10)))
    // Retries after 3, 6 and 9 s, and none after 12 s.
    #expect(await Self.sends(client, script, .default) == 4)
    #expect(await Self.sends(client, script, .default) == 4)
    #expect(await Self.sends(client, script, RetryPolicy(maxRetries: 2)) == 3)
    #expect(await Self.sends(client, script, .never) == 1)
    #expect(await Self.sends(client, script, RetryPolicy(maxRetries: 10)) == 4)
    #expect(await Self.sends(client, script, RetryPolicy(deadline: .seconds(5))) == 2)
    #expect(await Self.sends(client, script, RetryPolicy(deadline: .noLimit)) == 6)
    var unlimited = RetryPolicy()
    unlimited.deadline = .noLimit
    #expect(await Self.sends(client, script, unlimited) == 6)
    #expect(await Self.sends(client, script, RetryPolicy(backoff: .immediate)) == 6)
  }

  @Test func inheritsFromTheEndpointBeforeTheClient() async throws {
    let script = NetworkScript([.status(503)])
    let client = NetworkClient(
      baseURL: Self.base, on: script,
      policy: RetryPolicy(maxRetries: 9, backoff: .constant(.seconds(3)), deadline: .seconds(60)))
    let item = Item(policy: RetryPolicy(maxRetries: 3, deadline: .seconds(7)))
    _ = try? await client.load(item)
    #expect(script.requests.count == 3 && script.elapsed == .seconds(6))
    _ = try? await client.load(item, policy: RetryPolicy(deadline: .seconds(30)))
    #expect(script.requests.count == 3 + 4)
    _ = try? await client.load(item, policy: RetryPolicy(maxRetries: 1))
    #expect(script.requests.count == 3 + 4 + 2)
  }

  @Test func eachListenerReceivesEveryEvent() async throws {
    let (ofClient, ofEndpoint, ofCall) = (EventLog(), EventLog(), EventLog())
    let client = NetworkClient(
      baseURL: Self.base, on: NetworkScript([.status(503), .ok("x")]), policy: RetryPolicy(onEvent: ofClient.add))
    let item = Item(policy: RetryPolicy(onEvent: ofEndpoint.add))
    _ = try await client.load(item, policy: RetryPolicy(maxRetries: 3, onEvent: ofCall.add))
    for log in [ofClient, ofEndpoint, ofCall] {
      #expect(log.events.count == 5 && log.isOver)
      #expect(Set(log.events.map(\.callID)).count == 1)
    }
  }

  @Test func shouldRetryIsInheritedUntilItIsReplaced() async throws {
    let script = NetworkScript([.status(404)])
    let client = NetworkClient(
      baseURL: Self.base, on: script, policy: RetryPolicy(maxRetries: 2, shouldRetry: { $0.statusCode == 404 }))
    #expect(await Self.sends(client, script, RetryPolicy(maxRetries: 1)) == 2)
    #expect(await Self.sends(client, script, RetryPolicy(shouldRetry: { _ in false })) == 1)
    #expect(await Self.sends(client, script, RetryPolicy(shouldRetry: { $0.shouldRetry })) == 1)
  }

  @Test func budgetIsInheritedUntilItIsReplaced() {
    let (ofClient, ofCall) = (RetryBudget(), RetryBudget())
    let client = RetryPolicy(maxRetries: 3, budget: ofClient)
    #expect(RetryPolicy(maxRetries: 1).inheriting(from: client).budget === ofClient)
    #expect(RetryPolicy(budget: ofCall).inheriting(from: client).budget === ofCall)
    #expect(RetryPolicy(budget: .unlimited).inheriting(from: client).budget === RetryBudget.unlimited)
    #expect(RetryPolicy(budget: .shared).inheriting(from: client).budget === RetryBudget.shared)
    #expect(RetryPolicy.immediate.inheriting(from: client).budget === RetryBudget.unlimited)
    #expect(RetryPolicy.default.inheriting(from: .default).budget == nil)
  }

  /// Each field alone: nil means the client's value.
  @Test func eachPolicyFieldIsInheritedIndependently() {
    let client = RetryPolicy(
      maxRetries: 1, backoff: .immediate, maxRetryAfter: .seconds(2), maxRetryTime: .seconds(3),
      maxUnreachableTime: .seconds(4), attemptTimeout: .seconds(6), deadline: .seconds(5))
    func limits(_ policy: RetryPolicy) -> [Duration?] {
      let all = policy.inheriting(from: client)
      return [all.maxRetryAfter, all.maxRetryTime, all.maxUnreachableTime, all.attemptTimeout, all.deadline]
    }
    let inherited: [Duration?] = [.seconds(2), .seconds(3), .seconds(4), .seconds(6), .seconds(5)]
    #expect(limits(RetryPolicy()) == inherited)
    let rows: [(RetryPolicy, RetryPolicy)] = [
      (RetryPolicy(maxRetryAfter: .noLimit), RetryPolicy(maxRetryAfter: .zero)),
      (RetryPolicy(maxRetryTime: .noLimit), RetryPolicy(maxRetryTime: .zero)),
      (RetryPolicy(maxUnreachableTime: .noLimit), RetryPolicy(maxUnreachableTime: .zero)),
      (RetryPolicy(attemptTimeout: .noLimit), RetryPolicy(attemptTimeout: .zero)),
      (RetryPolicy(deadline: .noLimit), RetryPolicy(deadline: .zero)),
    ]
    for (index, (unlimited, zero)) in rows.enumerated() {
      var expected = inherited
      expected[index] = .noLimit
      #expect(limits(unlimited) == expected)
      expected[index] = .zero
      #expect(limits(zero) == expected)
      #expect(unlimited.inheriting(from: client).maxRetries == 1)
      #expect(unlimited.inheriting(from: client).backoff == .immediate)
    }
    // A negative limit is a limit.
    #expect(limits(RetryPolicy(deadline: .seconds(-1))).last == .seconds(-1))
    #expect(RetryPolicy(maxRetries: .min).inheriting(from: client).maxRetries == .min)
  }

  /// None is forgotten: a policy that sets nothing inherits every stored property of another one.
  @Test func everyFieldIsInherited() {
    let other = RetryPolicy(
      maxRetries: 1, backoff: .immediate, maxRetryAfter: .seconds(2), maxRetryTime: .seconds(3),
      maxUnreachableTime: .seconds(4), attemptTimeout: .seconds(6), deadline: .seconds(5), budget: .unlimited,
      retriesNonIdempotent: true, shouldRetry: { _ in true }, onEvent: { _ in })
    func names(_ policy: RetryPolicy) -> [String?] {
      Mirror(reflecting: policy).children.filter { Mirror(reflecting: $0.value).children.count == 1 }.map(\.label)
    }
    #expect(names(other).count == Mirror(reflecting: other).children.count)
    #expect(names(RetryPolicy()).isEmpty && names(RetryPolicy().inheriting(from: other)) == names(other))
    #expect(RetryPolicy().inheriting(from: other).retriesNonIdempotent == true)
    #expect(RetryPolicy(retriesNonIdempotent: false).inheriting(from: other).retriesNonIdempotent == false)
  }
}
