import Foundation
import Testing
import WyndLoopbackServer

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What the delegate of the session decides about, and what it may do meanwhile.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct DelegateTests {
  @Test func usesCredentialsOfTheSessionDelegate() async throws {
    final class Delegate: NSObject, URLSessionTaskDelegate {
      func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
      ) {
        let isFirst = challenge.previousFailureCount == 0
        completionHandler(
          isFirst ? .useCredential : .performDefaultHandling,
          isFirst ? URLCredential(user: "u", password: "p", persistence: .none) : nil)
      }
    }
    let basic = "Basic \(Data("u:p".utf8).base64EncodedString())"
    let server = try LoopbackServer { request in
      request.value("Authorization") == basic && request.target == "/open"
        ? .ok("welcome") : .status(401, [("WWW-Authenticate", #"Basic realm="x""#)])
    }
    let session = URLSession(configuration: .ephemeral, delegate: Delegate(), delegateQueue: nil)
    defer { session.invalidateAndCancel() }
    #expect(try await session.performNetworkRequest(server.url("/open")) == Data("welcome".utf8))
    #expect(await session.result(of: URLRequest(url: server.url("/closed"))).error?.statusCode == 401)
    var post = URLRequest(url: server.url("/open"), method: "POST")
    post.httpBody = Data("the body".utf8)
    #expect(try await session.performNetworkRequest(post) == Data("welcome".utf8))
    #expect(server.requests.last?.text == "the body")
  }

  /// The time limit for the delegate does not apply to the response.
  @Test func timeLimitOfTheDelegateDoesNotEndTheResponseAfterAChallenge() async throws {
    final class Delegate: NSObject, URLSessionTaskDelegate {
      func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
      ) { completionHandler(.useCredential, URLCredential(user: "u", password: "p", persistence: .none)) }
    }
    let server = try LoopbackServer { request in
      request.value("Authorization") == nil
        ? .status(401, [("WWW-Authenticate", #"Basic realm="x""#)]) : .drip("welcome", pieces: 7, every: 400)
    }
    let session = URLSession(configuration: .ephemeral, delegate: Delegate(), delegateQueue: nil)
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
    final class Delegate: NSObject, URLSessionTaskDelegate {
      func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
      ) { completionHandler(.useCredential, nil) }
    }
    let server = try LoopbackServer(script: .status(401, [("WWW-Authenticate", #"Basic realm="x""#)]))
    let session = URLSession(configuration: .ephemeral, delegate: Delegate(), delegateQueue: nil)
    defer { session.invalidateAndCancel() }
    #expect(await session.result(of: URLRequest(url: server.url())).error?.statusCode == 401)
  }

  /// Even if it goes on to allow the redirect, or to answer the challenge.
  @Test(arguments: ["GET", "POST"], ["/moved", "/closed"])
  func delegateCanCancelTheTaskItIsAskedAbout(_ method: String, _ path: String) async throws {
    final class Delegate: NSObject, URLSessionTaskDelegate {
      func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
      ) {
        task.cancel()
        completionHandler(request)
      }
      func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
      ) {
        task.cancel()
        completionHandler(.useCredential, URLCredential(user: "u", password: "p", persistence: .none))
      }
    }
    let server = try LoopbackServer { request in
      request.target == "/moved" ? .redirect(307, to: "/there") : .status(401, [("WWW-Authenticate", "Basic realm=x")])
    }
    let session = URLSession(configuration: .ephemeral, delegate: Delegate(), delegateQueue: nil)
    defer { session.finishTasksAndInvalidate() }
    let error = await session.result(of: URLRequest(url: server.url(path), method: method)).error
    #expect(error?.urlError?.code == .cancelled, "\(String(describing: error))")
    #expect(server.requests.map(\.target) == [path])
  }

  #if canImport(FoundationNetworking)
    /// URLSession would send the request without an end.
    @Test(arguments: ["GET", "POST"]) func endsAnExchangeOfChallengesAndWrongCredentials(_ method: String) async throws
    {
      final class Delegate: NSObject, URLSessionTaskDelegate {
        func urlSession(
          _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
          completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) { completionHandler(.useCredential, URLCredential(user: "u", password: "p", persistence: .none)) }
      }
      let server = try LoopbackServer(script: .status(401, [("WWW-Authenticate", "Basic realm=x")]))
      let session = URLSession(configuration: .ephemeral, delegate: Delegate(), delegateQueue: nil)
      defer { session.finishTasksAndInvalidate() }
      let error = await session.result(of: URLRequest(url: server.url(), method: method), policy: .never).error
      #expect(error?.statusCode == 401)
      #expect(server.requests.count == 21)
    }
  #endif

  /// A session releases its delegate when it ends. Without it, a retry would be made without certificate pinning.
  @Test func asksTheDelegateOfASessionThatEndedDuringACall() async throws {
    final class Delegate: NSObject, URLSessionTaskDelegate {
      func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
      ) { completionHandler(nil) }
    }
    let server = try LoopbackServer { request in
      request.index == 0 ? .status(503) : request.target == "/" ? .redirect(302, to: "/there") : .ok("x")
    }
    let session = URLSession(configuration: .ephemeral, delegate: Delegate(), delegateQueue: nil)
    let policy = RetryPolicy(
      backoff: .constant(.milliseconds(100)), budget: .unlimited,
      shouldRetry: { _ in
        session.finishTasksAndInvalidate()
        return true
      })
    let response = try await session.networkResponse(for: URLRequest(url: server.url()), policy: policy)
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
