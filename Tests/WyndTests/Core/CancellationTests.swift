import Dispatch
import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A call can be canceled before its start, in flight and during a wait, and sends nothing afterwards.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct CancellationTests {
  let session = URLSession(configuration: .default)

  @Test func sendsNothingWhenCanceledBeforeTheStart() async throws {
    let server = try LoopbackServer(script: .ok())
    let started = Gate()
    let log = EventLog()
    let task = Task { [session] in
      await started.wait()
      return await session.result(of: server.url(), policy: RetryPolicy(onEvent: log.add))
    }
    task.cancel()
    started.open()
    let result = await task.value
    #expect(result.isCancelled)
    #expect(server.requests.isEmpty)
    #expect(log.gaveUp == .cancelled)
    #expect(log.events.count == 1)
  }

  @Test func endsAtOnceWhenCanceledDuringAWait() async throws {
    let server = try LoopbackServer(script: .status(503, [("Retry-After", "30")]))
    let log = EventLog()
    let task = Task { [session] in
      await session.result(of: server.url(), policy: RetryPolicy(onEvent: log.add))
    }
    await until { !log.delays.isEmpty }
    let began = ContinuousClock.now
    task.cancel()
    #expect(await task.value.isCancelled)
    #expect(ContinuousClock.now - began < .seconds(30))
    #expect(server.requests.count == 1)
  }

  /// `shouldRetry` of an error is read between two attempts.
  @Test func endsWhenCanceledBetweenTwoAttempts() async throws {
    struct Asked: RetryableError {
      let ask: @Sendable () -> Void
      var shouldRetry: Bool {
        ask()
        return true
      }
    }
    let (hasStarted, call) = (DispatchSemaphore(value: 0), Box<NetworkTask>(nil))
    let body = RequestBody.stream {
      throw Asked {
        hasStarted.wait()
        call.value?.cancel()
        call.value = nil
        hasStarted.signal()
      }
    }
    let server = try LoopbackServer(script: .ok())
    let result = await handlerValue { end in
      call.value = session.performNetworkUpload(server.url(), from: body, policy: .quick(), completionHandler: end)
      hasStarted.signal()
    }
    #expect(result.isCancelled)
    #expect(server.requests.isEmpty)
  }

  @Test func reportsOneLastEventWhenCancellationRacesTheEnd() async throws {
    try await Turn.take {
      let server = try LoopbackServer { $0.index.isMultiple(of: 2) ? .status(503) : .ok() }
      let logs = (0..<600).map { _ in EventLog() }
      await withTaskGroup(of: Void.self) { group in
        for (number, log) in logs.enumerated() {
          let deadline: Duration? = number.isMultiple(of: 3) ? .microseconds(300 + number) : nil
          let policy = RetryPolicy(backoff: .immediate, deadline: deadline, budget: RetryBudget(), onEvent: log.add)
          group.addTask { [session] in
            let task = Task {
              try await session.networkResponse(for: server.url(), policy: policy).attempts
            }
            for _ in 0..<number % 50 { await Task.yield() }
            if !number.isMultiple(of: 3) { task.cancel() }
            let result = await task.result
            var numbers = (try? result.get())?.map(\.number) ?? []
            if case .failure(let error as NetworkError) = result { numbers = error.attempts.map(\.number) }
            #expect(numbers == Array(1..<numbers.count + 1), "an attempt that was never made, or is reported twice")
          }
        }
      }
      for log in logs {
        await until { log.isOver }
        #expect(log.events.filter(\.isLast).count == 1)
        #expect(log.events.last?.isLast == true)
      }
    }
  }

  @Test func keptTaskDoesNotRetainItsEndedCall() async throws {
    let server = try LoopbackServer(script: .status(503), .ok())
    weak var weakHeld: Held?
    var task: NetworkTask?
    do {
      let held = Held()
      weakHeld = held
      let policy = RetryPolicy(backoff: .immediate, budget: RetryBudget(), onEvent: { _ in _ = held })
      await handlerValue {
        task = session.performNetworkRequest(server.url(), policy: policy, completionHandler: $0)
      }
    }
    while weakHeld != nil { try? await Task.sleep(for: .milliseconds(1)) }
    task?.cancel()
  }

  @Test func cancellationIsNotReportedAsAFailedAttempt() async throws {
    let server = try LoopbackServer(script: .hang)
    let log = EventLog()
    let task = Task {
      await session.result(of: server.url(), policy: RetryPolicy(onEvent: log.add))
    }
    await until { server.openRequests == 1 }
    task.cancel()
    #expect(await task.value.error?.isCancelled == true)
    #expect(log.gaveUp == .cancelled && log.events.count == 2)
  }

  #if !canImport(FoundationNetworking)
    @Test func reportsInvalidationOfTheSessionAsURLErrorCancelled() async throws {
      let server = try LoopbackServer(script: .hang)
      let session = URLSession(configuration: .default)
      let asked = Counter()
      let task = Task {
        await session.result(of: server.url(), policy: RetryPolicy(shouldRetry: { _ in asked.add() > 0 }))
      }
      await until { server.requests.count == 1 }
      session.invalidateAndCancel()
      let result = await task.value
      guard case .failure(.urlError(let error)) = result else { Issue.record("\(result)"); return }
      #expect(error.code == .cancelled)
      #expect(server.requests.count == 1)
      #expect(asked.value == 0, "a cancellation is nothing to decide about")
    }
  #endif

  @Test func releasesACanceledCallBeforeItsTimeout() async throws {
    let server = try LoopbackServer { $0.target == "/a" ? .redirect(to: "/b") : .hang }
    for (path, timeout) in [("/a", 30.5), ("/b", 30.5), ("/b", 30)] {
      weak var held: Held?
      let hasEnded = Gate()
      var request = URLRequest(url: server.url(path))
      request.timeoutInterval = timeout
      let before = server.requests.count
      do {
        let value = Held()
        held = value
        let policy = RetryPolicy(onEvent: { _ in _ = value })
        let task = session.performNetworkRequest(request, policy: policy) { _ in hasEnded.open() }
        await until { server.requests.count == before + (path == "/a" ? 2 : 1) }
        task.cancel()
      }
      await hasEnded.wait()
      let began = ContinuousClock.now
      while held != nil { try? await Task.sleep(for: .milliseconds(1)) }
      #expect(ContinuousClock.now - began < .seconds(25))
    }
  }
}
