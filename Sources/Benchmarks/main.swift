import Foundation
import Simulation

// swift run -c release Benchmarks [storm | simulate …]
switch CommandLine.arguments.dropFirst().first {
case "storm": stormTable()
default: print("usage: Benchmarks storm")
}

func stormTable() {
  print("1,000 clients, one call a second each, 60 s of 503, capacity 3,000/s\n")
  print("strategy                 load sent   calls failed   99 % good after   last one back   peak / mean")
  for strategy in Storm.Strategy.allCases {
    let r = Storm().run(strategy)
    print(
      r.strategy.rawValue.padding(toLength: 24, withPad: " ", startingAt: 0)
        + String(
          format: "%7.2f ×    %9.1f %%    %11.0f s    %10.1f s    %9.2f", r.load, r.failed * 100, r.recovery, r.last,
          r.peak))
  }
}
