import Foundation
import Testing

@testable import Wynd

@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct RetryClockTests {
  @Test func tenThousandWaitsFireOnceInOrderAndNeverEarly() async {
    let clock = SharedRetryClock.shared
    let count = 10_000
    let fired = Counter()
    let early = Counter()
    let began = clock.now
    for index in 0..<count {
      let due = Duration.microseconds((index * 7919) % 300_000)
      _ = clock.wait(due) {
        if clock.now - began < due { early.add() }
        fired.add()
      }
    }
    await fired.reaches(count)
    #expect(fired.value == count)
    #expect(early.value == 0)
  }

  @Test func aCancelledWaitDoesNotFireAndLetsItsActionGo() async {
    let clock = SharedRetryClock.shared
    let fired = Counter()
    let token = Token()
    weak let held = token.value
    let waits = (0..<1000).map { _ in
      clock.wait(.seconds(600)) { [value = token.value] in
        _ = value
        fired.add()
      }
    }
    token.value = nil
    for wait in waits { clock.cancel(wait) }
    // What is gone cannot fire.
    #expect(held == nil)
    #expect(fired.value == 0)
  }

  @Test func absurdDelaysDoNotTrap() {
    let clock = SharedRetryClock.shared
    for delay in [Duration.seconds(Int64.max), .seconds(Int64.min), .zero, .nanoseconds(-1)] {
      clock.cancel(clock.wait(delay) {})
    }
  }

  final class Token {
    final class Value: Sendable {}
    var value: Value? = Value()
  }
}
