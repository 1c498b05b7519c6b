import AllocationCounter
import Foundation
import LoopbackServer
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Calls to a correct server through a proxy that delays, cuts and corrupts, and checks of what must hold anyway. It is a
/// process of its own, so that memory and file descriptors can be counted.
enum Chaos {
  /// Bytes that URLSession itself leaks with each request, on Linux.
  private static let leak = 154

  final class Tally: @unchecked Sendable {
    private let lock = NSLock()
    private var applied: [String: Int] = [:]
    private var outcomes: [String: Int] = [:]
    private var late = 0
    private var broken = 0

    func apply(_ id: String) { lock.withLock { applied[id, default: 0] += 1 } }
    func count(_ outcome: String) { lock.withLock { outcomes[outcome, default: 0] += 1 } }
    func countLate() { lock.withLock { late += 1 } }
    func countBroken() { lock.withLock { broken += 1 } }
    var twice: Int { lock.withLock { applied.values.filter { $0 > 1 }.count } }
    var lateCount: Int { lock.withLock { late } }
    var brokenCount: Int { lock.withLock { broken } }
    func wasApplied(_ id: String) -> Bool { lock.withLock { applied[id] != nil } }
    var summary: String {
      lock.withLock { outcomes.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" } }.joined(separator: ", ")
    }
  }

  /// A body that is determined by the path.
  static func body(_ target: String) -> [UInt8] {
    var state = target.utf8.reduce(UInt64(1469598103934665603)) { ($0 ^ UInt64($1)) &* 1099511628211 }
    return (0..<Int(state % 40_000 + 1)).map { _ in
      state = state &* 6364136223846793005 &+ 1442695040888963407
      return UInt8(truncatingIfNeeded: state >> 56)
    }
  }

  static func run(calls: Int, seed: UInt64) async -> Int32 {
    print("\(calls) calls, seed \(seed)")
    do {
      // The first calls fill caches and pools.
      _ = try await world(200, seed, Tally())
      let before = (descriptors(), Int(heapBytes()), residentKilobytes())
      let tally = Tally()
      let began = ContinuousClock.now
      let faults = try await world(calls, seed, tally)
      print("\(faults) faults in \(ContinuousClock.now - began): \(tally.summary)")
      // Threads and connections end a moment after the calls.
      for _ in 0..<200 where descriptors() > before.0 + 4 { try await Task.sleep(for: .milliseconds(25)) }
      let after = (descriptors(), Int(heapBytes()), residentKilobytes())
      let leak = calls * Self.leak
      print(
        "descriptors \(before.0) → \(after.0), heap \(before.1 / 1024) KB → \(after.1 / 1024) KB, of which URLSession leaks some \(leak / 1024) KB, resident \(before.2 / 1024) MB → \(after.2 / 1024) MB"
      )
      let checks = [
        ("every body is intact", tally.brokenCount == 0), ("no call is later than its deadline", tally.lateCount == 0),
        ("nothing unsafe is applied twice", tally.twice == 0), ("descriptors are back", after.0 <= before.0 + 4),
        ("memory is back, but for what URLSession leaks", after.1 - before.1 < 2 * leak + 1_000_000),
        ("faults happened", faults > calls / 20),
      ]
      for (name, isTrue) in checks { print(isTrue ? "✓" : "✗", name) }
      return checks.allSatisfy(\.1) ? 0 : 1
    } catch {
      print("\(error)")
      return 1
    }
  }

  private static func world(_ calls: Int, _ seed: UInt64, _ tally: Tally) async throws -> Int {
    let server = try LoopbackServer(isRecording: false) { request in
      if let id = request.value("X-Order") { tally.apply(id) }
      return .ok(request.method == "GET" ? body(request.target) : request.body)
    }
    let proxy = try ChaosProxy(to: server.port, seed: seed)
    defer {
      proxy.stop()
      server.stop()
    }
    let session = URLSession(configuration: .default)
    guard let base = URL(string: "http://127.0.0.1:\(proxy.port)") else { return 0 }
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<32 {
        group.addTask {
          for number in stride(from: worker, to: calls, by: 32) {
            await call(number, seed, session, base, tally)
          }
        }
      }
    }
    session.finishTasksAndInvalidate()
    return proxy.faultCount
  }

  private static func call(_ number: Int, _ seed: UInt64, _ session: URLSession, _ base: URL, _ tally: Tally) async {
    let mix = (UInt64(number) &+ seed) &* 0x9E37_79B9_7F4A_7C15
    let method = ["GET", "GET", "GET", "PUT", "POST", "POST"][Int(mix >> 33) % 6]
    var request = URLRequest(url: base.appendingPathComponent("item\(number)"))
    request.httpMethod = method
    let sent = method == "GET" ? body("/item\(number)") : body("body\(number)")
    if method != "GET" { request.httpBody = Data(sent) }
    if method == "POST" { request.setValue("order\(number)", forHTTPHeaderField: "X-Order") }
    let policy = RetryPolicy(
      backoff: .exponential(base: .milliseconds(10), cap: .milliseconds(200)), deadline: .seconds(20),
      budget: .unlimited)
    let began = ContinuousClock.now
    let ready = request
    let task = Task { try await session.performNetworkRequest(ready, policy: policy) }
    if mix % 20 == 0 {
      try? await Task.sleep(for: .microseconds(Int(mix >> 40) % 8000))
      task.cancel()
    }
    switch await task.result {
    case .success(let data):
      tally.count("\(method) good")
      if data != Data(sent) { tally.countBroken() }
      if method == "POST", !tally.wasApplied("order\(number)") { tally.countBroken() }
    case .failure(NetworkError.cancelled): tally.count("\(method) cancelled")
    case .failure(let error as NetworkError):
      tally.count("\(method) failed (\(error.stopReason.map { "\($0)" } ?? error.description.prefix(24).description))")
    case .failure: tally.countBroken()
    }
    if ContinuousClock.now - began > .seconds(25) { tally.countLate() }
  }

  static func descriptors() -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
  }
  static func residentKilobytes() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS") }
    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
  }
}
