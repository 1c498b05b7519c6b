import Foundation

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A fleet of clients, each a process of its own, against one server with a capacity that is out for a while.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public struct Storm: Sendable {
  /// Each has a budget of its own, as a process has.
  public var clients = 1000
  /// Calls a second of each client, at random times.
  public var rate = 1.0
  /// Seconds of failures, after 10 s without any.
  public var outage = 60.0
  /// How a request fails in the outage; nil is a 503.
  public var fault: URLError.Code?
  /// Requests a second that succeed; further ones get a 503.
  public var capacity = 3000.0
  /// The same seed is the same storm.
  public var seed: UInt64 = 1
  /// Makes a storm of 1,000 clients.
  public init() {}

  /// What a client does with a failure.
  public enum Strategy: String, CaseIterable, Sendable {
    case none = "no retries"
    case immediate = "10 immediate retries"
    case withoutJitter = "exponential, no jitter"
    case withoutBudget = "full jitter, no budget"
    case aws = "AWS, 3 attempts"
    case awsThrottled = "the same, throttled"
    case ours = "Wynd"
  }

  /// The result of a storm.
  public struct Result: Sendable {
    /// The strategy of the clients.
    public var strategy: Strategy
    /// Sent during the outage, as a multiple of the calls made in it.
    public var load = 0.0
    /// Of all calls, the share that failed.
    public var failed = 0.0
    /// Seconds after the outage until at least 99 % of the responses of each second are successful.
    public var recovery = 0.0
    /// Seconds after the outage until the last call made in it has ended.
    public var last = 0.0
    /// The most sends in 100 ms, as a multiple of the mean, from the end of the outage until the last call was back.
    public var peak = 0.0
  }

  private final class Tally: @unchecked Sendable {
    var sends: [Int] = []
    var good: [Int] = []
    var offered = 0
    var calls = 0
    var failures = 0
    var last = 0.0
    var served = 0
    var slot = -1
    func count(_ list: ReferenceWritableKeyPath<Tally, [Int]>, _ index: Int) {
      while self[keyPath: list].count <= index { self[keyPath: list].append(0) }
      self[keyPath: list][index] += 1
    }
  }

  /// Runs it in virtual time.
  public func run(_ strategy: Strategy) -> Result {
    let time = VirtualTime(seed: seed)
    let tally = Tally()
    let (begin, end, stop) = (10.0, 10.0 + outage, 10.0 + outage + 120)
    if strategy == .withoutJitter { time.fixed = 1 }
    nonisolated(unsafe) var random = SeededRandom(seed: seed &+ 1)
    nonisolated(unsafe) var responses = Responses()
    let transport = SimulatedTransport { _, completion in
      let now = time.now.secondsAsDouble
      tally.count(\.sends, Int(now * 10))
      if Int(now * 10) != tally.slot { (tally.slot, tally.served) = (Int(now * 10), 0) }
      tally.served += 1
      let isGood = !(begin..<end ~= now) && Double(tally.served) <= capacity / 10
      let response = responses.response(isGood ? 200 : 503)
      let error = begin..<end ~= now ? fault.map { URLError($0) } : nil
      time.timer(after: .bounded(seconds: 0.02 + 0.06 * random.unit())) {
        if isGood { tally.count(\.good, Int(now * 10)) }
        completion(error.map { NetworkOutcome(error: $0) } ?? NetworkOutcome(data: Data(), response: response))
      }
    }
    guard let url = URL(string: "http://simulated.example/") else { return Result(strategy: strategy) }
    let request = URLRequest(url: url)
    let budgets = (0..<clients).map { _ in strategy == .ours ? RetryBudget() : .unlimited }
    let aws = (0..<clients).map { _ in AWSRetries(isThrottling: strategy == .awsThrottled) }
    nonisolated(unsafe) var arrive: ((Int) -> Void)!
    arrive = { client in
      let now = time.now.secondsAsDouble
      if now >= stop { return }
      time.timer(after: .bounded(seconds: random.exponential(mean: 1 / rate))) { arrive(client) }
      let isInOutage = begin..<end ~= now
      tally.offered += isInOutage ? 1 : 0
      tally.calls += 1
      var policy = RetryPolicy(budget: budgets[client])
      if strategy == .none { policy = .never }
      if strategy == .immediate { policy = .immediate }
      let loop = RetryLoop(NetworkCallPlan(request, policy: policy), on: transport, clock: time)
      time.start {
        if [.aws, .awsThrottled].contains(strategy) {
          if await !aws[client].run(request, on: transport, time) { tally.failures += 1 }
        } else if case .failure = await loop.run() {
          tally.failures += 1
        }
        if isInOutage { tally.last = max(tally.last, time.now.secondsAsDouble) }
      }
    }
    for client in 0..<clients { time.timer(after: .bounded(seconds: random.unit() / rate)) { arrive(client) } }
    time.run()
    arrive = nil

    var result = Result(strategy: strategy)
    let inOutage = tally.sends[Int(begin * 10)..<Int(end * 10)].reduce(0, +)
    result.load = Double(inOutage) / Double(max(1, tally.offered))
    result.failed = Double(tally.failures) / Double(max(1, tally.calls))
    result.last = max(0, tally.last - end)
    let after = Int(end * 10)..<Int(stop * 10)
    func share(_ second: Int) -> Double {
      let slots = second * 10..<second * 10 + 10
      let sent = slots.reduce(0) { $0 + (tally.sends.indices.contains($1) ? tally.sends[$1] : 0) }
      let good = slots.reduce(0) { $0 + (tally.good.indices.contains($1) ? tally.good[$1] : 0) }
      return sent == 0 ? 1 : Double(good) / Double(sent)
    }
    let bad = (Int(end)..<Int(stop)).last { share($0) < 0.99 }
    result.recovery = bad.map { Double($0 + 1) - end } ?? 0
    let busy = after.prefix { Double($0) / 10 < max(tally.last, end + 10) }.map { tally.sends[$0] }
    result.peak = Double(busy.max() ?? 0) / max(1, Double(busy.reduce(0, +)) / Double(max(1, busy.count)))
    return result
  }
}
