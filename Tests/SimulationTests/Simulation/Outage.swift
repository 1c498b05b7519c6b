import Foundation

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Many calls of one process to one server that fails: how long each takes, and how often it sends.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public struct Outage: Sendable {
  /// Calls that start at the same moment.
  public var calls: Int
  /// Retries of each.
  public var maxRetries: Int
  /// Whether they share a budget.
  public var isShared: Bool
  /// The status code at a time in seconds.
  public var status: @Sendable (Double) -> Int

  /// Nil is the default.
  public var backoff: Backoff?
  /// How a request fails in place of a response.
  public var fault: URLError.Code?

  /// Describes one.
  public init(
    calls: Int, maxRetries: Int = 10, isShared: Bool = true, status: @escaping @Sendable (Double) -> Int
  ) {
    (self.calls, self.maxRetries, self.isShared, self.status) = (calls, maxRetries, isShared, status)
  }

  /// The default, and the same for every failure.
  public static let backoffs: [(name: String, backoff: Backoff?)] = [
    ("the default", nil), ("up to 0.5 s first", .exponential(base: .milliseconds(500), cap: .seconds(20))),
  ]

  /// A call that no server receives.
  public static func unreachable(_ backoff: Backoff?) -> Outage {
    var outage = Outage(calls: 1) { _ in 200 }
    (outage.backoff, outage.fault) = (backoff, .cannotConnectToHost)
    return outage
  }

  /// The result of an outage.
  public struct Result: Sendable {
    /// Seconds of each call, the shortest first.
    public var times: [Double] = []
    /// Requests that each call sent, on average.
    public var sends = 0.0
  }

  private final class Tally: @unchecked Sendable {
    // Unchecked: used on the thread of the simulation.
    var times: [Double] = []
    var sends = 0
  }

  /// Runs it in virtual time.
  public func run(seed: UInt64 = 1) -> Result {
    let time = VirtualTime(seed: seed)
    let tally = Tally()
    nonisolated(unsafe) var responses = Responses()
    let transport = SimulatedTransport { _, completion in
      tally.sends += 1
      let response = responses.response(status(time.now.secondsAsDouble))
      let outcome =
        fault.map { NetworkOutcome(error: URLError($0)) } ?? NetworkOutcome(data: Data(), response: response)
      time.timer(after: .milliseconds(20)) { completion(outcome) }
    }
    guard let url = URL(string: "http://simulated.example/") else { return Result() }
    let policy = RetryPolicy(maxRetries: maxRetries, backoff: backoff, budget: isShared ? RetryBudget() : .unlimited)
    for _ in 0..<calls {
      let loop = RetryLoop(NetworkCallPlan(URLRequest(url: url), policy: policy), on: transport, clock: time)
      time.start {
        _ = await loop.run()
        tally.times.append(time.now.secondsAsDouble)
      }
    }
    time.run()
    return Result(times: tally.times.sorted(), sends: Double(tally.sends) / Double(calls))
  }
}
