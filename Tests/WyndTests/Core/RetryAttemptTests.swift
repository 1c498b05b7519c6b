import Foundation
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Attempts and calls on a transport that the test controls.
@Suite struct RetryAttemptTests {
  // MARK: An attempt that ends at once

  /// Ends each attempt before `begin` returns.
  struct Hasty: NetworkTransport {
    func send(_ outgoing: NetworkOutgoing, _ completion: NetworkAttemptCompletion) {
      let response = HTTPURLResponse(url: .example, statusCode: 200, httpVersion: nil, headerFields: nil)
      completion.end(NetworkOutcome(data: Data("x".utf8), response: response))
    }
  }

  @Test func reportsAnImmediateAttemptInOrderOnTheQueue() async throws {
    let queue = OperationQueue()
    let log = EventLog()
    let request = URLRequest(url: .example)
    let plan = NetworkCallPlan(request, policy: RetryPolicy(onEvent: log.add))
    let (current, result) = await handlerValue { end in
      RetryLoop(plan, on: Hasty()).run(on: queue) { end((OperationQueue.current, $0)) }
    }
    #expect(current === queue && result.error == nil)
    #expect(try await RetryLoop(plan, on: Hasty()).run().get().data == Data("x".utf8))
    let names = log.events.map { "\($0.kind)".prefix(9) }
    #expect(names == ["attemptSt", "succeeded", "attemptSt", "succeeded"])
    let plain = NetworkCallPlan(request)
    let ofPlain = await handlerValue { end in
      RetryLoop(plain, on: Hasty()).run(on: queue) { _ in end(OperationQueue.current) }
    }
    #expect(ofPlain === queue)
  }

  @Test func attemptCanceledBeforeItsStartSendsNothing() async throws {
    let request = URLRequest(url: .example)
    let outgoing = NetworkOutgoing(request: request)
    let outcome = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await Hasty().send(outgoing)
    }.value
    #expect(outcome.endedBy == .cancellation && outcome.response == nil)
  }

  // MARK: A call that is canceled

  /// Gives each attempt the next outcome, and counts the attempts that are prepared.
  struct Scripted: NetworkTransport {
    let outcomes: [NetworkOutcome]
    let prepared = Counter()
    func send(_ outgoing: NetworkOutgoing, _ completion: NetworkAttemptCompletion) {
      completion.end(outcomes[min(prepared.add(), outcomes.count) - 1])
    }
  }

  /// On Apple's platforms a prepared attempt is a task, and a session that was invalidated meanwhile cannot create one.
  @Test(arguments: [true, false]) func canceledCallPreparesNoAttempt(_ verdict: Bool) async throws {
    let transport = Scripted(outcomes: [NetworkOutcome(error: URLError(.networkConnectionLost))])
    let request = URLRequest(url: .example)
    let (mayStart, isAsked, mayAnswer) = (Gate(), Gate(), DispatchSemaphore(value: 0))
    let early = Task {
      await mayStart.wait()
      return await RetryLoop(NetworkCallPlan(request), on: transport).run()
    }
    early.cancel()
    mayStart.open()
    #expect(await early.value.isCancelled)
    #expect(transport.prepared.value == 0)
    let policy = RetryPolicy(shouldRetry: { _ in
      isAsked.open()
      mayAnswer.wait()
      return verdict
    })
    let late = Task { await RetryLoop(NetworkCallPlan(request, policy: policy), on: transport).run() }
    await isAsked.wait()
    late.cancel()
    mayAnswer.signal()
    #expect(await late.value.isCancelled)
    #expect(transport.prepared.value == 1)
  }

  @Test func runsTheTaskOfACanceledCallAsCanceled() async {
    for _ in 0..<2000 {
      let task = NetworkTask()
      task.cancel()
      #expect(await handlerValue { end in task.run { end(Task.isCancelled) } })
    }
  }

  /// Its call is canceled while it begins, and it responds nevertheless.
  struct Interrupted: NetworkTransport {
    let response: HTTPURLResponse
    let cancellations = Counter()
    func send(_ outgoing: NetworkOutgoing, _ completion: NetworkAttemptCompletion) {
      withUnsafeCurrentTask { $0?.cancel() }
      completion.onCancel { [cancellations] in cancellations.add() }
      completion.end(NetworkOutcome(data: Data("x".utf8), response: response))
    }
  }

  @Test func cancellationWhileARequestBeginsEndsIt() async throws {
    let transport = Interrupted(response: try HTTPURLResponse.made(200))
    let request = URLRequest(url: .example)
    let result = await Task { await RetryLoop(NetworkCallPlan(request), on: transport).run() }.value
    #expect(result.isCancelled)
    #expect(transport.cancellations.value == 1)
  }

  /// Does not respond.
  struct Silent: NetworkTransport {
    let onCancel: @Sendable () -> Void
    func send(_ outgoing: NetworkOutgoing, _ completion: NetworkAttemptCompletion) { completion.onCancel(onCancel) }
  }

  /// The app may invalidate its session in the handler, when no request of the call may be left.
  @Test func cancelsTheRequestBeforeItCallsTheHandler() async throws {
    let queue = OperationQueue()
    // So that a handler that is called before the cancellation of the request remains in the queue, and is counted.
    queue.isSuspended = true
    let waitingHandlers = Box<[Int]>([])
    let transport = Silent { waitingHandlers.append(queue.operationCount) }
    let request = URLRequest(url: .example)
    await handlerValue { end in
      let task = RetryLoop(NetworkCallPlan(request), on: transport).run(on: queue, completion: end)
      task.cancel()
      queue.isSuspended = false
    }
    #expect(waitingHandlers.value == [0])
  }

  /// A conflict is that of an earlier attempt, if that one may have reached the server despite its error.
  @Test(arguments: [true, false], [true, false])
  func retriesAConflictAfterARefusedAttemptThatMayHaveSent(mayHaveSent: Bool, hasFollowedRedirect: Bool) async throws {
    var refused = NetworkOutcome(error: URLError(.cannotConnectToHost))
    refused.note(mayHaveSent: mayHaveSent, hasFollowedRedirect: hasFollowedRedirect)
    let conflict = NetworkOutcome(data: Data(), response: try HTTPURLResponse.made(409))
    let transport = Scripted(outcomes: [
      refused, conflict, NetworkOutcome(data: Data(), response: try HTTPURLResponse.made(200)),
    ])
    var request = URLRequest(url: .example, method: "POST")
    request.setValue("k", forHTTPHeaderField: "Idempotency-Key")
    let plan = NetworkCallPlan(request, policy: .quick())
    let result = await RetryLoop(plan, on: transport).run()
    #expect((try? result.get())?.response.statusCode == (mayHaveSent || hasFollowedRedirect ? 200 : nil))
    #expect(transport.prepared.value == (mayHaveSent || hasFollowedRedirect ? 3 : 2))
  }

  /// An attempt that was refused before it was processed is not in progress, so the conflict is a real one.
  @Test(arguments: [413, 421, 425, 429, 503])
  func retriesAConflictOnlyAfterAnAttemptThatMayHaveBeenProcessed(_ status: Int) async throws {
    let refusal = try HTTPURLResponse.made(status, ["Retry-After": "0"])
    let transport = Scripted(outcomes: [
      NetworkOutcome(data: Data(), response: refusal),
      NetworkOutcome(data: Data(), response: try HTTPURLResponse.made(409)),
      NetworkOutcome(data: Data(), response: try HTTPURLResponse.made(200)),
    ])
    var request = URLRequest(url: .example, method: "POST")
    request.setValue("k", forHTTPHeaderField: "Idempotency-Key")
    let plan = NetworkCallPlan(request, policy: .quick())
    let result = await RetryLoop(plan, on: transport).run()
    #expect(transport.prepared.value == (status == 503 ? 3 : 2))
    #expect(result.error?.statusCode == (status == 503 ? nil : 409))
  }
}
