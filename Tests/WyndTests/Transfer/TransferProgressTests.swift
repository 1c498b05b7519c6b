import Dispatch
import Foundation
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5))) struct TransferProgressTests {
  @Test func reportsProgressThatStartsAgainWithTheSameTotal() async {
    let reported = Box<[Int64]>([])
    let reporter = NetworkProgressReporter { progress in reported.append(progress.completed) }
    for completed in [Int64(0), 900_000, 0, 1, 1_000_000, 1_000_000] {
      reporter.report(completed, of: 1_000_000)
      await reporter.waitForReports()
    }
    // The first report has the length; a single byte and an unchanged value are not reported.
    #expect(reported.value == [0, 900_000, 0, 1_000_000])
  }

  /// At most one report for each percent, and for each 64 KB. Without a length, a percent of what has arrived.
  @Test(arguments: [(1_000_000_000, 101), (1_000_000, 17), (nil, 620)] as [(Int64?, Int)])
  func limitsTheNumberOfReports(_ total: Int64?, _ limit: Int) async {
    let reported = Box<[Int64]>([])
    let reporter = NetworkProgressReporter { progress in reported.append(progress.completed) }
    let end = total ?? 1_000_000_000
    for completed in stride(from: 0, through: end, by: 10_000) {
      reporter.report(completed, of: total)
      // Otherwise a report may be replaced.
      await reporter.waitForReports()
    }
    let all = reported.value ?? []
    #expect(limit / 2...limit ~= all.count && all == all.sorted(), "\(all.count)")
  }

  /// While the closure runs, a newer report replaces the one that waits. The last one is never lost.
  @Test func slowClosureReceivesTheNewestReport() async {
    let (reported, isRunning) = (Box<[Int64]>([]), Gate())
    let mayEnd = DispatchSemaphore(value: 0)
    let reporter = NetworkProgressReporter { progress in
      reported.append(progress.completed)
      isRunning.open()
      // Not forever: a mistake must not stop the whole run.
      #expect(mayEnd.wait(timeout: .now() + 30) == .success)
    }
    reporter.report(1, of: 1_000_000)
    await isRunning.wait()
    for completed in stride(from: Int64(100_000), through: 1_000_000, by: 100_000) {
      reporter.report(completed, of: 1_000_000)
    }
    mayEnd.signal()
    mayEnd.signal()
    await reporter.waitForReports()
    #expect(reported.value == [1, 1_000_000])
  }
}
