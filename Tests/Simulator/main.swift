import Foundation
import Simulation

let arguments = Array(CommandLine.arguments.dropFirst())
let number = arguments.dropFirst().first.flatMap { Int($0) }
let seed = arguments.dropFirst(2).first.flatMap { UInt64($0) }
switch arguments.first {
case "calls": exit(randomCalls(number, seed: seed))
case "storm":
  print("1,000 clients, one call a second each, 60 s of 503, capacity 3,000/s\n")
  stormTable(Storm())
  print("\nthe same, 60 s of lost connections\n")
  var lost = Storm()
  lost.fault = .networkConnectionLost
  stormTable(lost)
  outageTable()
  unreachableTable()
default:
  print(
    """
    usage: swift run --package-path Tests -c release -Xswiftc -enable-testing Simulator
             calls [CALLS [SEED]] | storm
    """)
}

func stormTable(_ storm: Storm) {
  print("strategy                 load sent   calls failed   99 % good after   last one back   peak / mean")
  // A lost connection is no throttling.
  for strategy in Storm.Strategy.allCases where storm.fault == nil || strategy != .awsThrottled {
    let result = storm.run(strategy)
    print(
      strategy.rawValue.padding(toLength: 24, withPad: " ", startingAt: 0)
        + String(
          format: "%7.2f ×    %9.1f %%    %11.0f s    %10.1f s    %9.2f", result.load, result.failed * 100,
          result.recovery, result.last, result.peak))
  }
}

func outageTable() {
  print("\ncalls of one process at once                        median      last   sends each")
  for (name, calls, maxRetries, status) in [
    ("50 calls, maxRetries 2, 503 for good", 50, 2, { @Sendable _ in 503 }),
    ("20 calls, 503 for 1 s, then 404", 20, 10, { @Sendable in $0 < 1 ? 503 : 404 }),
    ("20 calls, 503 for 1 s, then 200", 20, 10, { @Sendable in $0 < 1 ? 503 : 200 }),
  ] as [(String, Int, Int, @Sendable (Double) -> Int)] {
    for isShared in [true, false] {
      let result = Outage(calls: calls, maxRetries: maxRetries, isShared: isShared, status: status).run()
      print(
        (name + (isShared ? "" : ", without a budget")).padding(toLength: 54, withPad: " ", startingAt: 0)
          + String(
            format: "%6.2f s  %6.2f s    %6.2f", result.times[result.times.count / 2], result.times.last ?? 0,
            result.sends))
    }
  }
}

func unreachableTable() {
  print("\na call without a server, which ends after 10 s                              sends")
  for (name, backoff) in Outage.backoffs {
    let sends = (0..<1000 as Range<UInt64>).map { Outage.unreachable(backoff).run(seed: $0).sends }
    print(
      name.padding(toLength: 70, withPad: " ", startingAt: 0)
        + String(format: "%6.2f, at most %.0f", sends.reduce(0, +) / 1000, sends.max() ?? 0))
  }
}

/// Random calls in virtual time; prints what must always hold, and returns the exit code.
func randomCalls(_ calls: Int?, seed: UInt64?) -> Int32 {
  let run = RandomCalls(calls: calls ?? 1_000_000, seed: seed ?? .random(in: 0...UInt64.max))
  print("seed \(run.seed)")
  let began = Date()
  let report = run.run()
  print(
    "\(report.calls) calls, \(report.sends) sends, \(report.successes) successes in \(Int(Date().timeIntervalSince(began))) s"
  )
  for check in RandomCalls.Check.allCases {
    let violations = report.violations[check] ?? []
    print("\(violations.isEmpty ? "✓" : "✗") \(check.rawValue)\(violations.isEmpty ? "" : ": \(violations.count)")")
    for violation in violations.prefix(3) { print("    \(violation)") }
  }
  return report.violations.isEmpty ? 0 : 1
}
