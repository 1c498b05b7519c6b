import Foundation
import LoopbackServer
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// 200 MB, there and back: does it arrive, how many bytes does the server send for it, and how much memory does the whole
/// process take at its peak?
enum Transfers {
  static let film: [UInt8] = (0..<200_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8 &* 7) }

  static func run() async throws -> Int32 {
    var failed: Int32 = 0
    for kind in ["download", "dropping", "upload", "stream"] {
      let text = try ServerProcess.output(of: ["transfer", kind])
      print(text, terminator: "")
      if !text.contains("✓") { failed = 1 }
    }
    return failed
  }

  static func one(_ arguments: [String]) async throws -> Int32 {
    let kind = arguments.first ?? "download"
    let server = try ServerProcess()
    let session = URLSession(configuration: .default)
    let folder = FileManager.default.temporaryDirectory.appending(path: "wynd-transfer-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "film")
    let began = ContinuousClock.now
    var isRight = false
    var note = ""
    var policy = RetryPolicy.default
    policy.maxRetries = 3
    switch kind {
    case "upload":
      var size = 0
      _ = FileManager.default.createFile(atPath: file.path, contents: nil)
      let handle = try FileHandle(forWritingTo: file)
      while size < 200_000_000 {
        try handle.write(contentsOf: Data(repeating: 7, count: 1_000_000))
        size += 1_000_000
      }
      let response = try await session.performNetworkUpload(
        URLRequest(url: server.url.appending(path: "upload")), from: .file(file))
      isRight = response.data == Data("200000000".utf8)
    case "stream":
      let bytes = try await session.networkBytes(for: URLRequest(url: server.url.appending(path: "film")))
      var count = 0
      for try await data in bytes { count += data.count }
      isRight = count == 200_000_000
    default:
      let path = kind == "dropping" ? "dropping" : "film"
      let done = try await session.performNetworkDownload(
        URLRequest(url: server.url.appending(path: path)), to: file, policy: policy)
      note = ", \(done.attempts.count) attempts"
      isRight = try differs(file) == false
      let sent = try await session.performNetworkRequest(server.url.appending(path: "sent"))
      if let sent = Double(String(decoding: sent, as: UTF8.self)) {
        note += String(format: ", %.4f × the file sent", sent / 200_000_000)
        isRight = isRight && sent <= 1.05 * 200_000_000
      }
    }
    let took = ContinuousClock.now - began
    let peak = peakKilobytes() / 1024
    isRight = isRight && peak <= 60
    print("\(isRight ? "✓" : "✗") \(kind): \(took), peak memory \(peak) MB\(note)")
    return isRight ? 0 : 1
  }

  /// Byte by byte, without the whole in memory.
  private static func differs(_ file: URL) throws -> Bool {
    let handle = try FileHandle(forReadingFrom: file)
    var place = 0
    while let data = try handle.read(upToCount: 1_000_000), !data.isEmpty {
      for byte in data {
        if byte != UInt8(truncatingIfNeeded: place &* 31 &+ place >> 8 &* 7) { return true }
        place += 1
      }
    }
    return place != 200_000_000
  }

  private static func peakKilobytes() -> Int {
    var usage = rusage()
    #if canImport(Darwin)
      getrusage(RUSAGE_SELF, &usage)
      return usage.ru_maxrss / 1024
    #else
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
      return usage.ru_maxrss
    #endif
  }
}
