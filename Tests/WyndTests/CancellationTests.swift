import Foundation
import LoopbackServer
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A call ends where its caller ends it: before the start, in flight, while it waits; and nothing is sent afterwards.
@Suite(.timeLimit(.minutes(1))) struct CancellationTests {
  let session = URLSession(configuration: .default)

  @Test func aCallThatIsCancelledBeforeItStartsSendsNothing() async throws {
    let server = try LoopbackServer(script: .ok())
    let started = Gate()
    let log = EventLog()
    let task = Task { [session] in
      await started.wait()
      return await session.result(of: URLRequest(url: server.url()), policy: RetryPolicy(onEvent: log.add))
    }
    task.cancel()
    started.open()
    let result = await task.value
    guard case .failure(.cancelled) = result else { Issue.record("\(result)"); return }
    #expect(server.requests.isEmpty)
    #expect(log.gaveUp == .cancelled)
    #expect(log.events.count == 1)
  }

  @Test func cancellingInFlightAnswersAtOnce() async throws {
    let server = try LoopbackServer(script: .hang)
    let log = EventLog()
    let task = Task { [session] in
      await session.result(of: URLRequest(url: server.url()), policy: RetryPolicy(onEvent: log.add))
    }
    await until { server.requests.count == 1 }
    let began = ContinuousClock.now
    task.cancel()
    guard case .failure(.cancelled) = await task.value else { Issue.record("not cancelled"); return }
    #expect(ContinuousClock.now - began < .seconds(5))
  }

  @Test func cancellingAWaitAnswersAtOnceAndSendsNothingMore() async throws {
    let server = try LoopbackServer(script: .status(503, [("Retry-After", "30")]))
    let log = EventLog()
    let task = Task { [session] in
      await session.result(of: URLRequest(url: server.url()), policy: RetryPolicy(onEvent: log.add))
    }
    await until { !log.delays.isEmpty }
    let began = ContinuousClock.now
    task.cancel()
    guard case .failure(.cancelled) = await task.value else { Issue.record("not cancelled"); return }
    #expect(ContinuousClock.now - began < .seconds(5))
    #expect(server.requests.count == 1)
  }

  @Test func aCancellationOfTheSessionsOwnerIsNotOurs() async throws {
    let server = try LoopbackServer(script: .hang)
    let session = URLSession(configuration: .default)
    let task = Task {
      await session.result(of: URLRequest(url: server.url()), policy: RetryPolicy(shouldRetry: { _ in true }))
    }
    await until { server.requests.count == 1 }
    session.invalidateAndCancel()
    let result = await task.value
    guard case .failure(.urlError(let error)) = result else { Issue.record("\(result)"); return }
    #expect(error.code == .cancelled)
    #expect(server.requests.count == 1)
  }

  @Test func aCancelledCallIsLetGoLongBeforeItsTimeout() async throws {
    let server = try LoopbackServer { $0.target == "/a" ? .redirect(to: "/b") : .hang }
    for (path, timeout) in [("/a", 30.5), ("/b", 30.5), ("/b", 30)] {
      let live = Live()
      let answered = Gate()
      var request = URLRequest(url: server.url(path))
      request.timeoutInterval = timeout
      let before = server.requests.count
      do {
        let task = session.performNetworkRequest(request) { _ in answered.open() }
        live.add(task.loop)
        await until { server.requests.count == before + (path == "/a" ? 2 : 1) }
        task.cancel()
      }
      await answered.wait()
      let began = ContinuousClock.now
      await until { live.count == 0 }
      #expect(ContinuousClock.now - began < .seconds(10))
    }
  }
}
