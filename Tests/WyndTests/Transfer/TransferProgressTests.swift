import Foundation
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5))) struct TransferProgressTests {
  @Test func reportsProgressThatStartsAgainWithTheSameTotal() async {
    let reported = Box<[Int64]>([])
    let reporter = NetworkProgressReporter { progress in reported.update { $0.append(progress.completed) } }
    for completed in [Int64(0), 900_000, 0, 1, 1_000_000, 1_000_000] {
      reporter.report(completed, of: 1_000_000)
      await reporter.reportsAreDelivered()
    }
    // The first report has the length; a single byte and an unchanged value are not reported.
    #expect(reported.value == [0, 900_000, 0, 1_000_000])
  }
}
