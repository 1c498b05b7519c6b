import Foundation
import Testing
import Wynd
import WyndLoopbackServer

/// A device without a network, and an app that is suspended.
@Suite(.timeLimit(.minutes(1)), .fewAtOnce) struct AppleConnectivityTests {
  final class Delegate: NSObject, URLSessionTaskDelegate, Sendable {
    let waits = Counter()
    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) { waits.add() }
  }

  static func waitingSession(_ delegate: Delegate) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.waitsForConnectivity = true
    configuration.timeoutIntervalForRequest = 0.2
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    session.goOffline()
    return session
  }

  /// Neither the request's time-out nor `maxUnreachableTime` applies, as there is no failure to count them from.
  @Test(arguments: CallKind.ofASession) func waitingForConnectivityIsOneAttempt(_ kind: CallKind) async throws {
    let server = try LoopbackServer(script: .ok("the response"))
    let delegate = Delegate()
    let session = Self.waitingSession(delegate)
    let status = Task { try await TransferSessionTests.run(kind, session, URLRequest(url: server.url())) }
    await delegate.waits.reaches(1)
    let began = ContinuousClock.now
    await until { ContinuousClock.now - began > .milliseconds(300) }
    session.goOnline()
    #expect(try await status.value == 200)
    #expect(delegate.waits.value == 1 && server.requests.count == 1)
  }

  @Test func deadlineEndsAWaitForConnectivity() async throws {
    let session = Self.waitingSession(Delegate())
    let policy = RetryPolicy(maxUnreachableTime: .milliseconds(1), deadline: .milliseconds(100))
    let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:9/")))
    #expect(await session.result(of: request, policy: policy).error?.stopReason == .deadline)
    await handlerValue { end in session.delegateQueue.addOperation { end(()) } }
  }

  @Test func cancellationEndsAWaitForConnectivity() async throws {
    let delegate = Delegate()
    let session = Self.waitingSession(delegate)
    let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:9/")))
    let result = Task { await session.result(of: request) }
    await delegate.waits.reaches(1)
    result.cancel()
    #expect(await result.value.error?.isCancelled == true)
  }

  /// Nothing was sent, so a POST is repeated too.
  @Test(arguments: ["GET", "POST"]) func retriesWhenOffline(_ method: String) async throws {
    let server = try LoopbackServer(script: .ok("the response"))
    let session = URLSession(configuration: .ephemeral)
    session.goOffline()
    let policy = RetryPolicy(backoff: .immediate, shouldRetry: Self.goingOnline(session))
    let response = try await session.networkResponse(for: URLRequest(url: server.url(), method: method), policy: policy)
    #expect(response.attempts.first?.error?.urlError?.code == .notConnectedToInternet)
    #expect(server.requests.count == 1)
  }

  /// Takes the device online before a failure is decided about, and decides like the library. A call waits for its
  /// `shouldRetry`, but not for its `onEvent`.
  private static func goingOnline(_ session: URLSession) -> @Sendable (NetworkError) -> Bool {
    { error in
      session.goOnline()
      return error.shouldRetry
    }
  }

  /// Takes the device offline when the server has received the first request, and online again for a retry. Returns the
  /// error of `send`.
  private static func errorAfterGoingOffline(
    _ server: LoopbackServer, _ answers: Set<ModelAnswer> = [],
    _ send: @escaping @Sendable (URLSession, RetryPolicy) async throws -> Void
  ) async -> NetworkError? {
    let session = URLSession.ephemeral { $0.answers.formUnion(answers) }
    let policy = RetryPolicy.quick(shouldRetry: Self.goingOnline(session))
    let result = Task { () -> NetworkError? in
      do {
        try await send(session, policy)
      } catch let error as NetworkError {
        return error
      } catch {
        Issue.record("not a NetworkError: \(error)")
      }
      return nil
    }
    await until { server.requests.first?.isComplete == true }
    session.goOffline()
    return await result.value
  }

  /// The error is that of a request that was not sent, but the bytes of its body that were sent are counted.
  @Test(arguments: ["request", "request of a client", "upload", "upload of a client"], ["POST", "PUT"])
  func bodyThatWasSentBeforeTheDeviceWentOfflineIsSentAgainOnlyIfSafe(_ kind: String, _ method: String) async throws {
    let server = try LoopbackServer(script: .hang, .ok("the response"))
    let error = await Self.errorAfterGoingOffline(server) { session, policy in
      let isClient = kind.hasSuffix("client")
      let performer: any NetworkPerformer = isClient ? NetworkClient(on: session) : session
      var request = URLRequest(url: server.url(), method: method)
      let body = Data("order".utf8)
      if kind.hasPrefix("upload") {
        _ = try await performer.performNetworkUpload(request, from: .data(body), policy: policy)
      } else {
        request.httpBody = body
        _ = try await performer.performNetworkRequest(request, policy: policy)
      }
    }
    if method == "PUT" {
      #expect(error == nil && server.requests.map(\.text) == ["order", "order"])
    } else {
      #expect(error?.urlError?.code == .notConnectedToInternet && server.requests.count == 1)
      #expect(error?.stopReason == .notSafeToRepeat(method: "POST"))
    }
  }

  /// URLSession counts no byte of it as sent, but its header fields were, and a request without a body is complete then.
  /// Without metrics, they may have been sent.
  @Test(arguments: [true, false], [[], [.emptyMetrics], [.noMetrics]] as [Set<ModelAnswer>])
  func requestWithoutABodyThatWasSentIsSentAgainOnlyIfSafe(_ isClient: Bool, _ answers: Set<ModelAnswer>) async throws {
    try await sendWithoutABody("POST", isClient, answers)
    try await sendWithoutABody("DELETE", isClient, answers)
  }

  private func sendWithoutABody(_ method: String, _ isClient: Bool, _ answers: Set<ModelAnswer>) async throws {
    let server = try LoopbackServer(script: .hang, .ok("the response"))
    let error = await Self.errorAfterGoingOffline(server, answers) { session, policy in
      let client = NetworkClient(on: session, middleware: [.around { request, next in try await next(request) }])
      let performer: any NetworkPerformer = isClient ? client : session
      let request = URLRequest(url: server.url(), method: method)
      _ = try await performer.performNetworkRequest(request, policy: policy)
    }
    if method == "DELETE" {
      #expect(error == nil && server.requests.count == 2)
    } else {
      #expect(error?.urlError?.code == .notConnectedToInternet && server.requests.count == 1)
      #expect(error?.stopReason == .notSafeToRepeat(method: "POST"))
    }
  }

  /// The time before does not count as time without a server.
  @Test func retriesALongAttemptThatLosesTheNetwork() async throws {
    let server = try LoopbackServer(script: .hang, .ok("the response"))
    let session = URLSession(configuration: .ephemeral)
    let log = EventLog()
    let policy = RetryPolicy(
      backoff: .immediate, maxUnreachableTime: .seconds(1), budget: .unlimited, shouldRetry: Self.goingOnline(session),
      onEvent: log.add)
    let request = URLRequest(url: server.url())
    let result = Task { await session.result(of: request, policy: policy) }
    await until { server.requests.first?.isComplete == true }
    let began = ContinuousClock.now
    await until { ContinuousClock.now - began > .milliseconds(1100) }
    session.goOffline()
    #expect(await result.value.error == nil)
    #expect(log.delays.count == 1)
  }

  @Test func doesNotRetryInLowDataMode() async throws {
    let session = URLSession(configuration: .ephemeral)
    session.goOffline(.constrained)
    let log = EventLog()
    let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:9/")))
    let error = await session.result(of: request, policy: RetryPolicy(onEvent: log.add)).error
    guard case .urlError(let error)? = error else { Issue.record("\(String(describing: error))"); return }
    #expect(error.networkUnavailableReason == .constrained && log.delays.isEmpty)
  }

  // MARK: A suspended app

  private func suspendApp(of session: URLSession, for duration: Duration) async {
    session.suspendApp()
    let began = ContinuousClock.now
    await until { ContinuousClock.now - began > duration }
    session.resumeApp()
  }

  /// The most frequent failure on iOS: the connection is lost, and `maxRetryTime` has passed as well.
  @Test(arguments: CallKind.ofASession) func retriesACallWhenASuspendedAppReturns(_ kind: CallKind) async throws {
    let server = try LoopbackServer(script: .hang, .ok("the response"))
    let session = URLSession(configuration: .ephemeral)
    // An upload is repeated if it is a PUT.
    let request = URLRequest(url: server.url(), method: kind == .upload ? "PUT" : "GET")
    let policy = RetryPolicy(backoff: .immediate, maxRetryTime: .milliseconds(50), budget: .unlimited)
    let status = Task { try await kind.response(to: request, on: session, policy: policy).statusCode }
    await until { server.requests.first?.isComplete == true }
    await suspendApp(of: session, for: .milliseconds(60))
    #expect(try await status.value == 200)
    #expect(server.requests.count == 2)
  }

  @Test func doesNotRepeatAPOSTOfASuspendedApp() async throws {
    let server = try LoopbackServer(script: .hang, .ok())
    let session = URLSession(configuration: .ephemeral)
    let request = URLRequest(url: server.url(), method: "POST", body: "body")
    let result = Task { await session.result(of: request) }
    await until { server.requests.first?.isComplete == true }
    await suspendApp(of: session, for: .milliseconds(10))
    let error = await result.value.error
    #expect(error?.urlError?.code == .networkConnectionLost && server.requests.count == 1)
  }

  /// While an app is suspended, the system closes its connections, and URLSession still uses them for the next request
  /// (Apple's forums, thread 724950).
  @Test func retriesOnceOnAConnectionThatClosedDuringSuspension() async throws {
    let server = try LoopbackServer { _ in .ok() }
    let session = URLSession(configuration: .ephemeral)
    let policy = RetryPolicy.quick()
    _ = try await session.networkResponse(for: server.url(), policy: policy)
    await suspendApp(of: session, for: .milliseconds(1))
    let response = try await session.networkResponse(for: server.url(), policy: policy)
    #expect(response.attempts.map { $0.error?.urlError?.code } == [.networkConnectionLost, nil])
    #expect(server.requests.count == 2)
  }

  // MARK: Repetitions by URLSession itself (QA1941)

  @Test func doesNotCountRepetitionsOfURLSessionAsAttempts() async throws {
    let server = try LoopbackServer { $0.connection == 0 && $0.indexOnConnection == 1 ? .close : .ok("the response") }
    let session = URLSession(configuration: .ephemeral)
    let request = URLRequest(url: server.url())
    for _ in 0..<2 { #expect(try await session.networkResponse(for: request).attempts.count == 1) }
    #expect(server.requests.count == 3)
  }
}
