import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The completion handler runs on the session's delegate queue, as that of `dataTask`.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct DelegateQueueTests {
  @Test func callsHandlerOnceOnTheDelegateQueue() async throws {
    let server = try LoopbackServer(script: .status(503), .ok("hello"))
    let queue = OperationQueue()
    let session = URLSession(configuration: .default, delegate: nil, delegateQueue: queue)
    let policy = RetryPolicy(backoff: .immediate, budget: RetryBudget())
    let handlerCalls = Counter()
    let result: NetworkResult = await withCheckedContinuation { continuation in
      session.performNetworkRequest(URLRequest(url: server.url()), policy: policy) { result in
        #expect(OperationQueue.current === queue)
        if handlerCalls.add() == 1 { continuation.resume(returning: result) }
      }
    }
    #expect(try result.get() == Data("hello".utf8))
    // A handler called a second time would still be on the queue.
    await withCheckedContinuation { continuation in queue.addBarrierBlock { continuation.resume() } }
    #expect(handlerCalls.value == 1)
  }

  @Test func reportsFailuresAndCancellationsOnTheDelegateQueue() async throws {
    let server = try LoopbackServer(script: .hang)
    let queue = OperationQueue()
    let session = URLSession(configuration: .default, delegate: nil, delegateQueue: queue)
    let invalid = URLRequest(url: server.url(), method: "GE T")
    await withCheckedContinuation { continuation in
      session.performNetworkRequest(invalid) { _ in
        #expect(OperationQueue.current === queue)
        continuation.resume()
      }
    }
    await withCheckedContinuation { continuation in
      let task = session.performNetworkRequest(server.url()) { result in
        #expect(OperationQueue.current === queue)
        #expect(result.error?.isCancelled == true)
        continuation.resume()
      }
      task.cancel()
      task.cancel()
    }
    await withCheckedContinuation { continuation in
      session.performNetworkRequest(server.url(), policy: RetryPolicy(deadline: .milliseconds(50))) { result in
        #expect(OperationQueue.current === queue)
        #expect(result.error?.stopReason == .deadline)
        continuation.resume()
      }
    }
  }

  /// On Linux, the request after a redirect is a task of another session.
  @Test func reportsRedirectedResponseOnTheDelegateQueue() async throws {
    let server = try LoopbackServer { $0.target == "/there" ? .ok("x") : .redirect(302, to: "/there") }
    let queue = OperationQueue()
    let session = URLSession(configuration: .default, delegate: nil, delegateQueue: queue)
    await withCheckedContinuation { continuation in
      session.performNetworkRequest(server.url()) { result in
        #expect(OperationQueue.current === queue && (try? result.get()) == Data("x".utf8))
        continuation.resume()
      }
    }
  }

  @Test func deliversResultsWhenASuspendedQueueResumes() async throws {
    let server = try LoopbackServer { $0.target == "/silent" ? .hang : .ok("hello") }
    let queue = OperationQueue()
    queue.isSuspended = true
    let session = URLSession(configuration: .default, delegate: nil, delegateQueue: queue)
    let handlerCalls = Counter()
    session.performNetworkRequest(server.url()) { _ in handlerCalls.add() }
    let task = session.performNetworkRequest(server.url("/silent")) { result in
      #expect(result.error?.isCancelled == true)
      handlerCalls.add()
    }
    task.cancel()
    #expect(handlerCalls.value == 0)
    queue.isSuspended = false
    await handlerCalls.reaches(2)
  }

  /// The app may hold a lock that the handler takes.
  @Test func neverCallsHandlerInsideTheCallOrInsideCancel() async throws {
    let server = try LoopbackServer(script: .hang)
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
    let script = NetworkScript([.ok("x")])
    let calls: [(OperationQueue, @Sendable (@escaping @Sendable (NetworkResult) -> Void) -> Void)] = [
      (queue, { session.performNetworkRequest(URLRequest(url: server.url(), method: "GE T"), completionHandler: $0) }),
      (queue, { session.performNetworkRequest(server.url(), completionHandler: $0).cancel() }),
      (script.delegateQueue, { script.performNetworkRequest(server.url(), completionHandler: $0) }),
    ]
    for (queue, call) in calls {
      let order = Box<[String]>([])
      await withCheckedContinuation { continuation in
        queue.addOperation {
          call { _ in
            #expect(OperationQueue.current === queue)
            order.update { $0.append("handler") }
            continuation.resume()
          }
          order.update { $0.append("returned") }
        }
      }
      #expect(order.value == ["returned", "handler"])
    }
  }
}
