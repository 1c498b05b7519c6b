import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An endpoint can be downloaded, uploaded and streamed, with everything that its client adds to a call.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct EndpointTransferTests {
  struct Upload: Decodable, Equatable, Sendable { var fileSize: Int }

  struct Film<Response: Decodable & Sendable>: Endpoint {
    let path: String
    var method: NetworkMethod = .get
    var body: RequestBody = .empty
    var headers: [String: String] { ["X-Film": "7"] }
    var queryItems: [URLQueryItem] { [URLQueryItem(name: "q", value: "a b")] }
  }

  /// Requires the header field of the client, and the renewed token.
  static func server(_ respond: @escaping @Sendable (LoopbackServer.Request) -> ScriptedResponse) throws
    -> LoopbackServer
  {
    try LoopbackServer { request in
      if request.value("Authorization") != "Bearer new" { return .status(401) }
      return request.value("X-App") == "1" && request.value("X-Film") == "7" ? respond(request) : .status(400)
    }
  }

  static func client(_ server: LoopbackServer) -> NetworkClient {
    NetworkClient(
      baseURL: server.url("/v1"), headers: ["X-App": "1"], policy: .quick(), encoder: .snakeCase, decoder: .snakeCase,
      middleware: [TransferClientTests.authentication(server, Counter())])
  }

  static let refused = ScriptedResponse.status(422, body: #"{"code":"film.gone","message":"It is gone."}"#)

  @Test func downloadsAnEndpointOfAClient() async throws {
    let bytes = someBytes(100_000)
    let server = try Self.server { .file(bytes, for: $0) }
    let folder = try Folder()
    let reported = Box<[TransferProgress]>([])
    let done = try await Self.client(server)
      .performNetworkDownload(Film<Data>(path: "/film"), to: folder.file(), onProgress: reported.append)
    #expect(try Data(contentsOf: done.value) == Data(bytes) && reported.value?.last?.completed == 100_000)
    let handled = await handlerValue {
      Self.client(server).performNetworkDownload(Film<Data>(path: "/film"), to: folder.file("b"), completionHandler: $0)
    }
    #expect(try Data(contentsOf: handled.get().value) == Data(bytes))
    #expect(server.requests.allSatisfy { $0.target == "/v1/film?q=a%20b" })
  }

  static func bodies(_ folder: Folder) throws -> [RequestBody] {
    try Data(someBytes(200_000)).write(to: folder.file())
    return [
      .data(Data(someBytes(200_000))), .file(folder.file()),
      .stream(length: 200_000) { InputStream(data: Data(someBytes(200_000))) },
      .multipart([.file("film", folder.file())]),
    ]
  }

  @Test(arguments: 0..<4) func uploadsAnEndpointAndDecodesTheResponse(_ number: Int) async throws {
    let server = try Self.server { .ok(#"{"file_size":\#($0.body.count)}"#) }
    let folder = try Folder()
    let body = try Self.bodies(folder)[number]
    let reported = Box<[TransferProgress]>([])
    let film = Film<Upload>(path: "/film", method: .put, body: body)
    let response = try await Self.client(server).loadResponse(film, onProgress: reported.append)
    let sent = Int64(try #require(server.requests.last?.body.count))
    #expect(response.value == Upload(fileSize: Int(sent)) && sent >= 200_000)
    #expect(response.attempts.count == 1 && response.statusCode == 200)
    #expect(reported.value?.last == TransferProgress(completed: sent, total: sent))
    #expect(server.requests.last?.value("Content-Type")?.isEmpty == false)

    let handled = await handlerValue {
      Self.client(server).loadResponse(film, onProgress: { _ in }, completionHandler: $0)
    }
    #expect(try handled.get().value.fileSize >= 200_000)
  }

  struct Title: Encodable, Sendable { var fullTitle: String }

  @Test func uploadUsesTheEncoderOfTheClient() async throws {
    let server = try Self.server { .ok(#"{"file_size":\#($0.body.count)}"#) }
    let film = Film<Upload>(path: "/film", method: .post, body: .json(Title(fullTitle: "B")))
    _ = try await Self.client(server).load(film, onProgress: { _ in })
    #expect(server.requests.last?.text == #"{"full_title":"B"}"#)
    #expect(server.requests.last?.value("Content-Type") == "application/json")
  }

  @Test func loadReportsTheProgressOfTheBodyInBothForms() async throws {
    let script = NetworkScript([.ok("x")])
    let reported = Box<[TransferProgress]>([])
    let call = AdHocEndpoint.put("/film", body: .text("body"), as: String.self)
    #expect(try await script.load(call, onProgress: reported.append) == "x")
    #expect(reported.value?.last == TransferProgress(completed: 4, total: 4))
    reported.value = []
    let handled = await handlerValue { script.load(call, onProgress: reported.append, completionHandler: $0) }
    #expect(try handled.get() == "x")
    #expect(reported.value?.last == TransferProgress(completed: 4, total: 4))
  }

  /// Without a body, there is no progress to report, and nothing to upload.
  @Test func callWithoutABodyTakesAProgressHandler() async throws {
    let script = NetworkScript([.ok("")])
    let count = Counter()
    #expect(try await script.load(.head("/film"), onProgress: { _ in count.add() }).statusCode == 200)
    try await script.load(.get("/film"), onProgress: { _ in count.add() })
    #expect(count.value == 0 && script.requests.map(\.httpMethod) == ["HEAD", "GET"])
  }

  @Test func uploadSendsTheBodyThatPrepareHasChanged() async throws {
    struct Signed: Endpoint {
      typealias Response = Void
      let path = "/film"
      let method = NetworkMethod.put
      let body = RequestBody.text("body")
      func prepare(request: inout URLRequest) { request.httpBody?.append(Data(" and signature".utf8)) }
    }
    let script = NetworkScript([.ok("")])
    try await script.load(Signed(), onProgress: { _ in })
    #expect(script.requests.map(\.httpBody) == [Data("body and signature".utf8)])
  }

  @Test func uploadPassesTheValueThroughTheMiddleware() async throws {
    let server = try Self.server { _ in .ok(#"{"file_size":1}"#) }
    var client = Self.client(server)
    let values = Box<[String]>([])
    client.middleware.append(Witness(values: values))
    let film = Film<Upload>(path: "/film", method: .put, body: .text("x"))
    _ = try await client.load(film, onProgress: { _ in })
    #expect(values.value == ["Upload(fileSize: 1)"])
    let handled = await handlerValue { client.loadResponse(film, onProgress: { _ in }, completionHandler: $0) }
    #expect(try handled.get().value.fileSize == 1 && values.value?.count == 2)
  }
  struct Witness: NetworkMiddleware {
    let values: Box<[String]>
    func respond(
      to request: URLRequest, in call: NetworkMiddlewareCall, next: NetworkMiddlewareNext
    ) async throws -> NetworkResponse<Data> { try await next(request) }
    func parsed<Value: Sendable>(_ value: Value, from _: NetworkResponse<Data>, in call: NetworkMiddlewareCall) -> Value
    {
      values.append("\(value)")
      return value
    }
  }

  @Test func streamsAnEndpoint() async throws {
    let server = try Self.server { request in
      request.target.hasPrefix("/v1/events")
        ? ServerSentEventsTests.stream("id: 4\ndata: a\n\n") : .ok("one\n\(request.text)\n")
    }
    let client = Self.client(server)
    let chat = Film<String>(path: "/chat", method: .post, body: .text("two"))
    #expect(try await client.networkBytes(for: chat).lines.collected() == ["one", "two"])
    var events: [String] = []
    for try await event in client.serverSentEvents(for: Film<String>(path: "/events")) {
      events.append(event.data)
      if events.count == 2 { break }
    }
    // A GET reconnects, a POST does not.
    #expect(events == ["a", "a"] && server.requests.last?.value("Last-Event-ID") == "4")
    #expect(server.requests.last?.value("Accept") == "text/event-stream")
    for try await event in client.serverSentEvents(for: Film<String>(path: "/events", method: .post)) {
      events.append(event.data)
    }
    #expect(events == ["a", "a", "a"])
  }

  /// `prepare` can make a POST of a GET.
  @Test func doesNotReconnectAfterAPreparedPOST() async throws {
    let script = NetworkScript { _, _ in
      .chunks(200, headers: ["Content-Type": "text/event-stream"], [Data("data: a\n\n".utf8)], isCut: false)
    }
    var count = 0
    for try await _ in script.serverSentEvents(for: Prepared()) { count += 1 }
    #expect(count == 1 && script.requests.map(\.httpMethod) == ["POST"])
  }
  struct Prepared: Endpoint {
    typealias Response = Void
    let host = "a.example"
    let path = "/events"
    func prepare(request: inout URLRequest) { request.httpMethod = "POST" }
  }

  @Test func decodesTheErrorOfTheServiceInEveryTransfer() async throws {
    let server = try Self.server { _ in Self.refused }
    let client = Self.client(server)
    let folder = try Folder()
    let film = Film<Data>(path: "/film", method: .put, body: .text("x"))
    let calls: [@Sendable () async throws -> Void] = [
      { try await client.performNetworkDownload(film, to: folder.file()) },
      { _ = try await client.load(film, onProgress: { _ in }) },
      { _ = try await client.networkBytes(for: film) },
      { for try await _ in client.serverSentEvents(for: film) {} },
    ]
    for call in calls {
      let error = await #expect(throws: NetworkError.self) { try await call() }
      #expect(error?.serviceError(as: ShopError.self)?.code == "film.gone" && error?.statusCode == 422)
    }
    let handled = await handlerValue { client.performNetworkDownload(film, to: folder.file(), completionHandler: $0) }
    #expect(throws: NetworkError.self) { try handled.get() }
  }

  /// A download and a stream have no way to send a file. Nothing is sent in place of it.
  @Test func rejectsEndpointsThatCannotBeTransferred() async throws {
    let script = NetworkScript([.ok("x")])
    let folder = try Folder()
    let file = Film<Data>(path: "/film", method: .put, body: .file(folder.file()))
    // Without a base URL, the endpoint has no host.
    let lost = Film<Data>(path: "/film", method: .put, body: .text("x"))
    let client = NetworkClient(baseURL: URL(string: "https://a.example"), on: script)
    let bare = NetworkClient(on: script)
    let calls: [@Sendable () async throws -> Void] = [
      { try await client.performNetworkDownload(file, to: folder.file()) },
      { _ = try await client.networkBytes(for: file) },
      { for try await _ in client.serverSentEvents(for: file) {} },
      { try await bare.performNetworkDownload(lost, to: folder.file()) },
      { _ = try await bare.load(lost, onProgress: { _ in }) }, { _ = try await bare.networkBytes(for: lost) },
      { for try await _ in bare.serverSentEvents(for: lost) {} },
      { try await NetworkTransfers.download(file, client, folder.file()) },
      { try await NetworkTransfers.download(lost, bare, folder.file()) },
      { try await NetworkTransfers.upload(lost, bare) },
    ]
    for (number, call) in calls.enumerated() {
      let error = await #expect(throws: NetworkError.self) { try await call() }
      guard case .invalidRequest? = error else { Issue.record("\(number): \(String(describing: error))"); continue }
    }
    #expect(script.requests.isEmpty)
  }

  /// The forms with a completion handler.
  enum NetworkTransfers {
    static func download(_ endpoint: some Endpoint, _ performer: any NetworkPerformer, _ file: URL) async throws {
      let result = await handlerValue { performer.performNetworkDownload(endpoint, to: file, completionHandler: $0) }
      _ = try result.get()
    }
    static func upload(_ endpoint: Film<Data>, _ performer: any NetworkPerformer) async throws {
      let result = await handlerValue { performer.load(endpoint, onProgress: { _ in }, completionHandler: $0) }
      _ = try result.get()
    }
  }

  /// Each way to send a body without a type declares the type that the client names.
  @Test func bodyWithoutATypeHasThatOfTheClient() async throws {
    let script = NetworkScript([.ok("")])
    let baseURL = URL(string: "https://example.com")
    let base = NetworkClient(baseURL: baseURL, on: script, headers: ["content-type": "image/png"])
    let photo = RequestBody.data(Data([1]))
    for client in [base, NetworkClient(on: base)] {
      try await client.load(.post("/photos", body: photo))
      try await client.load(.post("/photos", body: photo), onProgress: { _ in })
      let url = try #require(URL(string: "https://example.com/photos"))
      _ = try await client.performNetworkUpload(URLRequest(url: url, method: "POST"), from: photo)
      try await client.load(.post("/photos", body: .json(["n": 1])))
      try await client.load(.post("/photos", headers: ["Content-Type": "image/gif"], body: photo))
    }
    try await NetworkClient(baseURL: baseURL, on: script).load(.post("/photos", body: photo))
    let types = script.values(of: "Content-Type")
    let ofClient = ["image/png", "image/png", "image/png", "application/json", "image/gif"]
    #expect(types == ofClient + ofClient + ["application/octet-stream"])
  }
}
