import Foundation
import Testing
import WyndLoopbackServer

@testable import AppleURLSession
@testable import Wynd

/// Background sessions, invalidated sessions, and objects retained by a call.
@Suite(.timeLimit(.minutes(1)), .fewAtOnce) struct AppleSessionTests {
  // MARK: Background sessions

  /// A completion handler or a task delegate on one would end the process.
  @Test func rejectsABackgroundSession() async throws {
    let server = try LoopbackServer(script: .ok())
    let session = URLSession(configuration: .background(withIdentifier: "x"))
    let request = URLRequest(url: server.url())
    for kind in CallKind.ofASession {
      let error = await #expect(throws: NetworkError.self) {
        try await TransferSessionTests.run(kind, session, request)
      }
      guard case .invalidRequest? = error else { Issue.record("\(kind): \(String(describing: error))"); continue }
    }
    await #expect(throws: NetworkError.self) { for try await _ in session.serverSentEvents(for: request) {} }
    await #expect(throws: NetworkError.self) {
      try await NetworkClient(on: session).performNetworkRequest(request)
    }
    let result = await handlerValue { session.performNetworkRequest(request, completionHandler: $0) }
    guard case .failure(.invalidRequest) = result else { Issue.record("\(result)"); return }
    #expect(server.requests.isEmpty)
  }

  // MARK: The shared session

  /// A stub as many apps register it for their tests.
  final class Watch: URLProtocol {
    static let paths = Box<[String]>([])
    override class func canInit(with request: URLRequest) -> Bool {
      paths.append(request.url?.path ?? "")
      return false
    }
  }

  /// Nobody can invalidate it, so every attempt and the calls of clients and transfers run on it.
  @Test func stubOfTheSharedSessionSeesEveryAttempt() async throws {
    URLProtocol.registerClass(Watch.self)
    let server = try LoopbackServer { $0.index.isMultiple(of: 2) ? .status(503) : .ok("x") }
    let policy = RetryPolicy.quick(maxRetries: 1)
    let folder = try Folder()
    _ = try await URLSession.shared.performNetworkRequest(server.url("/seen-plain"), policy: policy)
    _ = try await NetworkClient(policy: policy).performNetworkRequest(server.url("/seen-client"))
    try await URLSession.shared.performNetworkDownload(server.url("/seen-file"), to: folder.file(), policy: policy)
    // Those of other tests are seen, too.
    let seen = Watch.paths.value?.filter { $0.hasPrefix("/seen-") }
    #expect(seen == ["/seen-plain", "/seen-plain", "/seen-client", "/seen-client", "/seen-file", "/seen-file"])
    // Another session is not asked.
    let other = URLSession(configuration: .ephemeral)
    _ = try await other.performNetworkRequest(server.url("/seen-other"), policy: policy)
    #expect(Watch.paths.value?.contains("/seen-other") == false)
  }

  // MARK: Time-outs

  final class Timeouts: NSObject, URLSessionTaskDelegate, Sendable {
    let all = Box<[TimeInterval]>([])
    let areSet = Box<[Bool]>([])
    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
      // Not the task that stands for a transfer, which is never resumed.
      if task.originalRequest?.url?.scheme == "data" { return }
      all.append(task.originalRequest?.timeoutInterval ?? 0)
      areSet.append(task.originalRequest?.isTimeoutSet == true)
    }
  }

  /// What URLSession does with zero, NaN, infinity and the like is not documented, so it never receives them.
  @Test(arguments: CallKind.ofASession) func replacesTimeoutsThatURLSessionDoesNotDocument(_ kind: CallKind)
    async throws
  {
    let server = try LoopbackServer { _ in .ok("the response") }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = 45
    let rows: [(TimeInterval, TimeInterval)] = [
      (30, 30), (1e8, 1e8), (100_000_001, 1e8), (1e10, 1e8), (1e12, 1e8), (1e300, 1e8), (.infinity, 1e8), (0, 45),
      (-1, 45), (-.infinity, 45), (.nan, 45),
    ]
    for (timeout, expected) in rows {
      let timeouts = Timeouts()
      let session = URLSession(configuration: configuration, delegate: timeouts, delegateQueue: nil)
      var request = URLRequest(url: server.url())
      request.timeoutInterval = timeout
      #expect(try await TransferSessionTests.run(kind, session, request) == 200)
      #expect(timeouts.all.value == [expected], "\(timeout)")
      session.finishTasksAndInvalidate()
    }
  }

  /// The session's time-out applies to a request without one, even if URLSession tells a value that was set from the same
  /// default.
  @Test(arguments: CallKind.allCases, [[], [.countsTimeoutThatIsSet], [.sessionTimeoutIsLimit]] as [Set<ModelAnswer>])
  func leavesAUsableTimeoutUntouched(_ kind: CallKind, _ answers: Set<ModelAnswer>) async throws {
    let server = try LoopbackServer(script: .hang)
    let timeouts = Timeouts()
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = 0.2
    configuration.answers = answers
    let session = URLSession(configuration: configuration, delegate: timeouts, delegateQueue: nil)
    let policy = RetryPolicy(maxRetries: 0, deadline: .seconds(20))
    let error = await #expect(throws: NetworkError.self) {
      try await kind.response(to: server.url(), on: session, policy: policy)
    }
    #expect(error?.isTimeout == true && error?.stopReason != .deadline)
    #expect(timeouts.areSet.value == [false])
  }

  /// URLSession decides whether a longer one applies.
  @Test(arguments: [[], [.sessionTimeoutIsLimit]] as [Set<ModelAnswer>])
  func passesATimeoutThatIsLongerThanTheSessions(_ answers: Set<ModelAnswer>) async throws {
    let server = try LoopbackServer { _ in .drip("ok", pieces: 2, every: 600) }
    let session = URLSession.ephemeral {
      $0.timeoutIntervalForRequest = 0.2
      $0.answers = answers
    }
    var request = URLRequest(url: server.url())
    request.timeoutInterval = 30
    let error = await session.result(of: request, policy: .never).error
    #expect(error?.urlError?.code == (answers.isEmpty ? nil : .timedOut))
  }

  // MARK: Objects released after a call

  final class Delegate: NSObject, URLSessionDelegate, Sendable {
    let ends = Counter()
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { ends.add() }
  }

  /// The session, its delegate, and what the policy's closure holds are released, whatever the end of the call.
  @Test(arguments: CallKind.ofASession, ["success", "retry", "failure", "cancellation"])
  func releasesEverythingAfterACall(_ kind: CallKind, _ end: String) async throws {
    weak var weakSession: URLSession?
    weak var weakDelegate: Delegate?
    weak var weakHeld: Held?
    let ends: Counter
    do {
      let server = try LoopbackServer {
        switch end {
        case "success": .ok("the response")
        case "retry": $0.index == 0 ? .status(503) : .ok("the response")
        case "failure": .status(404)
        default: .hang
        }
      }
      let (delegate, held) = (Delegate(), Held())
      let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
      (weakSession, weakDelegate, weakHeld, ends) = (session, delegate, held, delegate.ends)
      let policy = RetryPolicy(
        maxRetries: 1, backoff: .immediate, budget: .unlimited, onEvent: { [held] _ in _ = held })
      let request = URLRequest(url: server.url(), method: kind == .download ? "GET" : "PUT")
      let task = Task { try await kind.response(to: request, on: session, policy: policy) }
      if end == "cancellation" {
        await until { server.requests.count == 1 }
        task.cancel()
      }
      _ = await task.result
      session.finishTasksAndInvalidate()
    }
    await ends.reaches(1)
    while weakSession != nil || weakDelegate != nil || weakHeld != nil { try await Task.sleep(for: .milliseconds(1)) }
  }

  /// A stream that is not read to its end is canceled, so the session can end.
  @Test func releasesADroppedStream() async throws {
    let server = try LoopbackServer(script: .stall)
    let delegate = Delegate()
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    do {
      let bytes = try await session.networkBytes(for: server.url())
      for try await _ in bytes { break }
    }
    session.finishTasksAndInvalidate()
    await delegate.ends.reaches(1)
  }

  // MARK: A session that ends. A task that is created afterwards raises an exception.

  /// A middleware that does not notice that its call has been canceled.
  struct Deaf: NetworkMiddleware {
    let isReached = Gate()
    let mayGoOn = Gate()
    let isOver = Gate()
    func respond(
      to request: URLRequest, in call: NetworkMiddlewareCall, next: NetworkMiddlewareNext
    ) async throws -> NetworkResponse<Data> {
      isReached.open()
      await mayGoOn.wait()
      defer { isOver.open() }
      return try await next(request)
    }
  }

  /// An app may cancel a call, and end its session at once.
  @Test(arguments: ["before the start", "before the start of a client's call", "before a retry", "in a middleware"])
  func canceledCallCreatesNoTask(_ moment: String) async throws {
    let server = try LoopbackServer(script: .status(503))
    let session = URLSession(configuration: .ephemeral)
    let (deaf, mayDecide) = (Deaf(), DispatchSemaphore(value: 0))
    let policy = RetryPolicy(shouldRetry: { _ in
      deaf.isReached.open()
      mayDecide.wait()
      return true
    })
    let performer: any NetworkPerformer =
      switch moment {
      case "in a middleware": NetworkClient(on: session, middleware: [deaf])
      case "before the start of a client's call": NetworkClient(on: session)
      default: session
      }
    let request = URLRequest(url: server.url())
    let task = Task { () -> NetworkError? in
      if moment.hasPrefix("before the start") {
        deaf.isReached.open()
        await deaf.mayGoOn.wait()
      }
      do throws(NetworkError) { _ = try await performer.performNetworkRequest(request, policy: policy) } catch {
        return error
      }
      return nil
    }
    await deaf.isReached.wait()
    task.cancel()
    session.finishTasksAndInvalidate()
    mayDecide.signal()
    deaf.mayGoOn.open()
    #expect(await task.value?.isCancelled == true)
    if moment == "in a middleware" { await deaf.isOver.wait() }
    #expect(server.requests.count == (moment == "before a retry" ? 1 : 0))
  }

  /// A performer of the app that sends the first request later.
  struct Delaying: NetworkPerformer {
    let session: URLSession
    let isReached = Gate()
    let mayGoOn = Gate()
    func perform(_ plan: NetworkCallPlan) async -> Result<NetworkResponse<Data>, NetworkError> {
      isReached.open()
      await mayGoOn.wait()
      return await session.perform(plan)
    }
  }

  @Test func sessionCanBeFinishedBeforeAPerformerSendsTheRequest() async throws {
    let server = try LoopbackServer(script: .ok("the response"))
    let delaying = Delaying(session: URLSession(configuration: .ephemeral))
    let request = URLRequest(url: server.url())
    let task = Task { try await delaying.performNetworkRequest(request) }
    await delaying.isReached.wait()
    delaying.session.finishTasksAndInvalidate()
    delaying.mayGoOn.open()
    #expect(try await task.value == Data("the response".utf8))
  }

  /// A retry that is prepared and not sent would keep the session from ending.
  @Test func sessionEndsAfterACallCanceledDuringAWait() async throws {
    let server = try LoopbackServer(script: .status(503, [("Retry-After", "30")]))
    let delegate = Delegate()
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    let log = EventLog()
    let result = Task {
      await session.result(of: server.url(), policy: RetryPolicy(onEvent: log.add))
    }
    await until { !log.delays.isEmpty }
    result.cancel()
    #expect(await result.value.error?.isCancelled == true)
    session.finishTasksAndInvalidate()
    await delegate.ends.reaches(1)
    #expect(server.requests.count == 1)
  }
}
