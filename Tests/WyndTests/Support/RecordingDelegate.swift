import Foundation
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The delegate of a session. It records what it is asked, and answers with its closures. Without them, it follows each
/// redirect, and answers each challenge with a user and a password.
final class RecordingDelegate: NSObject, URLSessionTaskDelegate, Sendable {
  typealias Redirect = @Sendable (URLSessionTask, HTTPURLResponse, URLRequest) -> URLRequest?
  typealias Challenge =
    @Sendable (URLSessionTask, URLAuthenticationChallenge) -> (URLSession.AuthChallengeDisposition, URLCredential?)

  /// "redirect" or "challenge". The text says so if a call is not made on the delegate queue of its session.
  let calls = Box<[String]>([])
  let sessions = Box<Set<ObjectIdentifier>>([])
  let invalidations = Counter()
  private let redirect: Redirect
  private let challenge: Challenge

  init(redirect: @escaping Redirect = { $2 }, challenge: @escaping Challenge = { _, _ in signIn() }) {
    self.redirect = redirect
    self.challenge = challenge
  }

  static func signIn() -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    (.useCredential, URLCredential(user: "u", password: "p", persistence: .none))
  }

  private func note(_ call: String, _ session: URLSession) {
    calls.append(OperationQueue.current === session.delegateQueue ? call : "\(call) on another queue")
    sessions.update { $0.insert(ObjectIdentifier(session)) }
  }

  func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { invalidations.add() }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    note("redirect", session)
    completionHandler(redirect(task, response, request))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    note("challenge", session)
    let (disposition, credential) = self.challenge(task, challenge)
    completionHandler(disposition, credential)
  }
}

extension ScriptedResponse {
  /// A 401 that asks for a user and a password.
  static func challenge(body: String = "") -> ScriptedResponse {
    .status(401, [("WWW-Authenticate", #"Basic realm="x""#)], body: body)
  }
}
