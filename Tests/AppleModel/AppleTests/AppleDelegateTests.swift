import Foundation
import Testing
import WyndLoopbackServer

@testable import AppleURLSession
@testable import Wynd

/// The delegate methods of the app that are called for Wynd's tasks, which have their own delegate on Apple's platforms.
@Suite(.timeLimit(.minutes(1)), .fewAtOnce) struct AppleDelegateTests {
  final class Delegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    let calls = Box<Set<String>>([])
    let metrics = Box<[URLSessionTaskMetrics]>([])
    let isOnQueue = Box(true)
    let followsRedirects: Bool
    init(followsRedirects: Bool = true) { self.followsRedirects = followsRedirects }

    private func note(_ call: String, _ session: URLSession) {
      calls.update { $0.insert(call) }
      if OperationQueue.current !== session.delegateQueue { isOnQueue.value = false }
    }
    // The only one that is not called on the delegate queue.
    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
      calls.update { $0.insert("created") }
    }
    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      note("redirect", session)
      completionHandler(followsRedirects ? request : nil)
    }
    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      note("challenge", session)
      completionHandler(.useCredential, URLCredential(user: "u", password: "p", persistence: .none))
    }
    func urlSession(
      _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
      totalBytesExpectedToSend: Int64
    ) { note("sent", session) }
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting new: URLSessionTaskMetrics) {
      note("metrics", session)
      metrics.append(new)
    }
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      note("end", session)
    }
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      note("data", session)
    }
  }

  @Test(arguments: CallKind.ofASession) func delegateSeesRedirectsChallengesAndMetrics(_ kind: CallKind) async throws {
    let server = try LoopbackServer { request in
      switch (request.target, request.value("Authorization")) {
      case ("/", _): .redirect(307, to: "/there")
      case (_, nil): .challenge()
      default: .ok("the response")
      }
    }
    let delegate = Delegate()
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    #expect(try await TransferSessionTests.run(kind, session, URLRequest(url: server.url())) == 200)
    session.finishTasksAndInvalidate()
    // The data and the end belong to Wynd.
    let expected: Set = ["created", "redirect", "challenge", "metrics"]
    #expect(delegate.calls.value == (kind == .upload ? expected.union(["sent"]) : expected))
    #expect(delegate.isOnQueue.value == true)
    let metrics = try #require(delegate.metrics.value?.first)
    #expect(delegate.metrics.value?.count == 1 && metrics.redirectCount == 1)
    #expect(metrics.transactionMetrics.compactMap { ($0.response as? HTTPURLResponse)?.statusCode } == [307, 401, 200])
    #expect(server.requests.map(\.target) == ["/", "/there", "/there"])
    if kind == .upload { #expect(server.requests.map(\.text) == ["body", "body", "body"]) }
  }

  /// The session has released its delegate by then.
  @Test(arguments: CallKind.ofASession) func delegateSeesALaterAttemptAfterTheSessionWasFinished(_ kind: CallKind)
    async throws
  {
    let delegate = Delegate()
    let queue = OperationQueue.serial()
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: queue)
    let server = try LoopbackServer { request in
      if request.index == 0 {
        session.finishTasksAndInvalidate()
        delegate.calls.value = []
        return .status(503)
      }
      switch (request.target, request.value("Authorization")) {
      case ("/", _): return .redirect(307, to: "/there")
      case (_, nil): return .challenge()
      default: return .ok("the response")
      }
    }
    let request = URLRequest(url: server.url(), method: kind == .upload ? "PUT" : "GET")
    #expect(try await TransferSessionTests.run(kind, session, request) == 200)
    #expect(delegate.calls.value?.isSuperset(of: ["created", "redirect", "challenge", "metrics"]) == true)
    #expect(delegate.isOnQueue.value == true)
  }

  /// Pins a certificate, with the method of the session or with that of the task.
  private final class Rejection: Sendable {
    let sessions = Box<[ObjectIdentifier]>([])
    func reject(
      _ session: URLSession,
      _ completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      sessions.append(ObjectIdentifier(session))
      completionHandler(.cancelAuthenticationChallenge, nil)
    }
  }
  private final class SessionPinning: NSObject, URLSessionTaskDelegate {
    let rejection: Rejection
    init(_ rejection: Rejection) { self.rejection = rejection }
    func urlSession(
      _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) { rejection.reject(session, completionHandler) }
  }
  private final class TaskPinning: NSObject, URLSessionTaskDelegate {
    let rejection: Rejection
    init(_ rejection: Rejection) { self.rejection = rejection }
    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) { rejection.reject(session, completionHandler) }
  }

  private final class NoPinning: NSObject, URLSessionTaskDelegate {}

  /// The model has no TLS, so the challenge of the certificate is made here.
  @Test func laterAttemptsUseTheServerTrustDelegateOfTheSession() throws {
    let url = try #require(URL(string: "https://example.com/"))
    let space = URLProtectionSpace(
      host: "example.com", port: 443, protocol: "https", realm: nil,
      authenticationMethod: NSURLAuthenticationMethodServerTrust)
    let challenge = URLAuthenticationChallenge(
      protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil,
      sender: ChallengeSender())
    let rejection = Rejection()
    let rows: [((any URLSessionDelegate)?, URLSession.AuthChallengeDisposition)] = [
      (SessionPinning(rejection), .cancelAuthenticationChallenge),
      (TaskPinning(rejection), .cancelAuthenticationChallenge),
      (NoPinning(), .performDefaultHandling),
      (nil, .performDefaultHandling),
    ]
    var callers: [ObjectIdentifier] = []
    for (pinning, expected) in rows {
      let session = URLSession(configuration: .ephemeral, delegate: pinning, delegateQueue: nil)
      let outgoing = NetworkOutgoing(request: URLRequest(url: url))
      let delegate = AppleTaskDelegate(outgoing, for: session, pinning, NetworkAttemptCompletion())
      let ours = URLSession(configuration: .ephemeral)
      let disposition = Box<URLSession.AuthChallengeDisposition>()
      delegate.urlSession(ours, task: ours.dataTask(with: url), didReceive: challenge) { choice, _ in
        disposition.value = choice
      }
      #expect(disposition.value == expected)
      if expected == .cancelAuthenticationChallenge { callers.append(ObjectIdentifier(session)) }
    }
    #expect(rejection.sessions.value == callers)
  }

  @Test(arguments: [true, false]) func eachAttemptHasItsMetrics(_ isClient: Bool) async throws {
    let server = try LoopbackServer(script: .status(503), .redirect(to: "/there"), .ok())
    let session = URLSession(configuration: .ephemeral)
    let client = NetworkClient(on: session, middleware: [.around { request, next in try await next(request) }])
    let performer: any NetworkPerformer = isClient ? client : session
    let policy = RetryPolicy.quick()
    let response = try await performer.networkResponse(for: server.url(), policy: policy)
    #expect(response.attempts.map { $0.metrics?.redirectCount } == [0, 1])
    #expect(response.attempts.map { $0.metrics?.transactionMetrics.count } == [1, 2])
    let busy = try LoopbackServer(script: .status(503))
    let twice = RetryPolicy.quick(maxRetries: 1)
    let error = await #expect(throws: NetworkError.self) {
      try await performer.networkResponse(for: busy.url(), policy: twice)
    }
    #expect(error?.attempts.map { $0.metrics?.redirectCount } == [0, 0])
  }

  /// URLSession drops Authorization on every redirect, but sends a token in another field to any origin.
  @Test(arguments: CallKind.ofASession) func credentialsStayWithTheirOrigin(_ kind: CallKind) async throws {
    let other = try LoopbackServer(script: .ok("the response"))
    let server = try LoopbackServer { [url = other.url()] in
      $0.target == "/" ? .redirect(307, to: "/there") : .redirect(307, to: url.absoluteString)
    }
    var request = URLRequest(url: server.url())
    request.setValue("Bearer T", forHTTPHeaderField: "Authorization")
    request.setValue("K", forHTTPHeaderField: "X-Api-Key")
    #expect(try await TransferSessionTests.run(kind, URLSession(configuration: .ephemeral), request) == 200)
    #expect(server.values(of: "Authorization") == ["Bearer T", "Bearer T"])
    #expect(server.values(of: "X-Api-Key") == ["K", "K"])
    #expect(other.values(of: "Authorization") == [nil])
    #expect(other.values(of: "X-Api-Key") == [nil])
  }
}
