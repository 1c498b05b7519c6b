import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A call with a completion handler follows the same rules as an async one, and its closures do not delay other calls.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct CompletionHandlerTests {
  let session = URLSession(configuration: .ephemeral)

  private func result(of request: URLRequest, _ policy: RetryPolicy) async -> NetworkResult {
    await handlerValue { session.performNetworkRequest(request, policy: policy, completionHandler: $0) }
  }

  @Test func usesTheRetryClosureOfThePolicy() async throws {
    let server = try LoopbackServer(script: .status(404), .ok("hello"))
    let policy = RetryPolicy.quick(shouldRetry: { $0.statusCode == 404 })
    #expect(try await result(of: URLRequest(url: server.url()), policy).get() == Data("hello".utf8))
  }

  @Test func formsWithAURLPassTheirArguments() async throws {
    let server = try LoopbackServer(script: .status(200))
    #expect(try await session.performNetworkRequest(server.url(), allowEmptyData: true).isEmpty)
    let log = EventLog()
    let policy = RetryPolicy(budget: .unlimited, onEvent: log.add)
    #expect(
      try await session.networkResponse(for: URLRequest(url: server.url()), allowEmptyData: true, policy: policy).data
        .isEmpty)
    #expect(log.isOver)
    let ofAHandler = EventLog()
    let result = await handlerValue {
      session.performNetworkRequest(
        server.url(), allowEmptyData: true, policy: RetryPolicy(budget: .unlimited, onEvent: ofAHandler.add),
        completionHandler: $0)
    }
    #expect(try result.get().isEmpty && ofAHandler.isOver)
    let response = await handlerValue {
      session.networkResponse(for: server.url(), allowEmptyData: true, completionHandler: $0)
    }
    #expect(try response.get().data.isEmpty)
  }

  @Test func endsAtTheDeadlineWithoutARetry() async throws {
    let server = try LoopbackServer(script: .hang)
    let began = ContinuousClock.now
    let result = await result(
      of: URLRequest(url: server.url()), RetryPolicy(deadline: .milliseconds(100), budget: .unlimited))
    #expect(result.error?.stopReason == .deadline)
    #expect(result.error?.attempts.count == 1)
    #expect(ContinuousClock.now - began < .seconds(30))
  }

  /// The first event is held up until the result comes, or for as long as a wrong result would need to come.
  @Test(arguments: [true, false]) func deliversResultAfterTheLastEvent(_ isAsync: Bool) async throws {
    let server = try LoopbackServer(script: .ok("hello"))
    let log = EventLog()
    let hasResult = DispatchSemaphore(value: 0)
    let policy = RetryPolicy(
      budget: .unlimited,
      onEvent: { event in
        if case .attemptStarted = event.kind { _ = hasResult.wait(timeout: .now() + 0.3) }
        log.add(event)
      })
    let request = URLRequest(url: server.url())
    let wasOver: Bool
    if isAsync {
      _ = await session.result(of: request, policy: policy)
      wasOver = log.isOver
    } else {
      wasOver = await handlerValue { end in
        session.performNetworkRequest(request, policy: policy) { _ in end(log.isOver) }
      }
    }
    hasResult.signal()
    #expect(wasOver)
  }

  /// An app that blocks the threads of all tasks, and waits there for a handler, would wait forever.
  @Test func completesWhileAllTaskThreadsAreBlocked() async throws {
    let server = try LoopbackServer(script: .ok("hello"))
    let count = ProcessInfo.processInfo.activeProcessorCount
    let (isBlocked, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let hasResult = DispatchSemaphore(value: 0)
    let session = session
    let isInTime = await handlerValue { end in
      Thread.detachNewThread {
        for _ in 0..<count {
          Task.detached {
            isBlocked.signal()
            _ = mayGoOn.wait(timeout: .now() + 30)
          }
        }
        for _ in 0..<count { _ = isBlocked.wait(timeout: .now() + 10) }
        session.performNetworkRequest(server.url()) { _ in hasResult.signal() }
        let isInTime = hasResult.wait(timeout: .now() + 10) == .success
        for _ in 0..<count { mayGoOn.signal() }
        end(isInTime)
      }
    }
    #expect(isInTime)
  }

  @Test func slowRetryClosureDoesNotDelayOtherCalls() async throws {
    let server = try LoopbackServer { $0.target == "/other" ? .ok("hello") : .status(503) }
    let count = ProcessInfo.processInfo.activeProcessorCount + 1
    let inside = Counter()
    let mayGoOn = DispatchSemaphore(value: 0)
    let slow = RetryPolicy(
      maxRetries: 1, budget: .unlimited,
      shouldRetry: { _ in
        inside.add()
        _ = mayGoOn.wait(timeout: .now() + 120)
        return false
      })
    let url = server.url()
    let began = ContinuousClock.now
    let held = (0..<count).map { _ in Task { await session.result(of: URLRequest(url: url), policy: slow) } }
    await inside.reaches(count)
    _ = try await session.performNetworkRequest(server.url("/other"))
    #expect(ContinuousClock.now - began < .seconds(60))
    for _ in held { mayGoOn.signal() }
    for call in held { _ = await call.value }
  }
}
