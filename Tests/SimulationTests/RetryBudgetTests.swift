import Foundation
import Testing

// The sources of Wynd, and what drives them in virtual time.
@testable import Simulation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension SimulationTests {
  /// A lasting outage sees little more than the calls made, a blip costs nobody an answer, and a broken endpoint does not
  /// slow the others.
  @Suite(.serialized) struct RetryBudgetTests {
    static let url = URL(string: "http://simulated.example/")

    /// Calls in virtual time against a host, a closure that says what it answers to a path.
    final class Host: @unchecked Sendable {
      let time: VirtualTime
      private(set) var sends: [String: Int] = [:]
      private var answers = Answers()
      let answer: (_ path: String, _ now: Double) -> NetworkOutcome?
      let status: (_ path: String, _ now: Double) -> Int

      init(
        seed: UInt64, status: @escaping (String, Double) -> Int,
        fault: @escaping (String, Double) -> NetworkOutcome? = { _, _ in nil }
      ) {
        time = VirtualTime(seed: seed)
        self.status = status
        answer = fault
      }

      func call(
        _ path: String, at start: Double, _ policy: RetryPolicy,
        _ done: @escaping @Sendable (_ error: NetworkError?, _ took: Double) -> Void
      ) {
        guard let url = URL(string: "http://simulated.example\(path)") else { return }
        let transport = SimulatedTransport { [self] _, completion in
          sends[path, default: 0] += 1
          let now = time.now.secondsAsDouble
          let outcome =
            answer(path, now)
            ?? NetworkOutcome(data: Data(), response: answers.response(status(path, now)))
          _ = time.wait(.milliseconds(20)) { completion(outcome) }
        }
        _ = time.wait(.bounded(seconds: start)) { [time] in
          let loop = RetryLoop(
            URLRequest(url: url), policy: policy, allowEmptyData: true, transport: transport, clock: time)
          loop.start { result in
            let error: NetworkError? = if case .failure(let error) = result { error } else { nil }
            done(error, time.now.secondsAsDouble - start)
          }
        }
      }
    }

    final class Results: @unchecked Sendable {
      var times: [Double] = []
      var errors: [NetworkError] = []
      @Sendable func add(_ error: NetworkError?, _ time: Double) {
        times.append(time)
        if let error { errors.append(error) }
      }
    }

    static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    @Test func aLastingOutageSeesLittleMoreThanTheCallsMade() {
      var storm = Storm()
      storm.clients = 100
      storm.capacity = 300
      let ours = storm.run(.ours)
      #expect(ours.load <= 1.2)
      #expect(ours.failed == 0)
      #expect(storm.run(.withoutBudget).load > 5, "the storm is one")
    }

    @Test func aBlipCostsNobodyAnAnswer() {
      var lone: [Double] = []
      var last: [Double] = []
      var sends: [Double] = []
      for seed in 0..<100 {
        for count in [1, 20] {
          let host = Host(seed: UInt64(seed), status: { _, now in now < 1 ? 503 : 200 })
          let policy = RetryPolicy(budget: RetryBudget())
          let results = Results()
          for _ in 0..<count { host.call("/", at: 0, policy, results.add) }
          host.time.run()
          #expect(results.times.count == count)
          #expect(results.errors.isEmpty, "seed \(seed)")
          if count == 1 { lone += results.times } else { last.append(results.times.max() ?? 0) }
          if count == 20 { sends.append(Double(host.sends["/"] ?? 0) / 20) }
        }
      }
      let (loneMedian, lastMedian) = (Self.median(lone), Self.median(last))
      #expect(lastMedian <= 2 * loneMedian, "\(lastMedian) s, alone \(loneMedian) s, \(Self.median(sends)) sends each")
    }

    @Test func aBrokenEndpointOnAHealthyHostSlowsNoOther() {
      var times: [Bool: [Double]] = [:]
      for seed in 0..<20 {
        for isBroken in [false, true] {
          // One in ten answers of the healthy path is a 503 too, so its retries meet the budget.
          var random = SeededRandom(seed: UInt64(seed) &+ 7)
          let host = Host(
            seed: UInt64(seed), status: { path, _ in path == "/broken" || random.chance(0.1) ? 503 : 200 })
          let policy = RetryPolicy(budget: RetryBudget())
          let (healthy, broken) = (Results(), Results())
          for index in 0..<600 {
            host.call("/healthy", at: Double(index) * 0.1, policy, healthy.add)
            if isBroken { host.call("/broken", at: Double(index) * 0.1 + 0.05, policy, broken.add) }
          }
          host.time.run()
          #expect(healthy.times.count == 600)
          #expect(healthy.errors.isEmpty, "seed \(seed)")
          times[isBroken, default: []] += healthy.times
          // The broken path is given up at its own limits, and no sooner than without a budget.
          for (error, time) in zip(broken.errors, broken.times) where error.stopReason == .budget { #expect(time > 95) }
        }
      }
      func slowest(_ isBroken: Bool) -> Double { times[isBroken, default: [0]].sorted()[11_880] }
      // One in a hundred is slower than this. One wait, the first, is 0.5 s at the most.
      #expect(slowest(true) <= slowest(false) + 0.5, "\(slowest(true)) s, without the broken path \(slowest(false)) s")
    }

    @Test func afterAnOutageNothingIsLeftOfIt() {
      let host = Host(seed: 1, status: { _, now in now < 30 ? 503 : 200 })
      let budget = RetryBudget()
      let results = Results()
      for index in 0..<60 { host.call("/", at: Double(index), RetryPolicy(budget: budget), results.add) }
      host.time.run()
      #expect(results.errors.isEmpty)
      #expect(budget.hostCount == 0)
      #expect(host.time.isIdle)
      let before = host.sends["/"] ?? 0
      let late = Results()
      host.call("/", at: 100, RetryPolicy(budget: budget), late.add)
      host.time.run()
      #expect(host.sends["/"] == before + 1)
    }

    @Test func anOutageThatOutlastsTheCallEndsItNoSoonerAndSaysSo() {
      let host = Host(seed: 3, status: { _, _ in 503 })
      let policy = RetryPolicy(maxRetries: 1000, budget: RetryBudget())
      let results = Results()
      for index in 0..<50 { host.call("/", at: Double(index) / 10, policy, results.add) }
      host.time.run()
      #expect(results.times.allSatisfy { $0 > 95 }, "\(results.times.min() ?? 0)")
      #expect(results.errors.allSatisfy { $0.stopReason == .budget || $0.stopReason == .maxRetryTime })
      #expect(results.errors.contains { $0.stopReason == .budget })
      #expect(host.time.isIdle)
    }

    @Test func whatNeverReachedAServerIsFree() {
      let refused = NetworkOutcome(error: URLError(.cannotConnectToHost))
      let host = Host(seed: 1, status: { _, _ in 200 }, fault: { _, now in now < 5 ? refused : nil })
      let budget = RetryBudget()
      let results = Results()
      for _ in 0..<20 { host.call("/", at: 0, RetryPolicy(budget: budget), results.add) }
      host.time.run()
      #expect(results.errors.isEmpty)
      #expect(budget.hostCount == 0)
      #expect(host.sends["/"] ?? 0 > 60, "each call tried by itself")
    }

    @Test func aProbeThatIsCancelledLeavesItsPlaceToTheNext() throws {
      let time = VirtualTime(seed: 1)
      var answers = Answers()
      let busy = NetworkOutcome(data: Data(), response: answers.response(503))
      let good = NetworkOutcome(data: Data(), response: answers.response(200))
      nonisolated(unsafe) var sends = 0
      // The first three calls fail at once; their first retry hangs; what comes then is good.
      let transport = SimulatedTransport { _, completion in
        sends += 1
        if sends <= 3 { _ = time.wait(.milliseconds(10)) { completion(busy) } }
        if sends > 4 { _ = time.wait(.milliseconds(10)) { completion(good) } }
      }
      let url = try #require(Self.url)
      let policy = RetryPolicy(backoff: .constant(.seconds(1)), budget: RetryBudget())
      nonisolated(unsafe) var ended: [Int: NetworkError?] = [:]
      let loops = (0..<3).map { _ in
        RetryLoop(URLRequest(url: url), policy: policy, allowEmptyData: true, transport: transport, clock: time)
      }
      for (number, loop) in loops.enumerated() {
        loop.start { result in
          let error: NetworkError? = if case .failure(let error) = result { error } else { nil }
          ended[number] = .some(error)
        }
      }
      // The first to have waited is the probe.
      _ = time.wait(.seconds(5)) { if sends == 4, ended.isEmpty { loops[0].cancel() } }
      time.run()
      #expect(ended.count == 3)
      #expect(ended[0]??.isCancellation == true)
      #expect(ended.values.filter { $0 != nil }.count == 1)
      #expect(time.now < .seconds(10))
    }

    @Test func theHostsThatAreRememberedAreBounded() throws {
      let budget = RetryBudget()
      let time = VirtualTime(seed: 1)
      for index in 0..<1000 {
        budget.failed(URL(string: "http://h\(index).example/"), nil, time)
      }
      #expect(budget.hostCount == RetryBudget.capacity)
    }

    @Test func aHeldCallSaysSo() {
      let host = Host(seed: 1, status: { _, now in now < 10 ? 503 : 200 })
      nonisolated(unsafe) var held: [String] = []
      let policy = RetryPolicy(
        budget: RetryBudget(),
        onEvent: { if case .willRetry(_, .budget) = $0.kind { held.append($0.description) } })
      for _ in 0..<5 { host.call("/", at: 0, policy) { _, _ in } }
      host.time.run()
      #expect(held.first?.contains("held back while its host fails, for 1") == true, "\(held)")
    }
  }
}
