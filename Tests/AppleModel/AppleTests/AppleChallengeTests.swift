import Foundation
import Testing
import Wynd
import WyndLoopbackServer

/// A challenge that the app's delegate refuses. URLSession reports a cancellation, but the caller has not canceled.
@Suite(.timeLimit(.minutes(1)), .fewAtOnce) struct AppleChallengeTests {
  typealias Answer = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

  /// Pins a certificate with the method of the session.
  private final class SessionPinning: NSObject, URLSessionTaskDelegate {
    func urlSession(
      _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping Answer
    ) { completionHandler(.cancelAuthenticationChallenge, nil) }
  }

  /// Pins a certificate with the method of the task.
  private final class TaskPinning: NSObject, URLSessionTaskDelegate {
    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping Answer
    ) { completionHandler(.cancelAuthenticationChallenge, nil) }
  }

  private static func session(_ delegate: any URLSessionDelegate, _ answers: Set<ModelAnswer> = []) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.answers = answers
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }

  private static func isUntrusted(_ error: NetworkError?) -> Bool {
    guard case .urlError(let urlError)? = error else { return false }
    return urlError.code == .serverCertificateUntrusted && error?.isCancellation == false
  }

  @Test(arguments: CallKind.allCases, [[], [.asksTaskForTrustFirst]] as [Set<ModelAnswer>])
  func refusedCertificateIsNotACancellation(_ kind: CallKind, _ answers: Set<ModelAnswer>) async throws {
    let server = try LoopbackServer(script: .ok("the response"))
    let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
    for pinning in [SessionPinning(), TaskPinning()] as [any URLSessionDelegate] {
      let session = Self.session(pinning, answers)
      let error = await #expect(throws: NetworkError.self) {
        try await kind.response(to: url, on: session, policy: .quick())
      }
      #expect(Self.isUntrusted(error), "\(pinning): \(String(describing: error))")
      #expect(error?.localizedDescription == "The certificate of the server is not trusted.")
    }
    #expect(server.requests.isEmpty)
  }

  @Test func networkDataThrowsTheErrorOfARefusedCertificate() async throws {
    let url = try #require(URL(string: "https://127.0.0.1:9/"))
    for pinning in [SessionPinning(), TaskPinning()] as [any URLSessionDelegate] {
      let error = await #expect(throws: URLError.self) {
        try await Self.session(pinning).networkData(from: url)
      }
      #expect(error?.code == .serverCertificateUntrusted, "\(pinning)")
    }
  }

  /// The handshake began, and only the delegate ends it like a cancellation.
  @Test(arguments: CallKind.allCases) func refusedCertificateIsNotACancellationIfNobodyIsAsked(_ kind: CallKind)
    async throws
  {
    let url = try #require(URL(string: "https://127.0.0.1:9/"))
    let delegate = RecordingDelegate(challenge: { _, _ in (.cancelAuthenticationChallenge, nil) })
    let session = Self.session(delegate, [.remembersRefusedTrust])
    for _ in 1...2 {
      let error = await #expect(throws: NetworkError.self) {
        try await kind.response(to: url, on: session, policy: .quick())
      }
      #expect(Self.isUntrusted(error), "\(String(describing: error))")
    }
    #expect(delegate.calls.value == ["challenge"])
  }

  /// On any attempt, those on a private session among them.
  @Test func refusesACertificateAfterARetry() async throws {
    let secure = try LoopbackServer(script: .ok("the response"))
    let server = try LoopbackServer(script: .status(503), .redirect(to: "https://127.0.0.1:\(secure.port)/"))
    for pinning in [SessionPinning(), TaskPinning()] as [any URLSessionDelegate] {
      let result = await Self.session(pinning).result(of: server.url(), policy: .quick())
      #expect(result.error?.urlError?.code == .serverCertificateUntrusted, "\(pinning): \(result)")
      #expect(result.error?.isCancellation == false)
    }
    #expect(secure.requests.isEmpty)
  }

  /// The app has canceled the task, whatever its delegate does with challenges.
  @Test func cancellationByTheAppStaysACancellation() async throws {
    let server = try LoopbackServer(script: .hang)
    let session = Self.session(SessionPinning())
    let result = Task { await session.result(of: server.url()) }
    await until { server.requests.first?.isComplete == true }
    session.invalidateAndCancel()
    #expect(await result.value.error?.isCancellation == true)
  }

  @Test(arguments: CallKind.allCases, ["GET", "POST"])
  func refusedSignInIsNotACancellation(_ kind: CallKind, _ method: String) async throws {
    let server = try LoopbackServer(script: .challenge())
    let delegate = RecordingDelegate(challenge: { _, _ in (.cancelAuthenticationChallenge, nil) })
    let request = URLRequest(url: server.url(), method: method)
    let error = await #expect(throws: NetworkError.self) {
      try await kind.response(to: request, on: Self.session(delegate), policy: .quick())
    }
    guard case .urlError(let urlError)? = error else { Issue.record("\(String(describing: error))"); return }
    #expect(urlError.code == .userCancelledAuthentication && error?.isCancellation == false)
    #expect(error?.localizedDescription == "The server requires a valid sign-in.")
    #expect(server.requests.count == 1 && delegate.calls.value == ["challenge"])
  }
}
