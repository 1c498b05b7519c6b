import AllocationCounter
import Foundation
import Measurement
import Simulation

/// What a call costs while it waits for its retry.
enum Waiting {
  static func run() async throws {
    print(
      "calls waiting   held by a budget   bytes each   threads more   processor while waiting   late: 99.9 %   at most")
    for (count, isShared) in [(10_000, false), (100_000, false), (100_000, true)] {
      let calls = WaitingCalls(count: count)
      let (heap, threads) = (Int(heapBytes()), threadCount())
      let began = ContinuousClock.now
      calls.start(earliest: 6, spread: 10, isShared: isShared)
      let bytes = (Int(heapBytes()) - heap) / count
      let more = threadCount() - threads
      // From here to shortly before the first is due nothing may happen.
      let used = Cost.processorSeconds()
      try await Task.sleep(until: began + .seconds(5.8), clock: .continuous)
      let idle = Cost.processorSeconds() - used
      var late = "                      "
      if !isShared {
        while calls.ended < count { try await Task.sleep(for: .milliseconds(100)) }
        let lateness = calls.sortedLateness.map { $0 * 1000 }
        late = String(format: "%9.1f ms %9.1f ms", lateness[lateness.count * 999 / 1000], lateness.last ?? 0)
      }
      print(
        String(format: "%13d   ", count) + (isShared ? "yes" : "no ")
          + String(format: "%25d %14d %21.3f s  ", bytes, more, idle) + late)
    }
  }

  static func threadCount() -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
  }
}
