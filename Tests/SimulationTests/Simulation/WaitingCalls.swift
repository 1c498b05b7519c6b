import Foundation

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Many calls that wait for their retry at the same time, in real time, without a network: what does one cost?
public final class WaitingCalls: @unchecked Sendable {
  private let lock = NSLock()
  private var endedCount = 0
  private var lateness: [Double] = []
  private var dues: [Int: Duration] = [:]
  private var attempted: Set<Int> = []
  private let requests: [URLRequest]
  private let queue = OperationQueue()

  /// Makes the requests first, so that their memory is not counted as that of waiting.
  public init(count: Int) {
    requests = (0..<count).compactMap { URL(string: "http://waiting.example/\($0)").map { URLRequest(url: $0) } }
    lateness.reserveCapacity(count)
    dues.reserveCapacity(count)
    attempted.reserveCapacity(count)
  }

  /// Starts them all: each fails at once, and its retry is due `earliest` plus its share of `spread` (seconds) later.
  public func start(earliest: Double, spread: Double, isShared: Bool) {
    let budget = isShared ? RetryBudget() : .unlimited
    var responses = Responses()
    guard let failure = responses.response(503), let success = responses.response(200) else { return }
    let transport = SimulatedTransport { [self] request, completion in
      guard let index = request.url.flatMap({ Int($0.lastPathComponent) }) else { return }
      let isFirst = lock.withLock { attempted.insert(index).inserted }
      if isFirst { return completion(NetworkOutcome(data: Data(), response: failure)) }
      lock.withLock { lateness.append((ContinuousRetryClock().now - (dues[index] ?? .zero)).secondsAsDouble) }
      completion(NetworkOutcome(data: Data(), response: success))
    }
    for (index, request) in requests.enumerated() {
      let wait = Duration.bounded(seconds: earliest + spread * Double(index) / Double(requests.count))
      let policy = RetryPolicy(backoff: .constant(wait), maxRetryTime: .noLimit, budget: budget)
      let clock = NotingClock { [self] due in lock.withLock { dues[index] = due } }
      let loop = RetryLoop(NetworkCallPlan(request, policy: policy), on: transport, clock: clock)
      _ = loop.start(on: queue) { [self] _ in lock.withLock { self.endedCount += 1 } }
    }
  }

  /// Calls that have ended.
  public var ended: Int { lock.withLock { endedCount } }
  /// Seconds that each retry came after it was due, the smallest first.
  public var sortedLateness: [Double] { lock.withLock { lateness.sorted() } }
}

/// A clock of real time that notes when each wait is due.
private struct NotingClock: RetryClock {
  let note: @Sendable (Duration) -> Void
  private let real = ContinuousRetryClock()

  init(note: @escaping @Sendable (Duration) -> Void) { self.note = note }

  var now: Duration { real.now }
  var date: Date { real.date }
  func random() -> Double { real.random() }
  func sleep(for delay: Duration) async throws {
    note(now + delay)
    try await real.sleep(for: delay)
  }
  func timer(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    real.timer(after: delay, action)
  }
}
