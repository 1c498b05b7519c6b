import Foundation
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How many threads a process has at most while it makes many calls that work on files, and how long a cache on disk with many
/// entries takes to open. Linux only, which tells the number of threads.
enum Threads {
  static func run() async throws -> Int32 {
    let folder = FileManager.default.temporaryDirectory.appending(path: "wynd-threads-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let server = try ServerProcess()
    let url = server.url.appending(path: "40")
    let session = URLSession(configuration: .default)
    _ = try await session.performNetworkRequest(url)

    let downloads = try await most {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<600 {
          group.addTask {
            try await session.performNetworkDownload(url, to: folder.appending(path: "\(number)"))
          }
        }
        try await group.waitForAll()
      }
    }
    print("600 downloads at once: at most \(downloads) threads")

    let files = folder.appending(path: "cache")
    let script = NetworkScript { _, _ in
      .ok(String(repeating: "x", count: 500), headers: ["Cache-Control": "max-age=600"])
    }
    let filled = try ResponseCache(in: files, on: script)
    @Sendable func address(_ number: Int) -> URL { URL(string: "https://a.example/\(number)") ?? url }
    for number in 0..<20_000 { _ = try await filled.performNetworkRequest(address(number)) }
    let began = ContinuousClock.now
    let cache = try ResponseCache(in: files, on: script)
    let opened = ContinuousClock.now - began
    _ = try await cache.performNetworkRequest(address(1))
    print("a cache with 20,000 entries: opened in \(opened), first response after \(ContinuousClock.now - began)")

    let reads = try await most {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<1_000 { group.addTask { _ = try await cache.performNetworkRequest(address(number)) } }
        try await group.waitForAll()
      }
    }
    print("1,000 reads at once: at most \(reads) threads")
    let isRight = downloads <= 40 && reads <= 40 && opened < .milliseconds(100)
    return isRight ? 0 : 1
  }

  /// The largest number of threads while the work runs.
  private static func most(_ work: @Sendable () async throws -> Void) async throws -> Int {
    let counting = Task.detached {
      var most = 0
      while !Task.isCancelled {
        most = max(most, (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0)
        try? await Task.sleep(for: .milliseconds(2))
      }
      return most
    }
    try await work()
    counting.cancel()
    return await counting.value
  }
}
