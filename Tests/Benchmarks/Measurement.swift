import AllocationCounter
import Foundation

/// The time that some work took in this process.
struct Cost {
  /// Seconds.
  var wall = 0.0
  /// Seconds of processor time, all threads, user and system.
  var processor = 0.0

  static func += (total: inout Cost, cost: Cost) {
    total.wall += cost.wall
    total.processor += cost.processor
  }

  /// Measures `work`.
  static func of(_ work: () async -> Void) async -> Cost {
    let began = ContinuousClock.now
    let used = processorSeconds()
    await work()
    let took = (ContinuousClock.now - began).components
    return Cost(
      wall: Double(took.seconds) + Double(took.attoseconds) / 1e18, processor: processorSeconds() - used)
  }

  /// The processor time of this process so far, in seconds.
  static func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// Allocations and locks of the whole process during the work, each per `calls`.
  static func counts(per calls: Int, _ work: () async -> Void) async -> (allocations: Double, locks: Double) {
    countAllocations(1)
    await work()
    let counted = (Double(allocationCount()) / Double(calls), Double(lockCount()) / Double(calls))
    countAllocations(0)
    return counted
  }
}

/// The median of samples, and its 95 % confidence interval.
struct Median {
  /// The median.
  var value: Double
  /// The lower end of the interval.
  var low: Double
  /// The upper end of the interval.
  var high: Double

  /// The median of these.
  init(_ samples: [Double]) {
    let sorted = samples.sorted()
    let count = Double(sorted.count)
    // Ranks of the binomial distribution, which needs no assumption about the distribution of the noise.
    let rank = Int((count / 2 - 0.98 * count.squareRoot()).rounded(.down))
    value = (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    low = sorted[max(0, rank)]
    high = sorted[min(sorted.count - 1, sorted.count - 1 - rank)]
  }
}
