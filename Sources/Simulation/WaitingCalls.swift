import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Many calls that wait for their retry at the same time, in real time, without a network: what does one cost?
public final class WaitingCalls: @unchecked Sendable {
  private let lock = NSLock()
  private var answers = 0
  private var lateness: [Double] = []
  private var dues: [Duration] = []
  private var attempted: Set<Int> = []
  private let requests: [URLRequest]
  private let queue = OperationQueue()

  /// Makes the requests, so that what they hold can be told from what waiting costs.
  public init(count: Int) {
    requests = (0..<count).compactMap { URL(string: "http://waiting.example/\($0)").map { URLRequest(url: $0) } }
    lateness.reserveCapacity(count)
    dues.reserveCapacity(count)
    attempted.reserveCapacity(count)
  }

  /// Starts them all: each fails at once, and its retry is due `earliest` plus its share of `spread` (seconds) later.
  public func start(earliest: Double, spread: Double, isShared: Bool) {
    let budget = isShared ? RetryBudget() : nil
    var responses = Responses()
    guard let failure = responses.response(503), let success = responses.response(200) else { return }
    let clock = ContinuousRetryClock()
    let transport = SimulatedTransport { [self] request, completion in
      guard let index = request.url.flatMap({ Int($0.lastPathComponent) }) else { return }
      let isFirst = lock.withLock { attempted.insert(index).inserted }
      if isFirst { return completion(NetworkOutcome(data: Data(), response: failure)) }
      lock.withLock { lateness.append((clock.now - dues[index]).secondsAsDouble) }
      completion(NetworkOutcome(data: Data(), response: success))
    }
    for (index, request) in requests.enumerated() {
      let wait = Duration.bounded(seconds: earliest + spread * Double(index) / Double(requests.count))
      let policy = RetryPolicy(backoff: .constant(wait), maxRetryTime: nil, budget: budget)
      dues.append(clock.now + wait)
      let loop = RetryLoop(request, policy: policy, allowEmptyData: true, transport: transport)
      _ = loop.start(on: queue) { [self] _ in lock.withLock { self.answers += 1 } }
    }
  }

  /// Calls that have their answer.
  public var answered: Int { lock.withLock { answers } }
  /// Seconds that each retry came after it was due, the smallest first.
  public var sortedLateness: [Double] { lock.withLock { lateness.sorted() } }
}
