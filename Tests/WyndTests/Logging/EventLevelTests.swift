import Foundation
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How important an event is, and what a log prints of a failure.
@Suite struct EventLevelTests {
  static func names(_ steps: [NetworkScript.Step], _ policy: RetryPolicy = RetryPolicy(maxRetries: 1)) async throws
    -> [String]
  {
    let log = EventLog()
    var policy = policy
    policy.onEvent = log.add
    _ = try? await NetworkScript(steps).performNetworkRequest(URL.example, policy: policy)
    return log.events.map(\.level.rawValue)
  }

  @Test func eachKindOfEventHasItsLevel() async throws {
    #expect(try await Self.names([.ok("x")]) == ["debug", "debug"])
    #expect(try await Self.names([.status(503), .ok("x")]) == ["debug", "notice", "notice", "debug", "debug"])
    #expect(try await Self.names([.status(404)]) == ["debug", "notice", "error"])
    let request = URLRequest(url: .example)
    let cancelled = NetworkEvent(callID: 1, request: request, attempt: 1, elapsed: .zero, kind: .gaveUp(.cancelled))
    #expect(cancelled.level == .info)
  }

  @Test func logCanBeUsedAsOnEvent() async throws {
    var policy = RetryPolicy.never
    policy.onEvent = NetworkEvent.log
    _ = try await NetworkScript([.ok("x")]).performNetworkRequest(URL.example, policy: policy)
  }
}
