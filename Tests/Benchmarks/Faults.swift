import Foundation
import Measurement
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// 10,000 calls at 20 % faults through six connections, against the same number of sends without any.
enum Faults {
  static func run(calls: Int) async throws {
    let server = try ServerProcess()
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 6
    let session = URLSession(configuration: configuration)
    let policy = RetryPolicy(backoff: .immediate, budget: .unlimited)
    func perform(_ faults: String, _ calls: Int) async -> Cost {
      let url = server.url.appendingPathComponent("40/\(faults)")
      return await Cost.of {
        await withTaskGroup(of: Void.self) { group in
          for worker in 0..<24 {
            group.addTask {
              for _ in stride(from: worker, to: calls, by: 24) {
                if (try? await session.performNetworkRequest(url, policy: policy)) == nil { print("failed") }
              }
            }
          }
        }
      }
    }
    _ = await perform("0", 500)
    let portion = calls / 10
    for (faults, name) in [("20", "503, reset, closed, truncated"), ("20/503", "503 only")] {
      var ratios: [Double] = []
      for _ in 0..<10 {
        let faulty = await perform(faults, portion)
        // One in five fails, and of those again one in five: so many sends.
        let ideal = await perform("0", portion * 5 / 4)
        ratios.append(faulty.wall / ideal.wall)
      }
      let ratio = Median(ratios)
      print(
        String(
          format:
            "%d calls, 20 %% faults (\(name)): %.3f (%.3f–%.3f) of the wall time of the same sends without faults",
          calls, ratio.value, ratio.low, ratio.high))
    }
  }
}
