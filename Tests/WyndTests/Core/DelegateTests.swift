import Foundation
import Testing
import WyndLoopbackServer

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A delegate method with a wrong label or type is never called, and on Linux the compiler does not warn.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct DelegateTests {
  /// Every delegate method in the sources, and the test that fails if URLSession does not call it.
  static let proofs = [
    "Redirects.swift: willPerformHTTPRedirection": "callsTheRedirectHandler",
    "LinuxAttempt.swift: willPerformHTTPRedirection": "redirectsEachMethodAsRFC9110Says",
    "LinuxAttempt.swift: needNewBodyStream": "reportsADeadConnectionAtOnce",
    "LinuxAttempt.swift: didReceive challenge": "completesA401WithAnyChallenge",
    "LinuxTransfers.swift: didReceive response": "retriesUntilTheFirstByte",
    "LinuxTransfers.swift: didReceive data": "retriesUntilTheFirstByte",
    "LinuxTransfers.swift: didCompleteWithError": "retriesUntilTheFirstByte",
    "LinuxTransfers.swift: didSendBodyData": "progressStartsAgainOnARetry",
    "TransferDelegate.swift: didReceive response": "callsTheTransferDelegate",
    "TransferDelegate.swift: didReceive data": "callsTheTransferDelegate",
    "TransferDelegate.swift: didCompleteWithError": "callsTheTransferDelegate",
    "TransferDelegate.swift: willPerformHTTPRedirection": "callsTheTransferDelegate",
    "TransferDelegate.swift: didSendBodyData": "callsTheTransferDelegate",
    "TransferDelegate.swift: didReceive challenge": "sendsBodyAgainAfterAChallenge",
    // URLSession on Linux requests a body stream only to send it again.
    "TransferDelegate.swift: needNewBodyStream": "callsTheTransferDelegate",
  ]

  @Test func everyDelegateMethodHasATest() throws {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let sources = tests.appending(path: "../../Sources/Wynd").standardizedFileURL
    func swiftFiles(in folder: URL) throws -> [URL] {
      let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
      return files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
    }
    var found: Set<String> = []
    for file in try swiftFiles(in: sources) {
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
    let names = try swiftFiles(in: tests).map { try String(contentsOf: $0, encoding: .utf8) }.joined()
    for proof in Self.proofs.values { #expect(names.contains("func \(proof)("), "\(proof)") }
  }

  /// The one that works on Apple's platforms. There it is a task's delegate, here it has to be a session's.
  @Test func callsTheTransferDelegate() async throws {
    let server = try LoopbackServer(script: .ok("the answer"), .ok("the answer"))
    for isRefused in [false, true] {
      let (received, sentBytes) = (Box(Data()), Box<Int64>(0))
      var request = URLRequest(url: server.url())
      request.httpMethod = "PUT"
      request.httpBody = Data("body".utf8)
      request.setValue("K", forHTTPHeaderField: "X-Api-Key")
      let sent = request
      let outcome = Box<NetworkOutcome>()
      let transfer = StreamedBodies(
        stream: { InputStream(data: Data()) },
        onHead: { _ in if isRefused { throw NetworkError.responseTooLarge(limit: 3) } },
        onData: { received.value = (received.value ?? Data()) + $0 }, onSent: { sentBytes.value = $0 },
        makeTask: TransferDelegate.makeTask)
      let delegate = TransferDelegate(sent, transfer) { outcome.value = $0 }
      let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
      let task = session.dataTask(with: sent)
      let stream = Box<Bool>()
      delegate.urlSession(session, task: task, needNewBodyStream: { stream.value = $0 != nil })
      #expect(stream.value == true)
      // As the session's delegate it would handle its own redirects endlessly.
      let next = Box<URLRequest>()
      let elsewhere = try #require(URL(string: "https://example.com/"))
      let redirect = try #require(
        HTTPURLResponse(url: server.url(), statusCode: 307, httpVersion: nil, headerFields: nil))
      var proposed = sent
      proposed.url = elsewhere
      delegate.urlSession(
        .shared, task: task, willPerformHTTPRedirection: redirect, newRequest: proposed,
        completionHandler: { next.value = $0 })
      #expect(next.value?.url == elsewhere && next.value?.value(forHTTPHeaderField: "X-Api-Key") == nil)
      task.resume()
      await until { outcome.value != nil }
      let end = try #require(outcome.value)
      if isRefused {
        guard case .responseTooLarge(3)? = end.error as? NetworkError else { Issue.record("\(end)"); return }
      } else {
        #expect(
          received.value == Data("the answer".utf8) && sentBytes.value == 4 && end.error == nil
            && (end.response as? HTTPURLResponse)?.statusCode == 200)
      }
    }
  }

  /// The server rejected the first send, so a second one applies the POST only once.
  @Test func sendsBodyAgainAfterAChallenge() throws {
    let url = try #require(URL(string: "http://127.0.0.1/"))
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    let transfer = StreamedBodies(
      stream: { InputStream(data: Data()) }, onData: { _ in }, makeTask: TransferDelegate.makeTask)
    let task = URLSession.shared.dataTask(with: request)
    let refused = try #require(HTTPURLResponse(url: url, statusCode: 401, httpVersion: nil, headerFields: nil))
    final class Sender: NSObject, URLAuthenticationChallengeSender {
      func use(_: URLCredential, for _: URLAuthenticationChallenge) {}
      func continueWithoutCredential(for _: URLAuthenticationChallenge) {}
      func cancel(_: URLAuthenticationChallenge) {}
      func performDefaultHandling(for _: URLAuthenticationChallenge) {}
      func rejectProtectionSpaceAndContinue(with _: URLAuthenticationChallenge) {}
    }
    for isChallenged in [true, false] {
      let delegate = TransferDelegate(request, transfer) { _ in }
      let bodies = Counter()
      delegate.urlSession(.shared, task: task, needNewBodyStream: { if $0 != nil { bodies.add() } })
      let challenge = URLAuthenticationChallenge(
        protectionSpace: URLProtectionSpace(
          host: "127.0.0.1", port: 80, protocol: "http", realm: "x", authenticationMethod: "Basic"),
        proposedCredential: nil, previousFailureCount: 0, failureResponse: refused, error: nil, sender: Sender())
      let isLeft = Box(false)
      if isChallenged {
        delegate.urlSession(.shared, task: task, didReceive: challenge) { choice, _ in
          isLeft.value = choice == .performDefaultHandling
        }
      }
      for _ in 0..<2 {
        delegate.urlSession(.shared, task: task, needNewBodyStream: { if $0 != nil { bodies.add() } })
      }
      #expect(bodies.value == (isChallenged ? 2 : 1) && isLeft.value == isChallenged)
    }
  }

  /// The delegate of tasks on Apple's platforms.
  @Test func callsTheRedirectHandler() async throws {
    let other = try LoopbackServer(script: .ok("there"))
    let server = try LoopbackServer(script: .redirect(to: other.url("/b").absoluteString))
    let session = URLSession(configuration: .default)
    var request = URLRequest(url: server.url("/a"))
    request.setValue("Bearer T", forHTTPHeaderField: "Authorization")
    request.setValue("K", forHTTPHeaderField: "X-Api-Key")
    let sent = request
    let handler = RedirectHandler(sent)
    let data = await withCheckedContinuation { continuation in
      let task = session.dataTask(with: sent) { data, _, _ in continuation.resume(returning: data) }
      task.delegate = handler
      task.resume()
    }
    #expect(data == Data("there".utf8))
    #expect(handler.hasFollowed)
    #expect(other.requests.first?.value("Authorization") == nil)
    #expect(other.requests.first?.value("X-Api-Key") == nil)
  }

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
  @Test func challengeDoesNotLimitTheTimeOfTheResponse() async throws {
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

  /// A stream that was read to its end is released, and with it what its task held.
  @Test func releasesAStreamThatWasReadToItsEnd() async throws {
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
