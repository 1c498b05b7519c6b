import Foundation
import Testing
import WyndLoopbackServer

@testable import AppleURLSession
@testable import Wynd

/// Transfers on a URLSession that serves from its cache, takes a truncated body for whole, and counts suspensions.
@Suite(.timeLimit(.minutes(1)), .fewAtOnce) struct AppleTransferTests {
  // MARK: Parts and the cache

  /// URLCache serves one Range from the stored response to another (radar 20001985).
  @Test func doesNotResumeADownloadFromARangeInTheURLCache() async throws {
    let bytes = someBytes(300_000)
    let server = try LoopbackServer { request in
      let start = request.value("Range").flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
      let end = min(start + 100_000, bytes.count)
      let head = ScriptedResponse.head(
        206,
        [
          ("ETag", "\"1\""), ("Cache-Control", "max-age=3600"), ("Accept-Ranges", "bytes"),
          ("Content-Range", "bytes \(start)-\(end - 1)/\(bytes.count)"), ("Content-Length", "\(end - start)"),
        ])
      return ScriptedResponse([.send(head + Array(bytes[start..<end]))])
    }
    let folder = try Folder()
    let session = URLSession(configuration: .default)
    try await session.performNetworkDownload(server.url(), to: folder.file(), policy: .quick())
    #expect(try Data(contentsOf: folder.file()) == Data(bytes))
    #expect(server.requests.count == 3)
  }

  // MARK: A chunked body without its last chunk is a success there (expo#49324)

  private static func chunked(_ bytes: ArraySlice<UInt8>, _ headers: [(String, String)], isCut: Bool)
    -> ScriptedResponse
  {
    let size = String(bytes.count, radix: 16)
    var steps = [
      ScriptedResponse.Step.send(ScriptedResponse.head(200, headers + [("Transfer-Encoding", "chunked")])),
      ScriptedResponse.text("\(size)\r\n"),
      .send(Array(bytes)), ScriptedResponse.text("\r\n"),
    ]
    steps += isCut ? [.close] : [ScriptedResponse.text("0\r\n\r\n")]
    return ScriptedResponse(steps)
  }

  /// If the server supports ranges, a request for the missing end shows that the body was cut off.
  @Test func completesADownloadOfUnknownLength() async throws {
    let bytes = someBytes(200_000)
    let headers = [("ETag", "\"1\""), ("Accept-Ranges", "bytes")]
    let server = try LoopbackServer { request in
      guard let start = request.value("Range").flatMap({ Int($0.dropFirst(6).dropLast()) }) else {
        return Self.chunked(bytes[..<100_000], headers, isCut: true)
      }
      if start == bytes.count { return .status(416, [("Content-Range", "bytes */\(bytes.count)")]) }
      let range = ("Content-Range", "bytes \(start)-\(bytes.count - 1)/\(bytes.count)")
      return ScriptedResponse([
        .send(
          ScriptedResponse.head(206, headers + [range, ("Content-Length", "\(bytes.count - start)")])
            + Array(bytes[start...]))
      ])
    }
    let folder = try Folder()
    try await URLSession(configuration: .ephemeral).performNetworkDownload(
      server.url(), to: folder.file(), policy: .quick())
    #expect(try Data(contentsOf: folder.file()) == Data(bytes))
  }

  @Test func verifiesTheEndOfADownloadOfUnknownLength() async throws {
    let bytes = someBytes(100_000)
    let headers = [("ETag", "\"1\""), ("Accept-Ranges", "bytes")]
    let server = try LoopbackServer { request in
      request.value("Range") == nil
        ? Self.chunked(bytes[...], headers, isCut: false)
        : .status(416, [("Content-Range", "bytes */\(bytes.count)")])
    }
    let folder = try Folder()
    try await URLSession(configuration: .ephemeral).performNetworkDownload(
      server.url(), to: folder.file(), policy: .quick())
    #expect(try Data(contentsOf: folder.file()) == Data(bytes))
    #expect(server.values(of: "Range") == [nil, "bytes=100000-"])
  }

  // MARK: Bodies that are sent again

  /// The first send was refused, so it was not applied: URLSession needs the body once more. Both together are longer
  /// than the length of one.
  @Test(arguments: [nil, 4] as [Int64?]) func sendsABodyStreamAgainAfterAChallenge(_ length: Int64?) async throws {
    let server = try LoopbackServer {
      $0.value("Authorization") == nil ? .challenge() : .ok("welcome")
    }
    let delegate = AppleDelegateTests.Delegate()
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    let request = URLRequest(url: server.url(), method: "POST")
    let body = RequestBody.stream(length: length) { InputStream(data: Data("body".utf8)) }
    #expect(try await session.performNetworkUpload(request, from: body).response.statusCode == 200)
    #expect(server.requests.map(\.text) == ["body", "body"])
  }

  /// Provides a new body whenever URLSession asks for one.
  private final class Provider: NSObject, URLSessionTaskDelegate {
    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) { completionHandler(InputStream(data: Data("body".utf8))) }
  }

  /// URLSession has the first `httpBodyStream`, so the first one that it asks for is that of a repetition. It asks for the
  /// first one of an upload.
  @Test func providesNoBodyForARepetitionThatIsNotSafe() throws {
    let url = try #require(URL(string: "http://127.0.0.1:9/"))
    let rows: [(method: String, isUpload: Bool, expected: [Bool])] = [
      ("POST", false, [false, false]), ("PUT", false, [true, true]), ("POST", true, [true, false]),
      ("PUT", true, [true, true]),
    ]
    for row in rows {
      var request = URLRequest(url: url, method: row.method)
      if !row.isUpload { request.httpBodyStream = InputStream(data: Data("body".utf8)) }
      var outgoing = NetworkOutgoing(request: request)
      if row.isUpload {
        outgoing.bodies = NetworkBodies(stream: { InputStream(data: Data("body".utf8)) }, onData: { _ in })
      }
      let session = URLSession(configuration: .ephemeral)
      let delegate = AppleTaskDelegate(outgoing, for: session, Provider(), NetworkAttemptCompletion())
      let task = session.dataTask(with: url)
      let provided = Box<[Bool]>([])
      for _ in row.expected {
        delegate.urlSession(session, task: task) { body in provided.append(body != nil) }
      }
      #expect(provided.value == row.expected, "\(row)")
      // After a redirect, the request has not been applied where it is sent next.
      let redirect = try HTTPURLResponse.made(307, url: url)
      delegate.urlSession(
        session, task: task, willPerformHTTPRedirection: redirect, newRequest: request, completionHandler: { _ in })
      delegate.urlSession(session, task: task) { body in provided.append(body != nil) }
      #expect(provided.value?.last == true, "\(row)")
    }
  }

  /// The server would read the rest as the next request on the connection.
  @Test(arguments: [true, false], [3, 10, nil] as [Int?])
  func aBodyStreamLongerThanItsLengthFails(_ isClient: Bool, _ length: Int?) async throws {
    let server = try LoopbackServer { _ in .ok("the response") }
    let session = URLSession(configuration: .ephemeral)
    let client = NetworkClient(on: session, middleware: [.around { request, next in try await next(request) }])
    let performer: any NetworkPerformer = isClient ? client : session
    var request = URLRequest(url: server.url(), method: "POST")
    request.httpBodyStream = InputStream(data: Data("0123456789".utf8))
    if let length { request.setValue("\(length)", forHTTPHeaderField: "Content-Length") }
    if length == 3 {
      let error = await #expect(throws: NetworkError.self) { try await performer.performNetworkRequest(request) }
      #expect(error?.urlError?.code == .dataLengthExceedsMaximum && error?.attempts.isEmpty == true)
    } else {
      #expect(try await performer.performNetworkRequest(request) == Data("the response".utf8))
      #expect(server.requests.map(\.text) == ["0123456789"])
    }
  }

  // MARK: Queues

  @Test(arguments: CallKind.ofASession) func acceptsAConcurrentDelegateQueue(_ kind: CallKind) async throws {
    let bytes = someBytes(3_000_000)
    let server = try LoopbackServer { _ in .ok(bytes) }
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 8
    let session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
    if kind == .stream {
      var received: [UInt8] = []
      for try await data in try await session.networkBytes(for: server.url()) { received += data }
      #expect(received == bytes)
    } else {
      #expect(try await TransferSessionTests.run(kind, session, URLRequest(url: server.url())) == 200)
    }
  }

  /// Nothing is lost if the calls of one task overlap. Their order is then that of the queue, so all bytes are the same.
  @Test(arguments: CallKind.allCases) func bodyArrivesWholeIfCallsOverlap(_ kind: CallKind) async throws {
    let bytes = [UInt8](repeating: 7, count: 8_000_000)
    let server = try LoopbackServer { _ in .ok(bytes) }
    let configuration = URLSessionConfiguration.ephemeral
    configuration.answers.insert(.callsOverlap)
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 8
    let session = URLSession(configuration: configuration, delegate: nil, delegateQueue: queue)
    for _ in 1...5 {
      let body = RequestBody.data(Data(bytes), contentType: nil)
      let request = URLRequest(url: server.url(), method: kind == .upload ? "PUT" : "GET")
      let response = try await kind.response(to: request, on: session, uploading: body)
      #expect(response.data == Data(bytes))
    }
  }

  // MARK: Back pressure

  /// Every suspension has its resumption and no more: one too many would cancel the next suspension.
  @Test(arguments: [nil, .seconds(600)] as [Duration?])
  func slowReaderSuspendsTheTaskEachTime(_ attemptTimeout: Duration?) async throws {
    let bytes = someBytes(24_000_000)
    let server = try LoopbackServer { _ in .ok(bytes) }
    let tasks = TaskDelegate()
    let session = URLSession(configuration: .ephemeral, delegate: tasks, delegateQueue: nil)
    let policy = RetryPolicy(attemptTimeout: attemptTimeout)
    let stream = try await session.networkBytes(for: server.url(), policy: policy)
    let task = tasks.latest
    var reader = stream.makeAsyncIterator()
    var received: [UInt8] = []
    for _ in 0..<3 {
      await until { [.suspended, .completed].contains(task.value?.state) }
      // The limit of the buffer, and what was on its way.
      let arrived = Int(task.value?.countOfBytesReceived ?? 0)
      #expect(task.value?.state == .suspended && arrived - received.count < 2_000_000)
      // As fast as it comes for a while, which suspends nothing.
      let pause = received.count + 4_000_000
      while received.count < pause, let data = try await reader.next() { received += data }
    }
    while let data = try await reader.next() { received += data }
    #expect(received == bytes)
  }

  final class TaskDelegate: NSObject, URLSessionTaskDelegate, Sendable {
    let latest = Box<URLSessionTask>()
    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) { latest.value = task }
  }
}
