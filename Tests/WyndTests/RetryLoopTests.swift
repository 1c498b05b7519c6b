import Foundation
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The loop with a scripted transport, in virtual time: what a socket cannot do on command.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct RetryLoopTests {
  @Test func aTransportThatAnswersTwiceIsHeardOnce() throws {
    let world = World([.drop, .ok])
    world.transport.answersTwice = true
    let answers = world.run(RetryPolicy(backoff: .none))
    #expect(answers.count == 1)
    #expect(answers.first?.error == nil)
    #expect(world.transport.sends == 2)
  }

  @Test func anAnswerThatComesAfterTheDeadlineIsNotHeard() throws {
    let world = World([.ok])
    world.transport.latency = .seconds(5)
    let answers = world.run(RetryPolicy(deadline: .seconds(2)))
    #expect(answers.count == 1)
    #expect(answers.first?.error?.stopReason == .deadline)
    #expect(answers.first?.error?.attempts.map(\.duration) == [.seconds(2)])
    #expect(world.transport.cancels == 1)
  }

  @Test func waitsAndTimesAreReportedAsTheyWere() throws {
    let world = World([.drop, .drop, .drop])
    world.transport.latency = .seconds(1)
    let answers = world.run(RetryPolicy(maxRetries: 2, backoff: .constant(.seconds(3))))
    let attempts = try #require(answers.first?.error?.attempts)
    #expect(attempts.map(\.startedAt) == [.zero, .seconds(4), .seconds(8)])
    #expect(attempts.map(\.duration) == [.seconds(1), .seconds(1), .seconds(1)])
    #expect(attempts.map(\.delay) == [.seconds(3), .seconds(3), nil])
    #expect(answers.first?.error?.stopReason == .maxRetries)
  }

  @Test func anOutageShorterThanTheUnreachableLimitIsSurvived() {
    for seed in 0..<200 {
      let world = World([], seed: UInt64(seed))
      world.transport.outage = (.seconds(9.99), .refused)
      #expect(world.run(.default).first?.error == nil, "seed \(seed)")
    }
  }

  @Test func anOutageLongerThanThatEndsAtTheLimit() {
    let world = World([])
    world.transport.outage = (.seconds(1000), .refused)
    let error = world.run(.default).first?.error
    #expect(error?.stopReason == .maxUnreachableTime)
    #expect(world.clock.now == .seconds(10))
  }

  @Test func theUnreachableLimitCountsFromTheFirstOfARow() {
    // Busy for 30 s, then restarting: the restart gets its own 10 s.
    let world = World(Array(repeating: .busy, count: 3) + [.refused, .refused])
    let error = world.run(RetryPolicy(backoff: .constant(.seconds(9)))).first?.error
    #expect(error == nil)
    #expect(world.transport.sends == 6)
  }

  @Test func aCancellationWhileWaitingSendsNothingMore() {
    let world = World([.drop, .ok])
    let answers = world.run(RetryPolicy(backoff: .constant(.seconds(5))), cancelAfter: .seconds(1))
    guard case .cancelled = answers.first?.error else { Issue.record("\(answers)"); return }
    #expect(answers.count == 1)
    #expect(world.transport.sends == 1)
    #expect(world.clock.isIdle)
  }

  @Test func nothingIsLeftWaitingAfterAnAnswer() {
    let world = World([.drop, .ok])
    _ = world.run(RetryPolicy(backoff: .constant(.seconds(5)), deadline: .seconds(60)))
    #expect(world.clock.isIdle)
    #expect(world.clock.now == .seconds(5))
  }

  @Test(arguments: [1, 2]) func whoListensMayCancelAnAttemptBeforeItIsSent(_ attempt: Int) {
    let world = World([.drop, .ok])
    let loop = Box<RetryLoop>()
    let log = EventLog()
    var policy = RetryPolicy(backoff: .constant(.seconds(1)))
    policy.onEvent = {
      log.add($0)
      if case .attemptStarted = $0.kind, $0.attempt == attempt { loop.value?.cancel() }
    }
    let answers = world.run(policy, into: loop)
    guard case .cancelled = answers.first?.error else { Issue.record("\(answers)"); return }
    #expect(world.transport.sends == attempt - 1)
    #expect(log.gaveUp == .cancelled)
    guard case .gaveUp = log.events.last?.kind else { Issue.record("an event after the last"); return }
  }

  @Test func anAppThatSleptThroughItsLimitsSendsNothingMore() {
    for (policy, reason) in [
      (RetryPolicy(backoff: .constant(.seconds(1))), RetryFailure.StopReason.maxRetryTime),
      (RetryPolicy(backoff: .constant(.seconds(1)), deadline: .seconds(30)), .deadline),
    ] {
      let world = World([.drop, .ok])
      world.clock.sleepsOnce = .seconds(600)
      let error = world.run(policy).first?.error
      #expect(world.transport.sends == 1)
      // Alone in its history, the failure comes as itself unless the deadline ended the call.
      #expect(error?.stopReason == (reason == .deadline ? .deadline : nil))
    }
  }

  @Test func whoListensMayCancelFromWithin() {
    let world = World([.drop, .ok])
    let loop = Box<RetryLoop>()
    var policy = RetryPolicy(backoff: .constant(.seconds(1)))
    policy.onEvent = { if case .willRetry = $0.kind { loop.value?.cancel() } }
    let answers = world.run(policy, into: loop)
    guard case .cancelled = answers.first?.error else { Issue.record("\(answers)"); return }
    #expect(world.transport.sends == 1)
  }
}
