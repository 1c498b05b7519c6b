import Testing

@testable import Wynd

@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct BackoffTests {
  let standard = Backoff.exponential(base: .milliseconds(500), cap: .seconds(20))

  @Test func clampsVeryLongDurations() {
    let longest = Duration.seconds(Int64.max) * 10
    #expect(longest.secondsAsDouble > 9e19)
    #expect((.zero - longest).secondsAsDouble < 0)
    #expect(Backoff.constant(longest).delay(retry: 0, random: 0) == .seconds(9_000_000_000))
    #expect(Backoff.exponential(base: longest, cap: longest).delay(retry: 9, random: 1) <= .seconds(9_000_000_000))
  }

  @Test func doublesUpToTheCap() {
    let ceilings = (0..<9).map { standard.delay(retry: $0, random: 1) }
    #expect(ceilings.map(\.secondsAsDouble) == [0.5, 1, 2, 4, 8, 16, 20, 20, 20])
  }

  @Test func jitterCoversTheWholeDelay() {
    #expect(standard.delay(retry: 3, random: 0) == .zero)
    #expect(standard.delay(retry: 3, random: 0.25) == .seconds(1))
  }

  @Test(arguments: [0, 1, 33, 63, 64, 128, 1023, 1024, 100_000, Int.max, -1, Int.min])
  func doesNotOverflowForAnyRetryNumber(
    _ retry: Int
  ) {
    for random in [-1, 0, 0.5, 1, 2, Double.nan, Double.infinity] {
      for backoff in [
        standard, .exponential(base: .seconds(Int64.max), cap: .seconds(Int64.max)),
        .exponential(base: .seconds(-5), cap: .seconds(1)), .exponential(base: .seconds(1), cap: .seconds(-1)),
        .exponential(base: .zero, cap: .zero), .constant(.seconds(-1)), .immediate,
      ] {
        #expect(backoff.delay(retry: retry, random: random) >= .zero)
      }
      #expect(standard.delay(retry: retry, random: random) <= .seconds(20))
    }
  }

  @Test func constantDelayAndNoDelay() {
    #expect(Backoff.constant(.seconds(3)).delay(retry: 5, random: 0.1) == .seconds(3))
    #expect(Backoff.immediate.delay(retry: 5, random: 0.9) == .zero)
  }
}
