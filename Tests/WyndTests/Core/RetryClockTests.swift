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
}
