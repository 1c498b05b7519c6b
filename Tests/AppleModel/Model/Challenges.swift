import Foundation

// Basic, and the certificate of a server. Left out: URLCredentialStorage and the user of a URL.

extension Loader {
  private typealias Answer = (URLSession.AuthChallengeDisposition, URLCredential?)
  private static let none: Answer = (.performDefaultHandling, nil)

  static func challenge(_ response: HTTPURLResponse, _ failures: Int) -> URLAuthenticationChallenge? {
    guard response.statusCode == 401, let url = response.url,
      response.value(forHTTPHeaderField: "WWW-Authenticate")?.lowercased().hasPrefix("basic") == true
    else { return nil }
    let space = URLProtectionSpace(
      host: url.host ?? "", port: url.port ?? 80, protocol: url.scheme, realm: nil,
      authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
    return URLAuthenticationChallenge(
      protectionSpace: space, proposedCredential: nil, previousFailureCount: failures, failureResponse: response,
      error: nil, sender: ChallengeSender())
  }

  // [doc] urlsessiontaskdelegate/urlsession(_:task:didreceive:completionhandler:): tasks with a completion handler too; the
  // method of URLSessionDelegate is for challenges of the connection.
  func delegateCredential(for challenge: URLAuthenticationChallenge) throws -> URLCredential? {
    let (disposition, credential) = try ask(Self.none) { reply in
      self.call { $0.urlSession(self.session, task: self.task, didReceive: challenge) { reply(($0, $1)) } }
    }
    // [seen] TrustKit#39, AFNetworking#3165: a refusal of the delegate's ends the task with -999.
    if disposition == .cancelAuthenticationChallenge { throw URLError(.cancelled) }
    return disposition == .useCredential ? credential : nil
  }

  /// TLS is not modelled, but its question is: with a delegate that trusts the server, the request is sent in plain text.
  /// Otherwise no certificate is good.
  func askForTrust(_ host: String, _ port: Int) throws {
    secureConnection = (Date(), nil)
    let (network, answers) = (session.network, session.values.answers)
    let server = "\(host):\(port)"
    if session.locked({ network.refusedServers.contains(server) }) { throw URLError(.cancelled) }
    let space = URLProtectionSpace(
      host: host, port: port, protocol: "https", realm: nil, authenticationMethod: NSURLAuthenticationMethodServerTrust)
    let challenge = URLAuthenticationChallenge(
      protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil,
      sender: ChallengeSender())
    let (disposition, _) = try ask(Self.none) { (reply: @escaping @Sendable (Answer) -> Void) in
      let isFirst = answers.contains(.asksTaskForTrustFirst)
      if isFirst, self.call(ofTask: challenge, reply) { return true }
      let isAsked = self.session.delegate.map { delegate in
        OptionalMethod.isImplemented(by: delegate) {
          delegate.urlSession(self.session, didReceive: challenge) { reply(($0, $1)) }
        }
      }
      return isAsked == true || !isFirst && self.call(ofTask: challenge, reply)
    }
    if disposition == .cancelAuthenticationChallenge {
      if answers.contains(.remembersRefusedTrust) { _ = session.locked { network.refusedServers.insert(server) } }
      throw URLError(.cancelled)
    }
    if disposition != .useCredential { throw URLError(.secureConnectionFailed) }
    secureConnection.end = Date()
  }

  private func call(
    ofTask challenge: URLAuthenticationChallenge, _ reply: @escaping @Sendable (Answer) -> Void
  ) -> Bool {
    call { $0.urlSession(session, task: task, didReceive: challenge) { reply(($0, $1)) } }
  }
}
