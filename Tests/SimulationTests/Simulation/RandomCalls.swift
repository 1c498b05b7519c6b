import Foundation

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Calls with random policies, faults, cancellations and budgets, through the real loop and the real policy, in virtual
/// time; and what must be true of every one of them.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public struct RandomCalls: Sendable {
  /// How many calls are made.
  public var calls: Int
  /// The same seed is the same run.
  public var seed: UInt64
  /// Makes a run.
  public init(calls: Int = 1_000_000, seed: UInt64 = .random(in: 0...UInt64.max)) {
    self.calls = calls
    self.seed = seed
  }

  /// Runs it. A world holds 200 calls that share hosts and a budget.
  public func run() -> Report {
    var report = Report()
    var world: UInt64 = 0
    while report.calls < calls {
      let world_ = World(seed: seed &+ world)
      world_.run(count: min(200, calls - report.calls), into: &report)
      world += 1
    }
    return report
  }
}

/// How an attempt ends, and whether the server may have applied the request, which the library cannot see.
private struct Fate {
  var outcome: NetworkOutcome
  /// The server may have acted on the request.
  var mayHaveBeenApplied: Bool
  /// Seconds that the server asked for, in a form that the library must understand.
  var asked: Int?
}

private final class SimulatedCall: @unchecked Sendable {
  let number: Int
  let policy: RetryRule
  let isUnsafe: Bool
  let began: Duration
  var completions = 0
  var result: RetryLoop.CallResult?
  var endedAt: Duration?
  var cancelledAt: Duration?
  var sends: [(at: Duration, ended: Duration?, fate: Fate)] = []
  /// Every wait, and the number of attempts before it.
  var waits: [(at: Duration, delay: Duration, attempts: Int)] = []
  var sentAfterCancel = false

  init(number: Int, policy: RetryRule, isUnsafe: Bool, began: Duration) {
    (self.number, self.policy, self.isUnsafe, self.began) = (number, policy, isUnsafe, began)
  }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private final class World: @unchecked Sendable {
  let seed: UInt64
  let time: VirtualTime
  var random: SeededRandom
  var responses = Responses()
  let budget = RetryBudget()
  /// For each host the seconds at which it turns from good to bad and back, and what it does in between.
  var phases: [[(until: Double, badness: Double)]] = []

  init(seed: UInt64) {
    self.seed = seed
    time = VirtualTime(seed: seed)
    random = SeededRandom(seed: seed ^ 0xA5A5)
    for _ in 0..<3 {
      var until = 0.0
      phases.append(
        (0..<12).map { _ in
          until += random.exponential(mean: 15)
          return (until, random.pick([0, 0.1, 0.5, 0.8, 1]))
        })
    }
  }

  func run(count: Int, into report: inout RandomCalls.Report) {
    let calls = Made()
    for number in 0..<count {
      time.timer(after: .bounded(seconds: random.unit() * 60)) { [self] in calls.list.append(start(number)) }
    }
    time.run()
    for call in calls.list {
      report.sends += call.sends.count
      if case .success = call.result { report.successes += 1 }
      for (check, text) in violations(of: call) {
        report.violations[check, default: []].append("seed \(seed), call \(call.number): \(text)")
      }
    }
    report.calls += count
  }

  private final class Made: @unchecked Sendable { var list: [SimulatedCall] = [] }

  private func start(_ number: Int) -> SimulatedCall {
    let host = Int(random.next() % 3)
    let method = random.pick(["GET", "GET", "PUT", "DELETE", "POST", "POST", "PATCH"])
    var request = URLRequest(url: Self.url(host: host, path: random.pick(["/a", "/b", "/c"])))
    request.httpMethod = method
    let hasKey = method == "POST" && random.chance(0.3)
    if hasKey { request.setValue("key-\(number)", forHTTPHeaderField: "Idempotency-Key") }
    let policy = RetryPolicy(
      maxRetries: random.pick([-1, 0, 2, 5, 10, 10, 50, 50]),
      backoff: random.pick([
        .exponential(base: .milliseconds(500), cap: .seconds(20)), .constant(.seconds(1)), .immediate,
        .exponential(base: .milliseconds(1), cap: .milliseconds(5)),
      ]),
      maxRetryAfter: random.pick([.noLimit, .zero, .seconds(2), .seconds(60)]),
      maxRetryTime: random.pick([.seconds(120), .seconds(120), .seconds(120), .seconds(30), .seconds(1), .zero]),
      maxUnreachableTime: random.pick([.noLimit, .seconds(10), .seconds(10), .zero]),
      deadline: random.pick([nil, .noLimit, .seconds(10), .milliseconds(50), .seconds(2)]),
      budget: random.chance(0.8) ? budget : .unlimited, retriesNonIdempotent: random.chance(0.05))
    let call = SimulatedCall(
      number: number, policy: RetryRule(policy),
      isUnsafe: ["POST", "PATCH"].contains(method) && !hasKey && policy.retriesNonIdempotent != true, began: time.now)
    let transport = SimulatedTransport { [self] _, completion in
      if call.cancelledAt != nil { call.sentAfterCancel = true }
      let fate = fate(host: host, hasLimit: call.policy.deadline < .noLimit)
      let place = call.sends.count
      call.sends.append((time.now, nil, fate))
      let latency = Duration.bounded(seconds: random.chance(0.02) ? 60 : random.unit() * 0.2)
      let times = random.chance(0.01) ? 2 : 1
      time.timer(after: latency) { [self] in
        call.sends[place].ended = time.now
        for _ in 0..<times { completion(fate.outcome) }
      }
    }
    let clock = RecordingClock(time, call)
    let loop = RetryLoop(NetworkCallPlan(request, policy: policy), on: transport, clock: clock)
    let task = time.start { [time] in
      let result = await loop.run()
      call.completions += 1
      call.result = result
      call.endedAt = time.now
    }
    if random.chance(0.15) {
      time.timer(after: .bounded(seconds: random.exponential(mean: 3))) { [self] in
        if call.completions == 0 { call.cancelledAt = time.now }
        task.cancel()
      }
    }
    return call
  }

  private func fate(host: Int, hasLimit: Bool) -> Fate {
    let now = time.now.secondsAsDouble
    let badness = phases[host].first { now < $0.until }?.badness ?? 0
    guard random.chance(max(badness, 0.05)) else {
      return Fate(outcome: NetworkOutcome(data: Data(), response: responses.response(200)), mayHaveBeenApplied: true)
    }
    func respond(_ status: Int, _ asked: Int? = nil, applied: Bool = true) -> Fate {
      Fate(
        outcome: NetworkOutcome(data: Data(), response: responses.response(status, retryAfter: asked)),
        mayHaveBeenApplied: applied, asked: asked)
    }
    func fault(_ code: URLError.Code, applied: Bool) -> Fate {
      var fate = Fate(outcome: NetworkOutcome(error: URLError(code)), mayHaveBeenApplied: applied)
      // Now and then the fault comes after a redirect, or after something was sent.
      let hasFollowedRedirect = random.chance(0.1)
      let mayHaveSent = random.chance(0.1)
      fate.outcome.note(mayHaveSent: mayHaveSent, hasFollowedRedirect: hasFollowedRedirect)
      if mayHaveSent || hasFollowedRedirect { fate.mayHaveBeenApplied = true }
      return fate
    }
    switch random.next() % 16 {
    case 0: return respond(404)
    case 1: return respond(500)
    case 2: return respond(502)
    case 3, 4: return respond(503)
    case 5: return respond(503, random.pick([0, 1, 2, 5, 61, 3600]))
    case 6: return respond(429, random.pick([0, 1, 3, 120]), applied: false)
    case 7: return respond(random.pick([421, 425]), applied: false)
    case 8: return respond(random.pick([408, 504, 520]))
    case 9, 10: return fault(.networkConnectionLost, applied: true)
    case 11: return fault(.timedOut, applied: true)
    case 12: return fault(.cannotConnectToHost, applied: false)
    case 13: return fault(random.pick([.cannotFindHost, .notConnectedToInternet]), applied: false)
    case 14: return fault(.secureConnectionFailed, applied: false)
    default: return fault(random.pick([.cancelled, .serverCertificateUntrusted, .unknown]), applied: true)
    }
  }

  private static func url(host: Int, path: String) -> URL {
    URL(string: "http://h\(host).example\(path)") ?? URL(fileURLWithPath: "/")
  }

  private func violations(of call: SimulatedCall) -> [(RandomCalls.Check, String)] {
    var found: [(RandomCalls.Check, String)] = []
    func check(_ check: RandomCalls.Check, _ isTrue: Bool, _ text: @autoclosure () -> String) {
      if !isTrue { found.append((check, text())) }
    }
    let (policy, sends) = (call.policy, call.sends)
    check(.endsExactlyOnce, call.completions == 1, "\(call.completions) completions")
    check(.noMoreSendsThanAllowed, sends.count <= policy.maxRetries + 1, "\(sends.count) sends")
    check(.nothingSentAfterACancellation, !call.sentAfterCancel, "cancelled at \(call.cancelledAt ?? .zero)")
    for (send, next) in zip(sends, sends.dropFirst()) {
      check(.nothingUnsafeIsSentTwice, !call.isUnsafe || !send.fate.mayHaveBeenApplied, "after \(send.fate.outcome)")
      if let asked = send.fate.asked, let ended = send.ended {
        check(.neverSoonerThanTheServerAsked, next.at >= ended + .seconds(asked), "\(next.at - ended), asked \(asked)")
      }
    }
    var (waited, asked) = (Duration.zero, Duration.zero)
    for wait in call.waits {
      // What the server asked for after the attempt before this wait.
      let isFirst = wait.at == sends[wait.attempts - 1].ended
      let floor = isFirst ? sends[wait.attempts - 1].fate.asked.map { Duration.seconds($0) } ?? .zero : .zero
      (waited, asked) = (waited + wait.delay, asked + min(floor, wait.delay))
      let end = wait.at - call.began + wait.delay
      let isExempt = wait.attempts == 1 && (sends[0].ended ?? .zero) - call.began > policy.maxRetryTime
      check(
        .noWaitThatCannotEndInAnAttempt,
        (isExempt || end <= policy.maxRetryTime) && end < policy.deadline,
        "until \(end)")
      var longest = Duration.seconds(1_000_000)
      if case .exponential(_, let cap) = policy.backoff { longest = floor + cap }
      check(.everyDelayIsWithinItsBounds, wait.delay >= .zero && wait.delay <= longest, "\(wait.delay) > \(longest)")
    }
    let steps = (0..<policy.maxRetries).map { policy.backoff.delay(retry: $0, random: 1) }
    let longest = steps.reduce(asked, +)
    check(.noLongerThanItsOwnRetries, waited <= longest + .milliseconds(1), "waited \(waited) of \(longest)")
    check(.noMoreSendsThanAlone, sends.count <= call.waits.count + 1, "\(sends.count) after \(call.waits.count) waits")
    if case .exponential(let base, let cap) = policy.backoff, let first = call.waits.first,
      sends[0].fate.asked == nil
    {
      check(.everyDelayIsWithinItsBounds, first.delay <= min(cap, base), "the first: \(first.delay)")
    }
    if let endedAt = call.endedAt {
      check(
        .noLongerThanTheDeadline, endedAt - call.began <= policy.deadline + .milliseconds(1), "\(endedAt - call.began)")
    }
    switch call.result {
    case .success(let response):
      check(.theAttemptsReportedAreThoseMade, response.attempts.count == sends.count, "\(response.attempts.count)")
    case .failure(.inaccessible(let failure)):
      check(
        .theAttemptsReportedAreThoseMade,
        failure.attempts.map(\.number) == Array(1..<sends.count + 1), "\(failure.attempts.count) of \(sends.count)")
    default: break
    }
    return found
  }
}

/// The time of the simulation, for one call whose waits it notes.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private struct RecordingClock: RetryClock {
  let time: VirtualTime
  let call: SimulatedCall
  init(_ time: VirtualTime, _ call: SimulatedCall) { (self.time, self.call) = (time, call) }

  var now: Duration { time.now }
  var date: Date { time.date }
  func random() -> Double { time.random() }
  func sleep(for delay: Duration) async throws {
    call.waits.append((time.now, delay, call.sends.count))
    try await time.sleep(for: delay)
  }
  func timer(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    time.timer(after: delay, action)
  }
}
