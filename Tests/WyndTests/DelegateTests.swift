import Foundation
import LoopbackServer
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A delegate method with a wrong label or a missing `?` is never called, and on Linux nobody says so.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct DelegateTests {
  /// Every delegate method in the sources, and the test that fails if URLSession does not call it.
  static let proofs = [
    "LinuxAttempt.swift: willPerformHTTPRedirection": "methodAndBodyGoOnAsTheStandardSays",
    "LinuxAttempt.swift: needNewBodyStream": "aDeadConnectionIsReportedAtOnce",
    "LinuxAttempt.swift: didReceive challenge": "a401Completes",
    "LinuxTransfers.swift: didReceive response": "theStartIsRetriedLikeAnyCall",
    "LinuxTransfers.swift: didReceive data": "theStartIsRetriedLikeAnyCall",
    "LinuxTransfers.swift: didCompleteWithError": "theStartIsRetriedLikeAnyCall",
    "LinuxTransfers.swift: didSendBodyData": "progressGoesUpAndBackWhereItBeginsAnew",
  ]

  @Test func everyMethodHasATestThatItIsCalled() throws {
    let tests = URL(filePath: #filePath).deletingLastPathComponent()
    let sources = tests.appending(path: "../../Sources/Wynd").standardizedFileURL
    var found: Set<String> = []
    let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    // Those of Apple/ are called by the model of its URLSession.
    for case let file as URL in files where file.pathExtension == "swift" && !file.path.contains("/Core/Apple/") {
      let text = try String(contentsOf: file, encoding: .utf8)
      for piece in text.components(separatedBy: "func urlSession(").dropFirst() {
        let signature = piece.components(separatedBy: ") {")[0]
        let label = [
          "willPerformHTTPRedirection", "needNewBodyStream", "didReceive challenge", "didReceive response",
          "didReceive data", "didCompleteWithError", "didSendBodyData",
        ].first { signature.contains($0) }
        found.insert("\(file.lastPathComponent): \(label ?? signature)")
      }
    }
    #expect(found == Set(Self.proofs.keys))
    let names = try FileManager.default.contentsOfDirectory(at: tests, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "swift" }.map { try String(contentsOf: $0, encoding: .utf8) }.joined()
    for proof in Self.proofs.values { #expect(names.contains("func \(proof)("), "\(proof)") }
  }

  @Test func theSessionsDelegateIsAskedForCredentials() async throws {
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

  /// The limit for the delegate's answer is not one for the response.
  @Test func aResponseMayTakeLongerThanTheTimeoutAfterAChallenge() async throws {
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

  @Test func aCredentialThatIsNoneDoesNotTrap() async throws {
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

  /// A stream that was read to its end is released, and with it what its task held.
  @Test func whatWasReadToItsEndIsGone() async throws {
    let server = try LoopbackServer(script: .reset, .ok("all of it"))
    weak var stream: ByteStream?
    do {
      let bytes = try await NetworkBytesTests().bytes(server)
      stream = bytes.stream
      for try await _ in bytes {}
      #expect(stream != nil)
    }
    await until { [weak stream] in stream == nil }
  }
}
