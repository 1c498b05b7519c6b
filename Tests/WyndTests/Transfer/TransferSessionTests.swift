import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A transfer uses the caller's session: its configuration, its delegate, its queue and its connections.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct TransferSessionTests {
  static let policy = RetryPolicy(backoff: .immediate, budget: .unlimited)

  final class Delegate: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
    let redirects = Counter()
    let challenges = Counter()
    let queues = Box<[OperationQueue?]>([])
    let follows: Bool
    let isInvalid = Counter()
    init(follows: Bool = true) { self.follows = follows }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { isInvalid.add() }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      redirects.add()
      queues.update { $0.append(OperationQueue.current) }
      completionHandler(follows ? request : nil)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      challenges.add()
      queues.update { $0.append(OperationQueue.current) }
      completionHandler(.useCredential, URLCredential(user: "u", password: "p", persistence: .none))
    }
  }

  static func session(
    _ delegate: Delegate? = nil, _ change: (URLSessionConfiguration) -> Void = { _ in }
  ) -> (URLSession, OperationQueue) {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let configuration = URLSessionConfiguration.ephemeral
    change(configuration)
    return (URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue), queue)
  }

  static let kinds = ["download", "upload", "stream"]

  static func run(_ kind: String, _ session: URLSession, _ url: URL) async throws -> Int {
    try await run(kind, session, URLRequest(url: url))
  }

  /// Returns the status of the response.
  static func run(_ kind: String, _ session: URLSession, _ request: URLRequest) async throws -> Int {
    switch kind {
    case "download":
      let folder = try Folder()
      return try await session.performNetworkDownload(request, to: folder.file(), policy: policy).response.statusCode
    case "upload":
      let body = RequestBody.stream { InputStream(data: Data("body".utf8)) }
      return try await session.performNetworkUpload(request, from: body, policy: policy).response.statusCode
    default:
      let bytes = try await session.networkBytes(for: request, policy: policy)
      for try await _ in bytes {}
      return bytes.response.statusCode
    }
  }

  @Test(arguments: kinds) func callsRedirectDelegateOnItsQueue(_ kind: String) async throws {
    let server = try LoopbackServer { $0.target == "/there" ? .ok() : .redirect(307, to: "/there") }
    let delegate = Delegate()
    let (session, queue) = Self.session(delegate)
    #expect(try await Self.run(kind, session, server.url()) == 200)
    #expect(delegate.redirects.value == 1 && delegate.queues.value == [queue])
    #expect(server.requests.map(\.target) == ["/", "/there"])
  }

  @Test(arguments: kinds) func doesNotFollowARedirectRefusedByTheDelegate(_ kind: String) async throws {
    let server = try LoopbackServer { $0.target == "/there" ? .ok() : .redirect(307, to: "/there") }
    let delegate = Delegate(follows: false)
    let (session, _) = Self.session(delegate)
    if kind == "download" {
      // A 3xx brings no file.
      await #expect(throws: NetworkError.self) { try await Self.run(kind, session, server.url()) }
    } else {
      #expect(try await Self.run(kind, session, server.url()) == 307)
    }
    #expect(delegate.redirects.value == 1 && server.requests.map(\.target) == ["/"])
  }

  @Test(arguments: ["download", "stream"]) func callsChallengeDelegateOnItsQueue(_ kind: String) async throws {
    let server = try LoopbackServer { request in
      request.value("Authorization") == nil
        ? .status(401, [("WWW-Authenticate", "Basic realm=\"x\"")]) : .ok("the file")
    }
    let delegate = Delegate()
    let (session, queue) = Self.session(delegate)
    #expect(try await Self.run(kind, session, server.url()) == 200)
    #expect(delegate.challenges.value == 1 && delegate.queues.value == [queue])
    #expect(server.requests.last?.value("Authorization") == "Basic dTpw")
  }

  /// The stream that was read would be sent empty, and the upload would look like a success.
  @Test(arguments: [nil, 3] as [Int64?]) func createsABodyStreamAgainAfterAChallenge(_ length: Int64?) async throws {
    let server = try LoopbackServer { request in
      request.value("Authorization") == nil
        ? .status(401, [("WWW-Authenticate", "Basic realm=\"x\"")], body: "who?") : .ok("thanks")
    }
    let (session, _) = Self.session(Delegate())
    var request = URLRequest(url: server.url())
    request.httpMethod = "PUT"
    let made = Counter()
    let body = RequestBody.stream(length: length) {
      made.add()
      return InputStream(data: Data("abc".utf8))
    }
    let response = try await session.performNetworkUpload(request, from: body, policy: .never)
    #expect(String(decoding: response.data, as: UTF8.self) == "thanks")
    #expect(made.value == 2 && server.requests.map(\.body) == [Array("abc".utf8), Array("abc".utf8)])
    // Nor does the body of the 401 come first, in any of these.
    let bytes = try await session.networkBytes(for: URLRequest(url: server.url()), policy: .never)
    var text = ""
    for try await line in bytes.lines { text += line }
    #expect(text == "thanks")
    let folder = try Folder()
    _ = try await session.performNetworkDownload(URLRequest(url: server.url()), to: folder.file(), policy: .never)
    #expect(try String(decoding: Data(contentsOf: folder.file()), as: UTF8.self) == "thanks")
    #if canImport(FoundationNetworking)
      // The request's own stream can be read once.
      let own = Self.request(to: server, streaming: "abc")
      await #expect(throws: NetworkError.self) { _ = try await session.networkResponse(for: own, policy: .never) }
      #expect(!server.requests.dropFirst(6).contains { $0.value("Authorization") != nil && $0.isComplete })
    #endif
  }

  /// The body of the 401 is not part of the response that follows, an error here.
  @Test(arguments: kinds) func errorAfterAChallengeHasOnlyItsOwnBody(_ kind: String) async throws {
    let server = try LoopbackServer { request in
      request.value("Authorization") == nil
        ? .status(401, [("WWW-Authenticate", "Basic realm=\"x\"")], body: "who?") : .status(403, body: "no")
    }
    let (session, _) = Self.session(Delegate())
    let error = await #expect(throws: NetworkError.self) { try await Self.run(kind, session, server.url()) }
    #expect(error?.statusCode == 403 && error?.data == Data("no".utf8))
  }

  /// RFC 9110 §15.2: a client must be able to receive interim responses that it did not ask for.
  @Test(arguments: kinds) func ignoresInterimResponses(_ kind: String) async throws {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
    let server = try LoopbackServer { _ in
      ScriptedResponse([
        .send(Array(hints.utf8) + ScriptedResponse.head(200, [("Content-Length", "2")]) + Array("ok".utf8))
      ])
    }
    let (session, _) = Self.session(Delegate())
    #expect(try await Self.run(kind, session, server.url()) == 200)
  }

  /// A request whose body is a stream of this text.
  private static func request(to server: LoopbackServer, streaming text: String, length: Int? = nil) -> URLRequest {
    var request = URLRequest(url: server.url())
    request.httpMethod = "POST"
    request.setValue(length.map { "\($0)" }, forHTTPHeaderField: "Content-Length")
    request.httpBodyStream = InputStream(data: Data(text.utf8))
    return request
  }

  #if canImport(FoundationNetworking)
    /// The bytes that are left would have the right length.
    @Test func doesNotSendTheRestOfAStreamAfterAChallenge() async throws {
      let server = try LoopbackServer { request in
        request.value("Authorization") == nil ? .status(401, [("WWW-Authenticate", "Basic realm=\"x\"")]) : .ok()
      }
      let (session, _) = Self.session(Delegate())
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
      let (session, _) = Self.session(Delegate())
      let body = RequestBody.stream { Hesitating(data: Data()) }
      _ = try await session.performNetworkUpload(URLRequest(url: server.url()), from: body, policy: .never)
      #expect(server.requests.map(\.body) == [Array("ab".utf8)])
    }

    /// It would be sent without its bytes, as a complete request.
    @Test func doesNotSendAConsumedStream() async throws {
      let server = try LoopbackServer { _ in .ok() }
      let (session, _) = Self.session(Delegate())
      let request = Self.request(to: server, streaming: "abc")
      _ = try await session.networkResponse(for: request, policy: .never)
      await #expect(throws: NetworkError.self) { _ = try await session.networkResponse(for: request, policy: .never) }
      #expect(server.requests.filter(\.isComplete).map(\.body) == [Array("abc".utf8)])
    }
  #endif

  /// Nothing is left of a transfer that the session would wait for.
  @Test(arguments: kinds) func finishedSessionIsInvalidatedAfterATransfer(_ kind: String) async throws {
    let server = try LoopbackServer { _ in .ok("the file") }
    let delegate = Delegate()
    let (session, _) = Self.session(delegate)
    #expect(try await Self.run(kind, session, server.url()) == 200)
    session.finishTasksAndInvalidate()
    await delegate.isInvalid.reaches(1)
  }

  /// A new connection for each transfer would cost a handshake each.
  @Test func reusesConnectionsOfTheSession() async throws {
    let server = try LoopbackServer { _ in .ok("the file") }
    let (session, _) = Self.session { $0.httpMaximumConnectionsPerHost = 1 }
    for kind in Self.kinds + Self.kinds { #expect(try await Self.run(kind, session, server.url()) == 200) }
    #expect(Set(server.requests.map(\.connection)).count == 1 && server.requests.count == 6)
    let (other, _) = Self.session()
    _ = try await Self.run("stream", other, server.url())
    #expect(server.requests.last?.connection == 1)
  }

  @Test(arguments: ["download", "upload"]) func callsHandlersOnTheDelegateQueue(_ kind: String)
    async throws
  {
    let server = try LoopbackServer { $0.index % 2 == 0 ? .status(503) : .ok("the file") }
    let (session, queue) = Self.session()
    let folder = try Folder()
    let found = Box<OperationQueue>()
    let end = Gate()
    let request = URLRequest(url: server.url())
    if kind == "download" {
      session.performNetworkDownload(
        request, to: folder.file(), policy: Self.policy,
        completionHandler: { _ in
          found.value = OperationQueue.current
          end.open()
        })
    } else {
      session.performNetworkUpload(
        request, from: .data(Data("x".utf8)), policy: Self.policy,
        completionHandler: { _ in
          found.value = OperationQueue.current
          end.open()
        })
    }
    await end.wait()
    #expect(found.value === queue && server.requests.count == 2)
  }
}
