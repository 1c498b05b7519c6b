import Foundation
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The clock of calls that are not simulated.
@Suite struct RetryClockTests {
  @Test func randomNumbersOfTheClockVary() {
    let values = Set((0..<100).map { _ in ContinuousRetryClock().random() })
    #expect(values.count > 90 && values.allSatisfy { 0..<1 ~= $0 })
  }

  /// The end of one call may have to wait for URLSession.
  @Test func blockedTimerActionDoesNotDelayOtherTimers() async {
    let (clock, mayEnd, isHeldUp) = (ContinuousRetryClock(), DispatchSemaphore(value: 0), Gate())
    let fires = Gate()
    let first = clock.timer(after: .zero) {
      isHeldUp.open()
      mayEnd.wait()
    }
    await isHeldUp.wait()
    let second = clock.timer(after: .zero) { fires.open() }
    await fires.wait()
    mayEnd.signal()
    first()
    second()
  }

  /// A clock that counts its timers, none of which fires.
  struct CountingClock: RetryClock {
    let timers = Counter()
    let cancellations = Counter()
    var now: Duration { .zero }
    var date: Date { Date(timeIntervalSince1970: 0) }
    func random() -> Double { 0.5 }
    func sleep(for delay: Duration) async throws {}
    func timer(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
      timers.add()
      return { [cancellations] in cancellations.add() }
    }
  }

  /// Otherwise the timer of each call with a deadline would live until then, and hold the body.
  @Test(arguments: [false, true]) func timerOfADeadlineEndsWithItsAttempt(endsBefore: Bool) async {
    let clock = CountingClock()
    let completion = NetworkAttemptCompletion()
    if endsBefore { completion.end(.cancelled) }
    completion.setTimer(after: .seconds(3_600), .deadline, clock)
    if !endsBefore { completion.end(.cancelled) }
    _ = await completion.outcome()
    #expect(clock.timers.value == 1 && clock.cancellations.value == 1)
  }
}
