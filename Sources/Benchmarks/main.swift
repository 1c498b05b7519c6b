import Foundation
import LoopbackServer
import Simulation

let arguments = Array(CommandLine.arguments.dropFirst())
let number = arguments.dropFirst().first.flatMap { Int($0) }
let seed = arguments.dropFirst(2).first.flatMap { UInt64($0) }
switch arguments.first {
case nil: try Overhead.run(rounds: 40)
case "overhead": try Overhead.run(rounds: number ?? 40)
case "waiting": try await Waiting.run()
case "faults": try await Faults.run(calls: number ?? 10_000)
case "parts": await Parts.run()
case "growth": try await Growth.run(rounds: number ?? 10)
case "storm":
  stormTable()
  outageTable()
case "simulate": exit(simulate(calls: number, seed: seed))
case "chaos": exit(await Chaos.run(calls: number ?? 10_000, seed: seed ?? .random(in: 0...UInt64.max)))
case "soak": exit(await Soak.run(calls: number ?? 200_000))
case "transfers": exit(try await Transfers.run())
// What other processes of the benchmarks do.
case "serve": try ServerProcess.serve()
case "proxy": try cuttingProxy(to: UInt16(clamping: number ?? 0), arguments.dropFirst(2).compactMap(Double.init))
case "round": await Overhead.round(Array(arguments.dropFirst()))
case "transfer": exit(try await Transfers.one(Array(arguments.dropFirst())))
case "limited": exit(await Limited.run(Array(arguments.dropFirst())))
case "http2": exit(await HTTP2.run(Array(arguments.dropFirst())))
case "one": await Growth.one(Array(arguments.dropFirst()))
default:
  print(
    """
    usage: swift run -c release Benchmarks [overhead [ROUNDS] | waiting | faults [CALLS] | parts | growth [ROUNDS]
             | storm | simulate [CALLS [SEED]] | chaos [CALLS [SEED]] | soak [CALLS] | transfers]
    """)
}

/// Cuts requests, answers before their head, and answers in their body, as often as said, until its input is closed.
func cuttingProxy(to port: UInt16, _ shares: [Double]) throws {
  var faults = ChaosProxy.Faults()
  (faults.cutInRequest, faults.cutBeforeAnswer, faults.cutInBody) = (shares[0], shares[1], shares[2])
  (faults.corrupt, faults.delay) = (0, 0)
  let proxy = try ChaosProxy(to: port, faults: faults, seed: .random(in: 0...UInt64.max))
  FileHandle.standardOutput.write(Data("\(proxy.port)\n".utf8))
  while readLine() != nil {}
}

func stormTable() {
  print("1,000 clients, one call a second each, 60 s of 503, capacity 3,000/s\n")
  print("strategy                 load sent   calls failed   99 % good after   last one back   peak / mean")
  for strategy in Storm.Strategy.allCases {
    let result = Storm().run(strategy)
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

func simulate(calls: Int?, seed: UInt64?) -> Int32 {
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
