import Foundation
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A clock, a transport, and one request after the other, all in one thread.
final class World {
  let clock: VirtualClock
  let transport: ScriptedTransport

  init(_ script: [ScriptedTransport.Step], seed: UInt64 = 1) {
    clock = VirtualClock(seed: seed)
    transport = ScriptedTransport(script, clock)
  }

  func run(_ policy: RetryPolicy, cancelAfter: Duration? = nil, into box: Box<RetryLoop> = Box()) -> [RetryLoop.Answer]
  {
    let answers = Box<[RetryLoop.Answer]>()
    answers.value = []
    guard let url = URL(string: "http://127.0.0.1/") else { return [] }
    var policy = policy
    policy.budget = RetryBudget()
    let loop = RetryLoop(
      URLRequest(url: url), policy: policy, allowEmptyData: true, transport: transport, clock: clock)
    box.value = loop
    if let cancelAfter { _ = clock.wait(cancelAfter) { loop.cancel() } }
    loop.start { answer in answers.value?.append(answer) }
    clock.runAll()
    box.value = nil
    return answers.value ?? []
  }
}

/// Time that passes only from one wait to the next.
final class VirtualClock: RetryClock, @unchecked Sendable {
  private let lock = NSLock()
  private var time = Duration.zero
  private var waits: [(due: Duration, id: UInt64, action: @Sendable () -> Void)] = []
  private var last: UInt64 = 0
  private var state: UInt64
  /// The device sleeps for so long once the first wait of a second or more is due.
  var sleepsOnce = Duration.zero

  init(seed: UInt64) { state = seed }

  var now: Duration { lock.withLock { time } }
  var date: Date { Date(timeIntervalSince1970: 1_445_412_480 + now.secondsAsDouble) }
  var isIdle: Bool { lock.withLock { waits.isEmpty } }

  func random() -> Double {
    lock.withLock {
      // SplitMix64
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return Double((z ^ (z >> 31)) >> 11) / Double(1 << 53)
    }
  }

  func wait(_ delay: Duration, _ action: @escaping @Sendable () -> Void) -> RetryWait {
    lock.withLock {
      last += 1
      waits.append((time + max(.zero, delay), last, action))
      return RetryWait(id: last)
    }
  }

  func cancel(_ wait: RetryWait) { lock.withLock { waits.removeAll { $0.id == wait.id } } }

  func runAll() {
    while true {
      let action: (@Sendable () -> Void)? = lock.withLock {
        guard let next = waits.indices.min(by: { (waits[$0].due, waits[$0].id) < (waits[$1].due, waits[$1].id) }) else {
          return nil
        }
        if waits[next].due - time >= .seconds(1) {
          time += sleepsOnce
          sleepsOnce = .zero
        }
        time = max(time, waits[next].due)
        return waits.remove(at: next).action
      }
      guard let action else { return }
      action()
    }
  }
}

final class ScriptedTransport: NetworkTransport, @unchecked Sendable {
  var isOver: Bool { false }
  enum Step { case ok, drop, refused, busy }

  private let clock: VirtualClock
  private var script: [Step]
  var latency = Duration.zero
  var answersTwice = false
  /// Until then, this.
  var outage: (Duration, Step)?
  private(set) var sends = 0
  private(set) var cancels = 0

  init(_ script: [Step], _ clock: VirtualClock) {
    self.script = script
    self.clock = clock
  }

  func refusal(of request: URLRequest) -> String? { nil }

  func send(_ request: URLRequest, completion: @escaping @Sendable (NetworkOutcome) -> Void) -> any NetworkFlight {
    sends += 1
    var step = script.isEmpty ? Step.ok : script.removeFirst()
    if let (end, fault) = outage, clock.now < end { step = fault }
    let outcome: NetworkOutcome =
      switch step {
      case .ok: NetworkOutcome(data: Data(), response: Self.response(200))
      case .busy: NetworkOutcome(data: Data(), response: Self.response(503))
      case .drop: NetworkOutcome(error: URLError(.networkConnectionLost))
      case .refused: NetworkOutcome(error: URLError(.cannotConnectToHost))
      }
    let times = answersTwice ? 2 : 1
    _ = clock.wait(latency) { for _ in 0..<times { completion(outcome) } }
    return Flight(self)
  }

  private static func response(_ status: Int) -> HTTPURLResponse? {
    URL(string: "http://127.0.0.1/").flatMap {
      HTTPURLResponse(url: $0, statusCode: status, httpVersion: nil, headerFields: nil)
    }
  }

  final class Flight: NetworkFlight {
    let transport: ScriptedTransport
    init(_ transport: ScriptedTransport) { self.transport = transport }
    func cancel() { transport.cancels += 1 }
  }
}
