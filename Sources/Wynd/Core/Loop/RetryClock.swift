import Foundation

/// Time, waits and random numbers. Tests replace it, so that they do not have to wait.
nonisolated protocol RetryClock: Sendable {
  /// The time since a fixed moment. It includes the time that the device sleeps.
  var now: Swift.Duration { get }
  /// The date, to compare with an HTTP-date.
  var date: Foundation.Date { get }
  /// Uniform in 0 ..< 1.
  func random() -> Double
  /// Waits. The time goes on while the device sleeps. Throws at once when the task is canceled.
  func sleep(for delay: Swift.Duration) async throws
  /// Calls `action` once after `delay`, unless the closure it returns is called first: that cancels the timer. The
  /// timer stops while the device sleeps.
  func timer(after delay: Swift.Duration, _ action: @escaping @Sendable () -> Void) -> @Sendable () -> Void
}

/// Real time.
nonisolated struct ContinuousRetryClock: RetryClock {
  private static let start = ContinuousClock.now
  // Not a global queue: an app that blocks its threads would delay every deadline.
  private static let queue = DispatchQueue.network("RetryClock")

  var now: Swift.Duration { ContinuousClock.now - Self.start }
  var date: Foundation.Date { Foundation.Date() }
  func random() -> Double { Double.random(in: 0..<1) }

  func sleep(for delay: Swift.Duration) async throws {
    // `Duration` holds more seconds than a timer can count.
    try await _Concurrency.Task.sleep(
      for: min(delay, Swift.Duration.seconds(1e9)), tolerance: .milliseconds(1), clock: .continuous)
  }

  func timer(after delay: Swift.Duration, _ action: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let timer = Timer(source: DispatchSource.makeTimerSource(queue: Self.queue))
    // Dispatch has two clocks. This one stops while the device sleeps, so after a sleep the timer is late, by `delay`
    // at most. The other is the time of day: if somebody sets that an hour back, a deadline would be an hour late. A
    // sleep usually breaks the connection, and after each attempt the call looks at `now`, which includes the sleep.
    let seconds = min(max(delay.secondsAsDouble, 0), 1e9)
    timer.source.schedule(deadline: .now() + seconds, leeway: .milliseconds(1))
    // On a queue of its own: the end of a call may have to wait for URLSession, and must not delay other calls.
    timer.source.setEventHandler { DispatchQueue.network("timer").async(execute: action) }
    timer.source.activate()
    return { timer.source.cancel() }
  }
  // Unchecked: it may be canceled on any thread, but only Apple's newer SDKs declare it `Sendable`.
  private struct Timer: @unchecked Sendable { let source: any DispatchSourceTimer }
}
