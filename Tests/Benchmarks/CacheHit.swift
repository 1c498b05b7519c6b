import Foundation
import LoopbackServer
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The processor time of a response from a cache: one with a Date, which is fresh for an hour.
enum CacheHit {
  /// Microseconds of all threads.
  static let limit = 40.0
  // Before this date, the response has no age.
  static let date = "Fri, 01 Jan 2100 00:00:00 GMT"

  static func run(calls: Int) async throws -> Int32 {
    let server = try LoopbackServer(isRecording: false) { _ in
      return .ok(Array("{\"id\":1}".utf8), [("Date", date), ("Cache-Control", "max-age=3600"), ("ETag", "\"1\"")])
    }
    let cache = ResponseCache(capacity: 1_000_000, on: URLSession(configuration: .ephemeral))
    let url = server.url("/item")
    _ = try await cache.performNetworkRequest(url)
    let start = clock()
    for _ in 0..<calls {
      let response = try await cache.networkResponse(for: url)
      if response.source != .cache { return 1 }
    }
    let microseconds = Double(clock() - start) / Double(CLOCKS_PER_SEC) * 1_000_000 / Double(calls)
    print("a response from a cache: \(String(format: "%.1f", microseconds)) µs of processor time, at most \(limit)")
    server.stop()
    return microseconds <= limit ? 0 : 1
  }
}
