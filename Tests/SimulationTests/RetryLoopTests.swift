import Foundation
import Testing

// The sources of Wynd, with a virtual clock and a simulated transport.
@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension SimulationTests {
  /// The retry loop with a scripted transport in virtual time, for situations that a socket cannot produce on demand.
  @Suite(.serialized) struct RetryLoopTests {
    enum Step { case ok, drop, refused, busy, hang, offlineAfterProgress }

    final class World: @unchecked Sendable {
      let time: VirtualTime
      var script: [Step]
      var latency = Duration.zero
      var completesTwice = false
      /// Every attempt until this time ends with this step.
      var outage: (Duration, Step)?
      private(set) var sends: [Duration] = []
      private var responses = Responses()

      init(_ script: [Step], seed: UInt64 = 1) {
        self.script = script
        time = VirtualTime(seed: seed)
      }

      func run(
        _ policy: RetryPolicy, cancelAfter: Duration? = nil, clock: (any RetryClock)? = nil
      ) -> RetryLoop.CallResult? {
        let transport = SimulatedTransport { [self] _, completion in
          sends.append(time.now)
          var step = script.isEmpty ? Step.ok : script.removeFirst()
          if let (end, fault) = outage, time.now < end { step = fault }
          let outcome: NetworkOutcome? =
            switch step {
            case .ok: NetworkOutcome(data: Data(), response: responses.response(200))
            case .busy: NetworkOutcome(data: Data(), response: responses.response(503))
            case .drop: NetworkOutcome(error: URLError(.networkConnectionLost))
            case .refused: NetworkOutcome(error: URLError(.cannotConnectToHost))
            case .offlineAfterProgress:
              NetworkOutcome(error: URLError(.notConnectedToInternet), hasProgressed: true)
            case .hang: nil
            }
          guard let outcome else { return }
          let times = completesTwice ? 2 : 1
          time.timer(after: latency) { for _ in 0..<times { completion(outcome) } }
        }
        guard let url = URL(string: "http://127.0.0.1/") else { return nil }
        var policy = policy
        policy.budget = RetryBudget()
        let loop = RetryLoop(
          NetworkCallPlan(URLRequest(url: url), policy: policy), on: transport, clock: clock ?? time)
        nonisolated(unsafe) var results: [RetryLoop.CallResult] = []
        let task = time.start { results.append(await loop.run()) }
        if let cancelAfter { time.timer(after: cancelAfter) { task.cancel() } }
        time.run()
        #expect(results.count == 1)
        return results.first
      }
    }

    @Test func ignoresASecondCompletionOfTheTransport() throws {
      let world = World([.drop, .ok])
      world.completesTwice = true
      let response = try #require(try world.run(RetryPolicy(backoff: .immediate))?.get())
      #expect(response.attempts.count == 2)
      #expect(world.sends.count == 2)
    }

    @Test func deadlineEndsAnAttemptInFlight() {
      let world = World([.hang])
      let error = world.run(RetryPolicy(deadline: .seconds(2)))?.error
      #expect(error?.stopReason == .deadline)
      #expect(error?.urlError?.code == .timedOut)
      #expect(error?.attempts.map(\.duration) == [.seconds(2)])
      #expect(world.time.now == .seconds(2))
    }

    /// Each wait takes an hour longer, as on a device that sleeps meanwhile.
    struct SleepyClock: RetryClock {
      let time: VirtualTime
      var now: Duration { time.now }
      var date: Date { time.date }
      func random() -> Double { time.random() }
      func sleep(for delay: Duration) async throws { try await time.sleep(for: delay + .seconds(3_600)) }
      func timer(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        time.timer(after: delay, action)
      }
    }

    @Test func sendsNothingAfterTheDeadline() {
      let world = World([.drop, .ok])
      let error = world.run(RetryPolicy(deadline: .seconds(60)), clock: SleepyClock(time: world.time))?.error
      #expect(error?.stopReason == .deadline && world.sends.count == 1 && error?.attempts.count == 1)
    }

    @Test func countsTheDeadlineFromTheStartOfTheCall() {
      let world = World([.drop, .hang])
      let error = world.run(RetryPolicy(backoff: .constant(.seconds(3)), deadline: .seconds(5)))?.error
      #expect(error?.stopReason == .deadline)
      #expect(error?.attempts.map(\.startedAt) == [.zero, .seconds(3)])
      #expect(error?.attempts.map(\.duration) == [.zero, .seconds(2)])
      #expect(error?.attempts.last?.error?.urlError?.code == .timedOut)
      #expect(world.time.now == .seconds(5))
    }

    @Test func reportsWaitsAndTimes() throws {
      let world = World([.drop, .drop, .drop])
      world.latency = .seconds(1)
      let error = world.run(RetryPolicy(maxRetries: 2, backoff: .constant(.seconds(3))))?.error
      let attempts = try #require(error?.attempts)
      #expect(attempts.map(\.number) == [1, 2, 3])
      #expect(attempts.map(\.startedAt) == [.zero, .seconds(4), .seconds(8)])
      #expect(attempts.map(\.duration) == [.seconds(1), .seconds(1), .seconds(1)])
      #expect(attempts.map(\.delay) == [.seconds(3), .seconds(3), nil])
      #expect(error?.stopReason == .maxRetries)
    }

    @Test func survivesAnOutageShorterThanMaxUnreachableTime() {
      for seed in 0..<200 {
        let world = World([], seed: UInt64(seed))
        world.outage = (.seconds(9.99), .refused)
        #expect(world.run(.default)?.error == nil, "seed \(seed)")
      }
    }

    @Test func endsALongerOutageAtMaxUnreachableTime() {
      let world = World([])
      world.outage = (.seconds(1000), .refused)
      #expect(world.run(.default)?.error?.stopReason == .maxUnreachableTime)
      #expect(world.time.now == .seconds(10))
    }

    @Test func countsUnreachableTimeFromTheFirstFailureInARow() {
      // Busy for 30 s, then restarting: the restart gets its own 10 s.
      let world = World(Array(repeating: .busy, count: 3) + [.refused, .refused])
      #expect(world.run(RetryPolicy(backoff: .constant(.seconds(9))))?.error == nil)
      #expect(world.sends.count == 6)
    }

    /// A download that has run for a minute has not been unreachable for a minute.
    @Test func countsUnreachableTimeFromTheEndOfAnAttemptWithProgress() throws {
      let world = World([.offlineAfterProgress, .ok])
      world.latency = .seconds(60)
      let policy = RetryPolicy(backoff: .constant(.seconds(1)), maxRetryTime: .noLimit)
      let response = try #require(try world.run(policy)?.get())
      #expect(response.attempts.count == 2)
      // From then on it counts: the second failure comes a minute after the first.
      let other = World([.offlineAfterProgress, .refused, .ok])
      other.latency = .seconds(60)
      #expect(other.run(policy)?.error?.stopReason == .maxUnreachableTime)
      // Each loss of the network after new progress counts from its own time.
      let third = World([.offlineAfterProgress, .offlineAfterProgress, .ok])
      third.latency = .seconds(60)
      #expect(third.run(policy)?.error == nil)
    }

    @Test func endsAtOnceWhenCanceledDuringAWait() {
      let world = World([.drop, .ok])
      let result = world.run(RetryPolicy(backoff: .constant(.seconds(5))), cancelAfter: .seconds(1))
      guard case .failure(.cancelled) = result else { Issue.record("\(String(describing: result))"); return }
      #expect(world.sends.count == 1)
      #expect(world.time.isIdle)
      #expect(world.time.now == .seconds(1))
    }

    @Test func endsAtOnceWhenCanceledInFlight() {
      let world = World([.hang])
      let result = world.run(RetryPolicy(deadline: .seconds(60)), cancelAfter: .seconds(1))
      guard case .failure(.cancelled) = result else { Issue.record("\(String(describing: result))"); return }
      #expect(world.time.isIdle)
      #expect(world.time.now == .seconds(1))
    }

    @Test func leavesNoTimerAfterAResult() {
      let world = World([.drop, .ok])
      #expect(world.run(RetryPolicy(backoff: .constant(.seconds(5)), deadline: .seconds(60)))?.error == nil)
      #expect(world.time.isIdle)
      #expect(world.time.now == .seconds(5))
    }
  }
}

extension Result {
  var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
