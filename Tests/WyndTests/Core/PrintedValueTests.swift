import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// No text of a public value has a value of a query, a header field or a body, so that it can be written to a log.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct PrintedValueTests {
  /// Types without a value that could hold a secret, and an object of the app's own values, which is printed like the
  /// dictionary that it stands for.
  static let others: Set = [
    "DelaySource", "Level", "NetworkPartialDownload", "NetworkResponseSource", "RepeatSafety", "StopReason",
  ]

  static let fields = ["X-Total": "SECRET", "ETag": "\"SECRET\"", "Content-Type": "text/plain; a=SECRET"]
  static let eventFields = ["X-Total": "SECRET", "Content-Type": "text/event-stream"]

  /// Keeps the values that a client passes to its middleware and its performer.
  struct Catcher: NetworkMiddleware, NetworkPerformer {
    let base: any NetworkPerformer
    let values: Box<[any Sendable]>
    func respond(
      to request: URLRequest, in call: NetworkMiddlewareCall, next: @escaping NetworkMiddlewareNext
    ) async throws -> NetworkResponse<Data> {
      values.append(call)
      return try await next(request)
    }
    func perform(_ plan: NetworkCallPlan) async -> Result<NetworkResponse<Data>, NetworkError> {
      values.append(plan)
      return await base.perform(plan)
    }
  }

  static func request(_ server: LoopbackServer, _ path: String) throws -> URLRequest {
    var request = URLRequest(
      url: try #require(URL(string: "http://ann:SECRET@127.0.0.1:\(server.port)\(path)?token=SECRET#SECRET")))
    request.setValue("SECRET", forHTTPHeaderField: "X-Api-Key")
    return request
  }

  static func server() throws -> LoopbackServer {
    try LoopbackServer { request in
      if request.target.hasPrefix("/404") { return .status(404) }
      if request.target.hasPrefix("/lost") { return .close }
      let isEvents = request.target.hasPrefix("/events")
      let text = isEvents ? "id: SECRET\ndata: SECRET\n\ndata: SECRET\n" : "SECRET\nSECRET\nSECRET"
      return .ok(Array(text.utf8), (isEvents ? Self.eventFields : Self.fields).map { ($0.key, $0.value) })
    }
  }

  /// What the transfers and streams of a session return.
  static func transferred(_ server: LoopbackServer, _ folder: Folder) async throws -> [Any] {
    let session = URLSession(configuration: .ephemeral)
    let download = try await session.performNetworkDownload(try request(server, "/file"), to: folder.file("a.bin"))
    let bytes = try await session.networkBytes(for: try request(server, "/bytes"))
    var chunks = bytes.makeAsyncIterator()
    _ = try await chunks.next()
    let lines = try await session.networkBytes(for: try request(server, "/lines")).lines
    var eachLine = lines.makeAsyncIterator()
    _ = try await eachLine.next()
    let events = session.serverSentEvents(for: try request(server, "/events"), reconnects: false)
    var eachEvent = events.makeAsyncIterator()
    let event = try #require(try await eachEvent.next())
    return [download, bytes, chunks, lines, eachLine, events, eachEvent, event]
  }

  static func called(_ server: LoopbackServer, _ policy: RetryPolicy) async throws -> [Any] {
    let session = URLSession(configuration: .ephemeral)
    let values = Box<[any Sendable]>([])
    let catcher = Catcher(base: session, values: values)
    let client = NetworkClient(
      baseURL: server.url("/v2?token=SECRET"), on: catcher, headers: ["Authorization": "Bearer SECRET"],
      policy: policy, middleware: [catcher])
    let response = try await client.networkResponse(for: try request(server, "/x"))
    let error = await #expect(throws: NetworkError.self) {
      try await client.performNetworkRequest(try request(server, "/404"))
    }
    var order = try request(server, "/lost")
    order.httpMethod = "POST"
    let lost = order
    let failed = await #expect(throws: NetworkError.self) { try await session.performNetworkRequest(lost) }
    guard case .inaccessible(let end)? = failed else { throw try #require(failed) }
    let closure = NetworkClosureMiddleware.around { request, next in try await next(request) }
    let task = session.performNetworkRequest(try request(server, "/x")) { _ in }
    let result: NetworkResult = .failure(try #require(error))
    let all = values.value ?? []
    // The values keep the client, whose middleware keeps the box.
    values.value = nil
    return all + [
      client, client.defaults, response, try #require(error), end, end.attempts[0], task, closure, result,
    ]
  }

  static func made(_ folder: Folder, _ policy: RetryPolicy) throws -> [Any] {
    let url = try #require(URL(string: "https://ann:SECRET@a.example/x?token=SECRET"))
    let data = Data("SECRET".utf8)
    let endpoint: AdHocEndpoint<String> = .post(
      "/x", query: ["a": "SECRET"], headers: ["X-Api-Key": "SECRET"], body: .data(data), as: String.self)
    let download: AdHocEndpoint<String> = .get(url, headers: ["Authorization": "Bearer SECRET"], as: String.self)
    let credential = BearerToken("SECRET")
    let authentication = Authentication(for: url, credential, as: "SECRET")
    let head = try HTTPURLResponse.made(200, ["Authorization": "Bearer SECRET"], url: url)
    let headers = NetworkResponse(data: data, response: head).headers
    let bodies: [RequestBody] = [
      .data(data, contentType: "a/b; c=SECRET"), .text("SECRET"), .file(url), .json(["a": "SECRET"]),
      .stream { InputStream(data: data) }, .form(["a": "SECRET"]), .multipart([.text("a", "SECRET")]),
    ]
    let steps: [NetworkScript.Step] = [
      .ok("SECRET", headers: fields), .chunks(200, headers: fields, [data], isCut: true), .dropped, .silence,
    ]
    return bodies as [Any] + steps + [
      endpoint, download, credential, try BasicCredential(user: "SECRET", password: "SECRET"), authentication,
      NetworkQuery.encoding(["a": "SECRET"]), headers, policy, Backoff.immediate, RetryBudget(), NetworkMethod.post,
      RequestBody.Part.data("a", data), NetworkClient(baseURL: url).values(of: endpoint),
      ResponseCache(), try ResponseCache(in: folder.file("cache")), NetworkScript(steps),
      ["a": "SECRET"] as NetworkObject,
      TransferError.unusableFile(folder.file(), reason: "no"), TransferProgress(completed: 1),
    ]
  }

  @Test func noTextOfAPublicValueContainsASecret() async throws {
    let folder = try Folder()
    let server = try Self.server()
    let log = EventLog()
    let policy = RetryPolicy(maxRetries: 1, deadline: .seconds(20), onEvent: log.add)
    var values = try await Self.transferred(server, folder) + Self.called(server, policy) + Self.made(folder, policy)
    for event in log.events { values += [event, event.kind] }
    for value in values {
      for text in [String(describing: value), String(reflecting: value), "\([value])"] {
        #expect(!text.contains("SECRET"), "\(type(of: value)): \(text)")
      }
    }
    #expect(folder.text("a.bin")?.contains("SECRET") == true)

    // Every public type is among them.
    let list = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
      path: "../../PublicAPI/Wynd.swiftinterface")
    let pattern = /public (?:struct|class|enum) (\w+)/
    let names = Set(try String(contentsOf: list, encoding: .utf8).matches(of: pattern).map { String($0.1) })
    let printed = Set(values.map { value in "\(type(of: value))".prefix { $0 != "<" } }.map(String.init))
    #expect(names.count > 40)
    #expect(names.subtracting(printed) == Self.others)
  }

  @Test func textsSayWhatAValueIs() async throws {
    let folder = try Folder()
    let server = try Self.server()
    let all = try await Self.transferred(server, folder)
    let place = "http://127.0.0.1:\(server.port)"
    #expect("\(all[0])" == "200 from \(place)/file?token=*, 0 bytes")
    #expect("\(all[1])" == "200 from \(place)/bytes?token=*")
    #expect("\(NetworkScript.Step.ok("four"))" == "200, 4 bytes")
  }
}
