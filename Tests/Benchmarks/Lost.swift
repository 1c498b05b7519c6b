import Foundation
import LoopbackServer
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A connection that the server closes while it is idle: how long the call takes that is sent on it.
enum Lost {
  /// The last request of each path that was not answered, by the number of requests before it on its connection.
  private final class Dropped: @unchecked Sendable {
    // Unchecked: used under the lock.
    private let lock = NSLock()
    private var indices: [String: Int] = [:]

    /// Whether a request is dropped: the first of a path, and the one that libcurl sends by itself if that one was lost on
    /// a connection that it had used before.
    func drops(_ request: LoopbackServer.Request) -> Bool {
      if request.target == "/warm" { return false }
      return lock.withLock {
        let isRepeated = indices[request.target] == 0
        if !isRepeated { indices[request.target] = min(request.indexOnConnection, 1) }
        return !isRepeated
      }
    }
  }

  static func run(calls: Int) async throws {
    let dropped = Dropped()
    let server = try LoopbackServer(isRecording: false) { dropped.drops($0) ? .reset : .ok() }
    let session = Overhead.session()
    for (name, backoff) in [
      ("up to 50 ms (the default)", nil),
      ("up to 0.5 s", Backoff.exponential(base: .milliseconds(500), cap: .seconds(20))),
    ] {
      var seconds: [Double] = []
      while seconds.count < calls {
        _ = try await session.performNetworkRequest(server.url("/warm"))
        let began = ContinuousClock.now
        let policy = RetryPolicy(backoff: backoff, budget: RetryBudget())
        let response = try await session.networkResponse(for: server.url("/\(UUID())"), policy: policy)
        if response.attempts.count == 2 { seconds.append((ContinuousClock.now - began) / .seconds(1)) }
      }
      let median = Median(seconds)
      print(
        String(
          format: "first wait %@: %.1f ms (%.1f–%.1f), the longest %.1f ms",
          name, median.value * 1e3, median.low * 1e3, median.high * 1e3, (seconds.max() ?? 0) * 1e3))
    }
  }
}
