import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A transfer uses the caller's session: its configuration, its delegate, its queue and its connections.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct TransferSessionTests {
  static func session(
    _ delegate: RecordingDelegate? = nil, _ change: (URLSessionConfiguration) -> Void = { _ in }
  ) -> URLSession {
    let queue = OperationQueue.serial()
    let configuration = URLSessionConfiguration.ephemeral
    change(configuration)
    return URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
  }

  /// Returns the status of the response.
  static func run(_ kind: CallKind, _ session: URLSession, _ request: some NetworkRequestConvertible) async throws
    -> Int
  {
    let body = RequestBody.stream { InputStream(data: Data("body".utf8)) }
    return try await kind.response(to: request, on: session, policy: .quick(), uploading: body).statusCode
  }

  @Test(arguments: CallKind.transfers) func callsRedirectDelegateOnItsQueue(_ kind: CallKind) async throws {
    let server = try LoopbackServer { $0.target == "/there" ? .ok() : .redirect(307, to: "/there") }
    let delegate = RecordingDelegate()
    let session = Self.session(delegate)
    #expect(try await Self.run(kind, session, server.url()) == 200)
    #expect(delegate.calls.value == ["redirect"] && delegate.sessions.value == [ObjectIdentifier(session)])
    #expect(server.requests.map(\.target) == ["/", "/there"])
  }

  @Test(arguments: CallKind.transfers) func doesNotFollowARedirectRefusedByTheDelegate(_ kind: CallKind) async throws {
    let server = try LoopbackServer { $0.target == "/there" ? .ok() : .redirect(307, to: "/there") }
    let delegate = RecordingDelegate(redirect: { _, _, _ in nil })
    let session = Self.session(delegate)
    if kind == .download {
      // A 3xx brings no file.
      await #expect(throws: NetworkError.self) { try await Self.run(kind, session, server.url()) }
    } else {
      #expect(try await Self.run(kind, session, server.url()) == 307)
    }
    #expect(delegate.calls.value == ["redirect"] && server.requests.map(\.target) == ["/"])
  }

  @Test(arguments: [CallKind.download, .stream]) func callsChallengeDelegateOnItsQueue(_ kind: CallKind) async throws {
    let server = try LoopbackServer { request in
      request.value("Authorization") == nil
        ? .challenge() : .ok("the file")
    }
    let delegate = RecordingDelegate()
    let session = Self.session(delegate)
    #expect(try await Self.run(kind, session, server.url()) == 200)
    #expect(delegate.calls.value == ["challenge"] && delegate.sessions.value == [ObjectIdentifier(session)])
    #expect(server.requests.last?.value("Authorization") == "Basic dTpw")
  }

  /// The stream that was read would be sent empty, and the upload would look like a success.
  @Test(arguments: [nil, 3] as [Int64?]) func createsABodyStreamAgainAfterAChallenge(_ length: Int64?) async throws {
    let server = try LoopbackServer { request in
      request.value("Authorization") == nil
        ? .challenge(body: "who?") : .ok("thanks")
    }
    let session = Self.session(RecordingDelegate())
    let request = URLRequest(url: server.url(), method: "PUT")
    let made = Counter()
    let body = RequestBody.stream(length: length) {
      made.add()
      return InputStream(data: Data("abc".utf8))
    }
    let response = try await session.performNetworkUpload(request, from: body, policy: .never)
    #expect(response.data.text == "thanks")
    #expect(made.value == 2 && server.requests.map(\.body) == [Array("abc".utf8), Array("abc".utf8)])
    // Nor does the body of the 401 come first, in any of these.
    let bytes = try await session.networkBytes(for: server.url(), policy: .never)
    var text = ""
    for try await line in bytes.lines { text += line }
    #expect(text == "thanks")
    let folder = try Folder()
    _ = try await session.performNetworkDownload(server.url(), to: folder.file(), policy: .never)
    #expect(try Data(contentsOf: folder.file()).text == "thanks")
    #if canImport(FoundationNetworking)
      // The request's own stream can be read once.
      let own = Self.request(to: server, streaming: "abc")
      await #expect(throws: NetworkError.self) { _ = try await session.networkResponse(for: own, policy: .never) }
      #expect(!server.requests.dropFirst(6).contains { $0.value("Authorization") != nil && $0.isComplete })
    #endif
  }

  /// The body of the 401 is not part of the response that follows, an error here.
  @Test(arguments: CallKind.transfers) func errorAfterAChallengeHasOnlyItsOwnBody(_ kind: CallKind) async throws {
    let server = try LoopbackServer { request in
      request.value("Authorization") == nil
        ? .challenge(body: "who?") : .status(403, body: "no")
    }
    let session = Self.session(RecordingDelegate())
    let error = await #expect(throws: NetworkError.self) { try await Self.run(kind, session, server.url()) }
    #expect(error?.statusCode == 403 && error?.data == Data("no".utf8))
  }

  /// RFC 9110 §15.2: a client must be able to receive interim responses that it did not ask for.
  @Test(arguments: CallKind.transfers) func ignoresInterimResponses(_ kind: CallKind) async throws {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
    let server = try LoopbackServer { _ in
      ScriptedResponse([
        .send(Array(hints.utf8) + ScriptedResponse.head(200, [("Content-Length", "2")]) + Array("ok".utf8))
      ])
    }
    let session = Self.session(RecordingDelegate())
    #expect(try await Self.run(kind, session, server.url()) == 200)
  }

  /// A request whose body is a stream of this text.
  private static func request(to server: LoopbackServer, streaming text: String, length: Int? = nil) -> URLRequest {
    var request = URLRequest(url: server.url(), method: "POST")
    request.setValue(length.map { "\($0)" }, forHTTPHeaderField: "Content-Length")
    request.httpBodyStream = InputStream(data: Data(text.utf8))
    return request
  }

  #if canImport(FoundationNetworking)
    /// The bytes that are left would have the right length.
    @Test func doesNotSendTheRestOfAStreamAfterAChallenge() async throws {
      let server = try LoopbackServer { request in
        request.value("Authorization") == nil ? .challenge() : .ok()
      }
      let session = Self.session(RecordingDelegate())
      let request = Self.request(to: server, streaming: "abcdef", length: 3)
      await #expect(throws: NetworkError.self) { _ = try await session.networkResponse(for: request, policy: .never) }
      #expect(server.requests.filter(\.isComplete).map(\.body) == [Array("abc".utf8)])
    }

    /// Has no bytes for a moment, before its second byte.
    private final class Hesitating: InputStream {
      private var left = Array("ab".utf8)
      private var hesitates = true
      override func open() {}
      override func close() {}
      override var streamStatus: Stream.Status { .notOpen }
      override var hasBytesAvailable: Bool {
        if left.count == 1, hesitates { hesitates = false } else { return !left.isEmpty }
        return false
      }
      override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength _: Int) -> Int {
        guard let byte = left.first else { return 0 }
        buffer.pointee = byte
        left.removeFirst()
        return 1
      }
    }

    @Test func sendsAStreamThatPausesCompletely() async throws {
      let server = try LoopbackServer { _ in .ok() }
      let session = Self.session(RecordingDelegate())
      let body = RequestBody.stream { Hesitating(data: Data()) }
      _ = try await session.performNetworkUpload(server.url(), from: body, policy: .never)
      #expect(server.requests.map(\.body) == [Array("ab".utf8)])
    }

    /// It would be sent without its bytes, as a complete request.
    @Test func doesNotSendAConsumedStream() async throws {
      let server = try LoopbackServer { _ in .ok() }
      let session = Self.session(RecordingDelegate())
      let request = Self.request(to: server, streaming: "abc")
      _ = try await session.networkResponse(for: request, policy: .never)
      await #expect(throws: NetworkError.self) { _ = try await session.networkResponse(for: request, policy: .never) }
      #expect(server.requests.filter(\.isComplete).map(\.body) == [Array("abc".utf8)])
    }
  #endif

  /// Nothing is left of a transfer that the session would wait for.
  @Test(arguments: CallKind.transfers) func finishedSessionIsInvalidatedAfterATransfer(_ kind: CallKind) async throws {
    let server = try LoopbackServer { _ in .ok("the file") }
    let delegate = RecordingDelegate()
    let session = Self.session(delegate)
    #expect(try await Self.run(kind, session, server.url()) == 200)
    session.finishTasksAndInvalidate()
    await delegate.invalidations.reaches(1)
  }

  /// A new connection for each transfer would cost a handshake each.
  @Test func reusesConnectionsOfTheSession() async throws {
    let server = try LoopbackServer { _ in .ok("the file") }
    let session = Self.session { $0.httpMaximumConnectionsPerHost = 1 }
    for kind in CallKind.transfers + CallKind.transfers {
      #expect(try await Self.run(kind, session, server.url()) == 200)
    }
    #expect(Set(server.requests.map(\.connection)).count == 1 && server.requests.count == 6)
    let other = Self.session()
    _ = try await Self.run(.stream, other, server.url())
    #expect(server.requests.last?.connection == 1)
  }

  @Test(arguments: [CallKind.download, .upload]) func callsHandlersOnTheDelegateQueue(_ kind: CallKind)
    async throws
  {
    let server = try LoopbackServer { $0.index % 2 == 0 ? .status(503) : .ok("the file") }
    let session = Self.session()
    let folder = try Folder()
    let request = server.url()
    let found = await handlerValue { end in
      if kind == .download {
        session.performNetworkDownload(
          request, to: folder.file(), policy: .quick(), completionHandler: { _ in end(OperationQueue.current) })
      } else {
        session.performNetworkUpload(
          request, from: .text("x"), policy: .quick(), completionHandler: { _ in end(OperationQueue.current) })
      }
    }
    #expect(found === session.delegateQueue && server.requests.count == 2)
  }
}
