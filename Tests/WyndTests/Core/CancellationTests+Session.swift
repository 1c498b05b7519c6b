import Dispatch
import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A session may end at any moment of a call.
extension CancellationTests {
  /// The task exists by then: URLSession would crash otherwise.
  @Test(arguments: [true, false]) func sessionCanBeInvalidatedWhenTheFirstAttemptStarts(isAsync: Bool) async throws {
    let server = try LoopbackServer { _ in .ok("x") }
    for number in 0..<300 {
      let session = URLSession(configuration: .ephemeral)
      let isCanceled = number.isMultiple(of: 2)
      var policy = RetryPolicy.never
      policy.onEvent = { event in
        guard case .attemptStarted = event.kind else { return }
        if isCanceled { session.invalidateAndCancel() } else { session.finishTasksAndInvalidate() }
      }
      let result =
        isAsync
        ? await session.result(of: URLRequest(url: server.url()), policy: policy)
        : await withCheckedContinuation { continuation in
          session.performNetworkRequest(server.url(), policy: policy) { continuation.resume(returning: $0) }
        }
      if !isCanceled { #expect(result.error == nil) }
    }
  }

  #if canImport(FoundationNetworking)
    /// Creating a task on an invalidated session stops the process: a session may end at any moment after a call began.
    @Test(arguments: ["redirect", "retry", "client"])
    func sessionCanBeInvalidatedDuringACall(_ kind: String) async throws {
      let policy = RetryPolicy(maxRetries: 20, backoff: .immediate, budget: .unlimited)
      for round in 0..<40 {
        let session = URLSession(configuration: .ephemeral)
        let end: @Sendable () -> Void = {
          if round % 2 == 0 { session.invalidateAndCancel() } else { session.finishTasksAndInvalidate() }
        }
        let server = try LoopbackServer { request in
          if request.index == round % 8 {
            DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(round * 30), execute: end)
          }
          return kind == "redirect" ? .redirect(to: "/\(request.index)") : .status(503)
        }
        let results = Counter()
        if kind == "client" {
          let client = NetworkClient(on: session, policy: policy)
          client.performNetworkRequest(URLRequest(url: server.url())) { _ in results.add() }
        } else {
          session.performNetworkRequest(server.url(), policy: policy) { _ in results.add() }
        }
        await results.reaches(1)
      }
    }
  #endif
}
