import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct UploadTests {
  let session = URLSession(configuration: .ephemeral)
  static let bytes = someBytes(1_000_000)

  func upload(
    _ url: URL, _ method: String = "PUT", from body: RequestBody, _ fields: [String: String] = [:],
    _ onProgress: (@Sendable (TransferProgress) -> Void)? = nil, policy: RetryPolicy = .quick()
  ) async -> Result<NetworkResponse<Data>, NetworkError> {
    var request = URLRequest(url: url, method: method)
    for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
    do throws(NetworkError) {
      return .success(
        try await session.performNetworkUpload(request, from: body, policy: policy, onProgress: onProgress))
    } catch {
      return .failure(error)
    }
  }

  /// The three sources, with the folder that holds the file of one.
  static func bodies() throws -> (Folder, [(String, RequestBody)]) {
    let folder = try Folder()
    try Data(bytes).write(to: folder.file())
    let data = Data(bytes)
    return (
      folder,
      [
        ("data", .data(data)), ("file", .file(folder.file())),
        ("stream", .stream { InputStream(data: data) }),
        ("stream of known length", .stream(length: 1_000_000) { InputStream(data: data) }),
      ]
    )
  }

  /// A slow progress closure has returned when the call ends, and is not called again.
  @Test func callEndsAfterItsLastReport() async throws {
    let server = try LoopbackServer(script: .ok("x"))
    let (started, ended) = (Counter(), Counter())
    for round in 1...5 {
      _ = await upload(server.url(), from: .data(Data(Self.bytes))) { _ in
        started.add()
        Thread.sleep(forTimeInterval: 0.05)
        ended.add()
      }
      #expect(ended.value >= round && started.value == ended.value)
    }
  }

  /// What the app has in its hand, with each form.
  @Test func takesAFileAndBytesAsTheyAre() async throws {
    let folder = try Folder()
    let (file, data) = (folder.file(), Data("a film".utf8))
    try data.write(to: file)
    let server = try LoopbackServer(script: .ok("x"))
    let request = server.url("/up")
    let log = Counter()
    _ = try await session.performNetworkUpload(request, from: file) { _ in log.add() }
    _ = try await session.performNetworkUpload(request, from: data) { _ in log.add() }
    let results: [Result<NetworkResponse<Data>, NetworkError>] = [
      await handlerValue {
        session.performNetworkUpload(request, from: file, onProgress: { _ in log.add() }, completionHandler: $0)
      },
      await handlerValue {
        session.performNetworkUpload(request, from: data, onProgress: { _ in log.add() }, completionHandler: $0)
      },
    ]
    #expect(results.allSatisfy { $0.error == nil } && log.value >= 4)
    #expect(server.requests.map(\.text) == Array(repeating: "a film", count: 4))
    #expect(server.requests.allSatisfy { $0.method == "PUT" && $0.value("Content-Type") == "application/octet-stream" })
    let never = RetryPolicy.never
    let busy = try LoopbackServer(script: .status(503))
    #expect((try? await session.performNetworkUpload(busy.url(), from: file, policy: never)) == nil)
    #expect((try? await session.performNetworkUpload(busy.url(), from: data, policy: never)) == nil)
    #expect(busy.requests.count == 2)
  }

  @Test func sendsEachKindOfBodyCompletelyOnEveryRetry() async throws {
    let (folder, bodies) = try Self.bodies()
    for (name, body) in bodies {
      let server = try LoopbackServer(script: .status(503), .reset, .status(201, [("Location", "/1")], body: "thanks"))
      let response = try await upload(server.url("/up"), from: body).get()
      #expect(response.data == Data("thanks".utf8) && response.response.value(forHTTPHeaderField: "Location") == "/1")
      // URLSession itself repeats a PUT there, when a connection that it kept turns out to be dead (QA1941).
      #expect(response.attempts.count == (isOnApplePlatforms ? 2 : 3))
      // libcurl begins a send of its own on a dead connection, which is ended before its body.
      let whole = server.requests.filter(\.isComplete)
      #expect(whole.count == 3, "\(name)")
      #expect(whole.allSatisfy { $0.body == Self.bytes && $0.method == "PUT" }, "\(name)")
      let length = name == "stream" ? nil : "1000000"
      #expect(server.requests.allSatisfy { $0.value("Content-Length") == length }, "\(name)")
      #expect(server.requests.allSatisfy { ($0.value("Transfer-Encoding") == nil) == (length != nil) }, "\(name)")
    }
    #expect(folder.names == ["file.bin"])
  }

  /// A stream could be sent only once.
  @Test func ignoresTheBodyStreamOfTheRequest() async throws {
    let server = try LoopbackServer(script: .status(503), .ok("thanks"))
    var request = URLRequest(url: server.url(), method: "PUT")
    request.httpBodyStream = InputStream(data: Data("own".utf8))
    let script = NetworkScript([.status(503), .ok("thanks")])
    for performer in [session, script] as [any NetworkPerformer] {
      let response = try await performer.performNetworkUpload(request, from: .data(Data("x".utf8)), policy: .quick())
      #expect(response.attempts.count == 2)
    }
    #expect(server.requests.map(\.body) == [Array("x".utf8), Array("x".utf8)])
  }

  @Test func retriesAPOSTOnlyWithAnIdempotencyKey() async throws {
    let (folder, bodies) = try Self.bodies()
    for (name, body) in bodies {
      let server = try LoopbackServer(script: .reset, .ok())
      let result = await upload(server.url(), "POST", from: body)
      #expect(result.error != nil && server.requests.count == 1, "\(name)")
      let other = try LoopbackServer(script: .reset, .ok())
      #expect(await upload(other.url(), "POST", from: body, ["Idempotency-Key": "1"]).error == nil, "\(name)")
      #expect(other.requests.count == 2 && other.requests.last?.body == Self.bytes, "\(name)")
    }
    _ = folder
  }

  @Test func sendsTheBodyAgainAfterA308() async throws {
    let (folder, bodies) = try Self.bodies()
    for (name, body) in bodies {
      let server = try LoopbackServer { $0.target == "/there" ? .ok() : .redirect(308, to: "/there") }
      _ = try await upload(server.url(), from: body).get()
      #expect(server.requests.map(\.target) == ["/", "/there"], "\(name)")
      #expect(server.requests.last?.body == Self.bytes, "\(name)")
      let other = try LoopbackServer { $0.target == "/there" ? .ok() : .redirect(303, to: "/there") }
      _ = try await upload(other.url(), "POST", from: body).get()
      #expect(other.requests.last?.method == "GET" && other.requests.last?.body == [], "\(name)")
    }
    _ = folder
  }

  @Test func progressStartsAgainOnARetry() async throws {
    let (folder, bodies) = try Self.bodies()
    // Reports that wait for their queue become one, so a busy machine may see two for a whole body.
    var mostReports: [String: Int] = [:]
    for (name, body) in bodies + bodies + bodies + bodies where mostReports[name] ?? 0 <= 3 {
      let server = try LoopbackServer(script: .reset, .ok())
      let reported = Box<[TransferProgress]>([])
      let request = URLRequest(url: server.url(), method: "PUT")
      let result = await handlerValue {
        session.performNetworkUpload(
          request, from: body, policy: .quick(), onProgress: reported.append, completionHandler: $0)
      }
      let amounts = try #require(reported.value).map(\.completed)
      #expect(amounts.last == 1_000_000 && result.error == nil, "\(name): \(amounts)")
      // Progress falls at most once; not to 0 if newer progress replaces that report.
      let falls = zip(amounts, amounts.dropFirst()).filter { $0 > $1 }
      #expect(falls.count <= 1, "\(name): \(amounts)")
      mostReports[name] = max(mostReports[name] ?? 0, amounts.count)
    }
    #expect(mostReports.values.allSatisfy { $0 > 3 }, "\(mostReports)")
    _ = folder
  }

  @Test func sendsNothingWhenTheBodyCannotBeRead() async throws {
    let server = try LoopbackServer(script: .ok())
    for path in ["/nowhere/file", "/tmp", "/dev/zero"] {
      let result = await upload(server.url(), from: .file(URL(fileURLWithPath: path)))
      guard case .failure(.generalError(let error)) = result else { Issue.record("\(path): \(result)"); return }
      #expect("\(error)".contains("not a file that can be read"))
    }
    struct NoStream: Error {}
    let result = await upload(server.url(), from: .stream { throw NoStream() })
    guard case .failure(.generalError(is NoStream)) = result else { Issue.record("\(result)"); return }
    #expect(server.requests.isEmpty)
  }

  @Test func uploadErrorHasTheBodyOfTheResponse() async throws {
    let server = try LoopbackServer { $0.target == "/big" ? .ok(someBytes(5_000)) : .status(422, body: "why") }
    let error = await upload(server.url(), from: .data(Data("x".utf8))).error
    #expect(error?.statusCode == 422 && error?.data == Data("why".utf8))
    // A body of the request's own would be sent instead, and a stream only once.
    var request = URLRequest(url: server.url("/big"))
    request.httpBodyStream = InputStream(data: Data("wrong".utf8))
    _ = try await session.performNetworkUpload(request, from: .data(Data("right".utf8)))
    #expect(server.requests.last?.text == "right" && server.requests.last?.method == "PUT")
  }

  /// More would be the beginning of the next request, less would leave the server waiting.
  @Test func sendsExactlyTheDeclaredLengthOfAStream() async throws {
    let server = try LoopbackServer { _ in .ok() }
    let negative = RequestBody.stream(length: -1) { InputStream(data: Data()) }
    guard case .failure(.invalidRequest) = await upload(server.url(), from: negative) else {
      Issue.record("sent")
      return
    }
    let body = RequestBody.stream(length: 10) {
      InputStream(data: Data("0123456789GET /evil HTTP/1.1\r\n\r\n".utf8))
    }
    // URLSession reads the stream by itself there.
    if isOnApplePlatforms {
      #expect(await upload(server.url(), from: body).error?.urlError?.code == .dataLengthExceedsMaximum)
      return
    }
    for _ in 0..<2 {
      _ = try await upload(server.url(), from: body).get()
    }
    #expect(server.requests.map(\.text) == ["0123456789", "0123456789"])
    let short = RequestBody.stream(length: 10) { InputStream(data: Data("01234".utf8)) }
    #expect(await upload(server.url(), from: short, policy: .never).error != nil)
    #expect(server.requests.filter(\.isComplete).count == 2)
  }

  /// If an idle connection turns out to be closed, libcurl would send the request again with an empty body.
  @Test func doesNotSendAConsumedStreamAsAnEmptyBody() async throws {
    let server = try LoopbackServer(script: .ok(), .reset, .ok(), .ok())
    for _ in 0..<2 {
      var request = URLRequest(url: server.url(), method: "POST")
      request.httpBodyStream = InputStream(data: Data("a body".utf8))
      _ = await session.result(of: request, policy: .quick())
    }
    let whole = server.requests.filter(\.isComplete)
    #expect(whole.count == 2 && whole.allSatisfy { $0.text == "a body" })
  }

  /// Each form of a file and of bytes, on its own.
  @Test func everyFormOfAnUploadReportsItsProgress() async throws {
    let folder = try Folder()
    let (file, data) = (folder.file(), Data("a film".utf8))
    try data.write(to: file)
    let server = try LoopbackServer(script: .ok("x"))
    let url = server.url("/up")
    typealias Report = @Sendable (TransferProgress) -> Void
    let forms: [(String, (@escaping Report) async throws -> Void)] = [
      ("file", { _ = try await self.session.performNetworkUpload(url, from: file, onProgress: $0) }),
      ("data", { _ = try await self.session.performNetworkUpload(url, from: data, onProgress: $0) }),
      (
        "file { }",
        { report in
          _ = try await handlerValue {
            self.session.performNetworkUpload(url, from: file, onProgress: report, completionHandler: $0)
          }.get()
        }
      ),
      (
        "data { }",
        { report in
          _ = try await handlerValue {
            self.session.performNetworkUpload(url, from: data, onProgress: report, completionHandler: $0)
          }.get()
        }
      ),
    ]
    for (name, upload) in forms {
      let last = Box<TransferProgress>()
      try await upload { last.value = $0 }
      #expect(last.value == TransferProgress(completed: 6, total: 6), "\(name)")
    }
  }

  @Test func refusesAnUploadThatAMiddlewareMakesAHEAD() async throws {
    let script = NetworkScript([.ok("x")])
    let client = NetworkClient(
      on: script,
      middleware: [
        .around { request, next in
          var request = request
          request.httpMethod = "HEAD"
          return try await next(request)
        }
      ])
    let error = await #expect(throws: NetworkError.self) {
      try await client.performNetworkUpload(URL.example, from: .text("x"))
    }
    guard case .invalidRequest(let reason)? = error else { Issue.record("\(error as Any)"); return }
    #expect(reason.contains("HEAD") && script.requests.isEmpty)
  }
}
