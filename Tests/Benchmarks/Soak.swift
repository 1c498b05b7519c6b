import Foundation
import LoopbackServer
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Many calls through one session at 1 % faults: does the memory stay where it is?
enum Soak {
  /// Bytes that URLSession itself leaks with each request, on Linux.
  static let leak = 154

  static func run(calls: Int) async -> Int32 {
    do {
      let faults: [ScriptedResponse] = [.reset, .close, .status(503), .truncated, .garbage]
      let server = try LoopbackServer(isRecording: false) { request in
        request.index % 100 == 99
          ? faults[request.index / 100 % faults.count] : .ok("0123456789012345678901234567890123456789")
      }
      let session = URLSession(configuration: .default)
      let url = server.url("/soak")
      let policy = RetryPolicy(backoff: .constant(.milliseconds(1)), budget: RetryBudget())
      // The first tenth fills caches and pools.
      let first = await perform(calls / 10, session, url, policy)
      let before = Chaos.residentKilobytes()
      let began = ContinuousClock.now
      let failed = await first + perform(calls, session, url, policy)
      let grown = Chaos.residentKilobytes() - before
      let ours = grown - calls * leak / 1024
      print("\(calls) calls in \(ContinuousClock.now - began), \(failed) failed")
      print(
        "resident \(before / 1024) MB, grown by \(grown) KB, of which URLSession leaks \(calls * leak / 1024) KB: \(ours) KB"
      )
      print("descriptors \(Chaos.descriptors())")
      return failed == 0 && ours < 10_240 ? 0 : 1
    } catch {
      print("\(error)")
      return 1
    }
  }

  private static func perform(_ calls: Int, _ session: URLSession, _ url: URL, _ policy: RetryPolicy) async -> Int {
    await withTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask {
          var failed = 0
          for _ in 0..<calls / 8 {
            do { _ = try await session.performNetworkRequest(url, policy: policy) } catch { failed += 1 }
          }
          return failed
        }
      }
      return await group.reduce(0, +)
    }
  }
}
