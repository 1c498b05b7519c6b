import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension NetworkDataTests {
  // MARK: The task

  @Test func sendsNothingBeforeResume() async throws {
    let server = try LoopbackServer(script: .ok("hello"))
    let calls = Counter()
    let task = session.networkDataTask(with: URLRequest(url: server.url("/waiting"))) { _, _, _ in calls.add() }
    _ = try await session.networkData(for: server.url("/other"))
    #expect(server.requests.map(\.target) == ["/other"])
    task.resume()
    task.resume()
    await calls.reaches(1)
    task.resume()
    task.cancel()
    // After the end, nothing starts again.
    _ = try await session.networkData(for: server.url("/last"))
    #expect(server.requests.map(\.target) == ["/other", "/waiting", "/last"])
    #expect(calls.value == 1)
  }

  enum Moment: CaseIterable, Sendable { case beforeResume, afterResume, inARetry }

  @Test(arguments: Moment.allCases) func canceledTaskGivesCancelledOnce(_ moment: Moment) async throws {
    let server = try LoopbackServer(script: moment == .inARetry ? .status(503, [("Retry-After", "30")]) : .hang)
    let (outcomes, log) = (Box<[Outcome]>([]), EventLog())
    let other = try LoopbackServer(script: .ok("x"))
    let calls = Counter()
    let task = session.networkDataTask(with: server.url(), policy: RetryPolicy(onEvent: log.add)) {
      data, response, error in
      outcomes.append(Outcome(data, response, error))
      calls.add()
    }
    switch moment {
    case .beforeResume: break
    case .afterResume:
      task.resume()
      await until { server.requests.count == 1 }
    case .inARetry:
      task.resume()
      await until { !log.delays.isEmpty }
    }
    task.cancel()
    task.resume()
    task.cancel()
    await calls.reaches(1)
    _ = try await session.networkData(for: other.url())
    #expect(outcomes.value == [.urlError(.cancelled)])
    #expect(server.requests.count == (moment == .beforeResume ? 0 : 1))
  }

  /// `resume()` and `cancel()` may meet on two threads.
  @Test func cancelDuringResumeEndsTheCall() async throws {
    let server = try LoopbackServer(script: .hang)
    for _ in 0..<100 {
      let outcome = await handlerValue { end in
        let task = session.networkDataTask(with: server.url()) { end(Outcome($0, $1, $2)) }
        DispatchQueue.global().async { task.resume() }
        task.cancel()
      }
      #expect(outcome == .urlError(.cancelled))
    }
  }

  @Test func canceledAwaitThrowsAURLError() async throws {
    let server = try LoopbackServer(script: .hang)
    let task = Task { [session] in try await session.networkData(for: server.url()) }
    await until { server.requests.count == 1 }
    task.cancel()
    let error = await #expect(throws: URLError.self) { try await task.value }
    #expect(error?.code == .cancelled)
  }

  @Test func handlerIsCalledOnTheDelegateQueue() async throws {
    let queue = OperationQueue.serial()
    let session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
    let server = try LoopbackServer(script: .ok("x"))
    let url = try #require(URL(string: "ftp://127.0.0.1:9/"))
    // A response, a cancellation before `resume()`, an error before anything is sent, and a call that cannot be made.
    for (request, isCanceled) in [(server.url(), false), (server.url(), true), (url, false)] {
      let current = await handlerValue { end in
        let task = session.networkDataTask(with: request) { _, _, _ in end(OperationQueue.current) }
        if isCanceled { task.cancel() } else { task.resume() }
      }
      #expect(current === queue)
    }
    let client = NetworkClient(on: session)
    for isCanceled in [false, true] {
      let (current, outcome) = await handlerValue { end in
        let task = client.networkDataTask(with: .get("//", as: Data.self)) {
          end((OperationQueue.current, Outcome($0, $1, $2)))
        }
        if isCanceled { task.cancel() } else { task.resume() }
      }
      #expect(current === queue && outcome == (isCanceled ? .urlError(.cancelled) : .invalidRequest))
    }
  }

  /// A suspended task of URLSession survives that, too.
  @Test func sessionMayBeFinishedBeforeResume() async throws {
    let server = try LoopbackServer(script: .ok("hello"))
    let session = URLSession(configuration: .ephemeral)
    let outcome = await handlerValue { end in
      let task = session.networkDataTask(with: server.url()) { end(Outcome($0, $1, $2)) }
      session.finishTasksAndInvalidate()
      task.resume()
    }
    #expect(outcome == .response(200, "hello"))
  }

  /// A call that has started has nothing to resume.
  @Test func resumeDoesNothingToOtherCalls() async throws {
    let server = try LoopbackServer(script: .ok("hello"))
    let calls = Counter()
    let task = session.performNetworkRequest(server.url()) { _ in calls.add() }
    task.resume()
    await calls.reaches(1)
    task.resume()
    #expect(server.requests.count == 1)
  }

  /// A call belongs to the user who is signed in when it is made, and not to the one at its `resume()`.
  @Test func taskThatIsResumedLaterIsNotSentAsAnotherUser() async throws {
    let url = URL.example
    let script = NetworkScript([.ok("x")])
    let authentication = Authentication(for: url, BearerToken("first"))
    let client = NetworkClient(baseURL: url, on: script, middleware: [authentication])
    let outcome = await handlerValue { end in
      let task = client.networkDataTask(with: url) { end(Outcome($0, $1, $2)) }
      authentication.signIn(BearerToken("second"))
      task.resume()
    }
    #expect(outcome == .urlError(.userAuthenticationRequired) && script.requests.isEmpty)
  }

  /// `resume()` has no handle of the call yet, which ends when it has one.
  @Test func cancellationWhileTheCallStartsEndsTheCall() async throws {
    /// Cancels the task in the middle of `resume()`.
    struct Canceling: NetworkPerformer {
      let session: URLSession
      let task = Box<NetworkTask>()
      func perform(_ plan: NetworkCallPlan) async -> Result<NetworkResponse<Data>, NetworkError> {
        await session.perform(plan)
      }
      func perform(
        _ plan: NetworkCallPlan,
        completionHandler: @escaping @Sendable (Result<NetworkResponse<Data>, NetworkError>) -> Void
      ) -> NetworkTask {
        task.value?.cancel()
        return session.perform(plan, completionHandler: completionHandler)
      }
    }
    let server = try LoopbackServer(script: .hang)
    let performer = Canceling(session: session)
    var request = URLRequest(url: server.url())
    // Otherwise a call that is not canceled would never end.
    request.timeoutInterval = 3
    let outcome = await handlerValue { end in
      let task = performer.networkDataTask(with: request, policy: .never) { end(Outcome($0, $1, $2)) }
      performer.task.value = task
      task.resume()
    }
    #expect(outcome == .urlError(.cancelled))
  }

  /// As with URLSession, the head of a response may be there beside the error.
  @Test func responseStandsBesideTheErrorOfAMiddleware() async throws {
    struct Refused: Error {}
    let client = NetworkClient(
      on: NetworkScript([.status(404, "no")]),
      middleware: [.around { do { return try await $1($0) } catch { throw Refused() } }])
    let (data, response, error) = await handlerValue { end in
      client.networkDataTask(with: URL.example) { end(($0, $1, $2)) }.resume()
    }
    #expect(data == nil && error != nil)
    #expect((response as? HTTPURLResponse)?.statusCode == 404)
  }
}
