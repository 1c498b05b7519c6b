import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Calls to one failing host share a retry budget.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct SharedBudgetTests {
  let session = URLSession(configuration: .ephemeral)

  /// Any response that does not indicate overload ends the outage, including an error such as 404.
  @Test(arguments: [200, 204, 301, 400, 401, 403, 404, 409, 422])
  func responseWithoutOverloadEndsAnOutage(_ status: Int) async throws {
    let server = try LoopbackServer {
      $0.target == "/busy" ? .status(503) : .status(status, body: status == 204 ? "" : "x")
    }
    let budget = RetryBudget()
    let log = EventLog()
    // Without a wait, no retry is ever skipped.
    let policy = RetryPolicy(
      maxRetries: 2, backoff: .constant(.milliseconds(20)), budget: budget, onEvent: log.add)
    for path in ["/busy", "/fine", "/busy"] {
      _ = await session.result(of: server.url(path), policy: policy)
    }
    // Each retry went at once: none had to wait for other calls.
    #expect(log.sources == [.backoff, .backoff, .backoff, .backoff])
    #expect(server.requests.map(\.target) == ["/busy", "/busy", "/busy", "/fine", "/busy", "/busy", "/busy"])
  }
  /// The origin has responded with a redirect, so it is not down, whatever the next server does.
  @Test func responseAfterARedirectCountsForTheOriginOfTheRequest() async throws {
    let other = try LoopbackServer(script: .ok("x"))
    let server = try LoopbackServer {
      $0.target == "/moved" ? .redirect(to: other.url("/").absoluteString) : .status(503)
    }
    let budget = RetryBudget()
    let log = EventLog()
    let policy = RetryPolicy(
      maxRetries: 1, backoff: .constant(.milliseconds(20)), budget: budget, onEvent: log.add)
    // Two failed calls, a redirect that succeeds, and a third call, whose retry would be skipped without it.
    for path in ["/busy", "/busy", "/moved"] {
      _ = await session.result(of: server.url(path), policy: policy)
    }
    let before = server.requests.count
    let later = EventLog()
    let patient = RetryPolicy(maxRetries: 2, backoff: .constant(.milliseconds(20)), budget: budget, onEvent: later.add)
    _ = await session.result(of: server.url("/busy"), policy: patient)
    #expect(later.sources == [.backoff, .backoff] && server.requests.count == before + 3)
  }

  private static let budget = RetryBudget()

  /// On a busy machine, the failures may be further apart than the budget looks back, so the calls are made again then.
  @Test func reportsASkippedRetry() async throws {
    let server = try LoopbackServer(script: .status(503))
    let log = EventLog()
    let policy = RetryPolicy(
      maxRetries: 3, backoff: .constant(.milliseconds(200)), budget: RetryBudget(), onEvent: log.add)
    for _ in 0..<50 where !log.sources.contains(.budget) {
      _ = await all(10) { await session.result(of: server.url(), policy: policy).error }
    }
    #expect(log.sources.contains(.budget))
  }

  private func all(
    _ count: Int, _ work: @escaping @Sendable () async -> NetworkError?
  ) async -> [NetworkError?] {
    await withTaskGroup(of: NetworkError?.self) { group in
      for _ in 0..<count { group.addTask { await work() } }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }

  /// The origin sends a file, so it is not down, although the download then fails.
  @Test func downloadThatMakesProgressEndsAnOutage() async throws {
    let half = ScriptedResponse([
      .send(ScriptedResponse.head(200, [("Content-Length", "80000")]) + someBytes(40_000)), .reset,
    ])
    let server = try LoopbackServer { $0.target == "/file" ? half : .status(503) }
    let folder = try Folder()
    for isDownloading in [true, false] {
      let budget = RetryBudget()
      let log = EventLog()
      let policy = RetryPolicy(maxRetries: 0, budget: budget)
      // On a busy machine, the failures may be further apart than the budget looks back: then no retry is skipped.
      for _ in 0..<50 {
        for _ in 0..<2 { _ = await session.result(of: server.url("/busy"), policy: policy) }
        if isDownloading {
          _ = try? await session.performNetworkDownload(server.url("/file"), to: folder.file(), policy: policy)
        }
        let retrying = RetryPolicy(
          maxRetries: 3, backoff: .constant(.milliseconds(20)), budget: budget, onEvent: log.add)
        _ = await session.result(of: server.url("/busy"), policy: retrying)
        if log.sources.contains(.budget) { break }
        if isDownloading, log.sources.count >= 3 { break }
      }
      #expect(log.sources.contains(.budget) != isDownloading)
    }
  }
}
