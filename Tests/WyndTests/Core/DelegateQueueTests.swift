import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The completion handler runs on the session's delegate queue, as that of `dataTask`.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct DelegateQueueTests {
  @Test func callsHandlerOnceOnTheDelegateQueue() async throws {
    let server = try LoopbackServer(script: .status(503), .ok("hello"))
    let queue = OperationQueue()
    let session = URLSession(configuration: .default, delegate: nil, delegateQueue: queue)
    let policy = RetryPolicy(backoff: .immediate, budget: RetryBudget())
    let handlerCalls = Counter()
    let result = await handlerValue { end in
      session.performNetworkRequest(server.url(), policy: policy) { result in
        #expect(OperationQueue.current === queue)
        if handlerCalls.add() == 1 { end(result) }
      }
    }
    #expect(try result.get() == Data("hello".utf8))
    // A handler called a second time would still be on the queue.
    await handlerValue { end in queue.addBarrierBlock { end(()) } }
    #expect(handlerCalls.value == 1)
  }

  @Test func reportsFailuresAndCancellationsOnTheDelegateQueue() async throws {
    let server = try LoopbackServer(script: .hang)
    let queue = OperationQueue()
    let session = URLSession(configuration: .default, delegate: nil, delegateQueue: queue)
    let invalid = URLRequest(url: server.url(), method: "GE T")
    let ofInvalid = await handlerValue { end in
      session.performNetworkRequest(invalid) { _ in end(OperationQueue.current) }
    }
    #expect(ofInvalid === queue)
    let (ofCanceled, canceled) = await handlerValue { end in
      let task = session.performNetworkRequest(server.url()) { end((OperationQueue.current, $0)) }
      task.cancel()
      task.cancel()
    }
    #expect(ofCanceled === queue && canceled.error?.isCancelled == true)
    let (ofLate, late) = await handlerValue { end in
      session.performNetworkRequest(server.url(), policy: RetryPolicy(deadline: .milliseconds(50))) {
        end((OperationQueue.current, $0))
      }
    }
    #expect(ofLate === queue && late.error?.stopReason == .deadline)
  }

  /// On Linux, the request after a redirect is a task of another session.
  @Test func reportsRedirectedResponseOnTheDelegateQueue() async throws {
    let server = try LoopbackServer { $0.target == "/there" ? .ok("x") : .redirect(302, to: "/there") }
    let queue = OperationQueue()
    let session = URLSession(configuration: .default, delegate: nil, delegateQueue: queue)
    let (current, result) = await handlerValue { end in
      session.performNetworkRequest(server.url()) { end((OperationQueue.current, $0)) }
    }
    #expect(try current === queue && result.get() == Data("x".utf8))
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
    let queue = OperationQueue.serial()
    let session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
    let script = NetworkScript([.ok("x")])
    let calls: [(OperationQueue, @Sendable (@escaping @Sendable (NetworkResult) -> Void) -> Void)] = [
      (queue, { session.performNetworkRequest(URLRequest(url: server.url(), method: "GE T"), completionHandler: $0) }),
      (queue, { session.performNetworkRequest(server.url(), completionHandler: $0).cancel() }),
      (script.delegateQueue, { script.performNetworkRequest(server.url(), completionHandler: $0) }),
    ]
    for (queue, call) in calls {
      let order = Box<[String]>([])
      let current = await handlerValue { end in
        queue.addOperation {
          call { _ in
            order.append("handler")
            end(OperationQueue.current)
          }
          order.append("returned")
        }
      }
      #expect(current === queue)
      #expect(order.value == ["returned", "handler"])
    }
  }

  @Test func handlerOfACachedCallIsOnTheQueueOfTheSession() async throws {
    let server = try LoopbackServer { _ in .status(200, [("Cache-Control", "max-age=60")], body: "x") }
    let queue = OperationQueue.serial()
    let session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
    let client = NetworkClient(on: ResponseCache(on: session))
    for _ in 0..<2 {
      let current = await handlerValue { end in
        client.performNetworkRequest(server.url()) { _ in end(OperationQueue.current) }
      }
      #expect(current === queue)
    }
    #expect(server.requests.count == 1)
  }
}
