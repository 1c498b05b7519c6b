import Foundation
import Testing
import WyndLoopbackServer

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What the delegate of the session decides about, and what it may do meanwhile.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct DelegateTests {
  @Test func usesCredentialsOfTheSessionDelegate() async throws {
    let delegate = RecordingDelegate(challenge: { _, challenge in
      challenge.previousFailureCount == 0 ? RecordingDelegate.signIn() : (.performDefaultHandling, nil)
    })
    let basic = "Basic \(Data("u:p".utf8).base64EncodedString())"
    let server = try LoopbackServer { request in
      request.value("Authorization") == basic && request.target == "/open"
        ? .ok("welcome") : .challenge()
    }
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    defer { session.invalidateAndCancel() }
    #expect(try await session.performNetworkRequest(server.url("/open")) == Data("welcome".utf8))
    #expect(await session.result(of: server.url("/closed")).error?.statusCode == 401)
    var post = URLRequest(url: server.url("/open"), method: "POST")
    post.httpBody = Data("the body".utf8)
    #expect(try await session.performNetworkRequest(post) == Data("welcome".utf8))
    #expect(server.requests.last?.text == "the body")
  }

  /// The time limit for the delegate does not apply to the response.
  @Test func timeLimitOfTheDelegateDoesNotEndTheResponseAfterAChallenge() async throws {
    let server = try LoopbackServer { request in
      request.value("Authorization") == nil
        ? .challenge() : .drip("welcome", pieces: 7, every: 400)
    }
    let session = URLSession(configuration: .ephemeral, delegate: RecordingDelegate(), delegateQueue: nil)
    defer { session.invalidateAndCancel() }
    for timeout in [2, 1.5] {
      var request = URLRequest(url: server.url())
      request.timeoutInterval = timeout
      var result = await session.result(of: request, maxRetries: 0)
      for _ in 0..<4 where result.error != nil { result = await session.result(of: request, maxRetries: 0) }
      #expect(try result.get() == Data("welcome".utf8))
    }
  }

  @Test func usingANilCredentialDoesNotCrash() async throws {
    let delegate = RecordingDelegate(challenge: { _, _ in (.useCredential, nil) })
    let server = try LoopbackServer(script: .challenge())
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    defer { session.invalidateAndCancel() }
    #expect(await session.result(of: server.url()).error?.statusCode == 401)
  }

  /// URLSession reports a cancellation, but the caller has not canceled anything.
  @Test(arguments: ["GET", "POST"]) func refusedChallengeIsNotACancellation(_ method: String) async throws {
    let delegate = RecordingDelegate(challenge: { _, _ in (.cancelAuthenticationChallenge, nil) })
    let server = try LoopbackServer(script: .challenge())
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    defer { session.invalidateAndCancel() }
    let request = URLRequest(url: server.url(), method: method, body: method == "POST" ? "body" : nil)
    for count in 1...20 {
      let error = await session.result(of: request).error
      guard case .urlError(let urlError)? = error else { Issue.record("\(count): \(error as Any)"); return }
      #expect(urlError.code == .userCancelledAuthentication && error?.isCancellation == false)
    }
    #expect(server.requests.count == 20)
  }

  /// Even if it goes on to allow the redirect, or to answer the challenge.
  @Test(arguments: ["GET", "POST"], ["/moved", "/closed"])
  func delegateCanCancelTheTaskItIsAskedAbout(_ method: String, _ path: String) async throws {
    let delegate = RecordingDelegate(
      redirect: { task, _, request in
        task.cancel()
        return request
      },
      challenge: { task, _ in
        task.cancel()
        return RecordingDelegate.signIn()
      })
    let server = try LoopbackServer { request in
      request.target == "/moved" ? .redirect(307, to: "/there") : .status(401, [("WWW-Authenticate", "Basic realm=x")])
    }
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    defer { session.finishTasksAndInvalidate() }
    let error = await session.result(of: URLRequest(url: server.url(path), method: method)).error
    #expect(error?.urlError?.code == .cancelled, "\(String(describing: error))")
    #expect(server.requests.map(\.target) == [path])
  }

  #if canImport(FoundationNetworking)
    /// URLSession would send the request without an end.
    @Test(arguments: ["GET", "POST"]) func endsAnExchangeOfChallengesAndWrongCredentials(_ method: String) async throws
    {
      let server = try LoopbackServer(script: .status(401, [("WWW-Authenticate", "Basic realm=x")]))
      let session = URLSession(configuration: .ephemeral, delegate: RecordingDelegate(), delegateQueue: nil)
      defer { session.finishTasksAndInvalidate() }
      let error = await session.result(of: URLRequest(url: server.url(), method: method), policy: .never).error
      #expect(error?.statusCode == 401)
      #expect(server.requests.count == 21)
    }
  #endif

  /// A session releases its delegate when it ends. Without it, a retry would be made without certificate pinning.
  @Test func asksTheDelegateOfASessionThatEndedDuringACall() async throws {
    let delegate = RecordingDelegate(redirect: { _, _, _ in nil })
    let server = try LoopbackServer { request in
      request.index == 0 ? .status(503) : request.target == "/" ? .redirect(302, to: "/there") : .ok("x")
    }
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    let policy = RetryPolicy(
      backoff: .constant(.milliseconds(100)), budget: .unlimited,
      shouldRetry: { _ in
        session.finishTasksAndInvalidate()
        return true
      })
    let response = try await session.networkResponse(for: server.url(), policy: policy)
    #expect(response.response.statusCode == 302)
    #expect(server.requests.map(\.target) == ["/", "/"])
  }

  /// A stream that was read to its end is released, and with it what its task held.
  @Test func releasesAStreamThatWasReadToItsEnd() async throws {
    let server = try LoopbackServer(script: .reset, .ok("all of it"))
    weak var stream: NetworkByteStream?
    do {
      let bytes = try await NetworkBytesTests().bytes(server)
      stream = bytes.stream
      for try await _ in bytes {}
      #expect(stream != nil)
    }
    await until { [weak stream] in stream == nil }
  }
}
