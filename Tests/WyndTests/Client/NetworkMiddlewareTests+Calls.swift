import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a middleware sees of a call.
extension NetworkMiddlewareTests {
  /// A middleware that signs the body needs it.
  @Test func middlewareSeesAndChangesTheBodyOfAnUpload() async throws {
    let server = try LoopbackServer { $0.index == 0 ? .status(503) : .ok("x") }
    let bodies = Box<[String]>([])
    let watching: NetworkClosureMiddleware = .around { request, next in
      bodies.append(request.text)
      return try await next(request)
    }
    let changing: NetworkClosureMiddleware = .around { request, next in
      var request = request
      request.httpBody = Data("changed".utf8)
      return try await next(request)
    }
    let policy = RetryPolicy.quick()
    let client = NetworkClient(baseURL: server.url(), policy: policy, middleware: [watching, changing])
    try await client.performNetworkUpload(server.url(), from: .data(Data("photo".utf8)))
    #expect(bodies.value == ["photo", "photo"])
    // One that is not in memory is not seen, but can be replaced.
    let folder = try Folder()
    let file = folder.file()
    try Data("file".utf8).write(to: file)
    try await client.performNetworkUpload(server.url(), from: .file(file))
    #expect(bodies.value == ["photo", "photo", ""])
    #expect(server.requests.map(\.text) == ["changed", "changed", "changed"])
  }

  /// Remembers the number of the attempt, and the value of the calling task, for each request and each parsed value.
  struct Numbering: NetworkMiddleware {
    @TaskLocal static var trace = ""
    let seen = Box<[String]>([])

    func respond(
      to request: URLRequest, in call: NetworkMiddlewareCall, next: NetworkMiddlewareNext
    ) async throws -> NetworkResponse<Data> {
      seen.append("\(Self.trace)\(call.attempt)")
      return try await next(request)
    }
    func parsed<Value: Sendable>(_ value: Value, from _: NetworkResponse<Data>, in call: NetworkMiddlewareCall) -> Value
    {
      seen.append("parsed \(call.attempt)")
      return value
    }
  }

  /// Each attempt has a number, whichever request of it this is.
  @Test func middlewareSeesTheNumberOfTheAttempt() async throws {
    let repeating: NetworkClosureMiddleware = .around { request, next in
      _ = try? await next(request)
      return try await next(request)
    }
    for (middleware, requests) in [([NetworkClosureMiddleware](), 1), ([repeating], 2)] {
      let numbering = Numbering()
      let steps: [NetworkScript.Step] = [.status(503), .dropped, .ok("x")]
      let script = NetworkScript(steps.flatMap { Array(repeating: $0, count: requests) })
      let client = NetworkClient(
        baseURL: .example, on: script, policy: .quick(), middleware: middleware + [numbering])
      let value: String = try await Numbering.$trace.withValue("a") { try await client.load(.get("/")) }
      #expect(value == "x")
      let attempts = ["a1", "a2", "a3"].flatMap { Array(repeating: $0, count: requests) }
      #expect(numbering.seen.value == attempts + ["parsed 3"])
    }
  }

  @Test func middlewareSeesTheNumberOfTheAttemptOfADownload() async throws {
    let folder = try Folder()
    let numbering = Numbering()
    let script = NetworkScript([.status(503), .ok("x")])
    let client = NetworkClient(on: script, policy: .quick(), middleware: [numbering])
    try await client.performNetworkDownload(URL.example, to: folder.file())
    #expect(numbering.seen.value == ["1", "2"])
  }

  /// A call that has a stored response makes one attempt. The renewal of its credential is another call.
  @Test func renewalIsRetriedIfAResponseIsStored() async throws {
    let script = NetworkScript([
      .ok("stored", headers: ["ETag": "\"1\""]), .status(401), .status(503), .ok("new"), .ok("current"),
    ])
    let service = NetworkClientTests.service
    let plain = NetworkClient(baseURL: service, on: script)
    let authentication = Authentication(for: try #require(service), BearerToken("old")) { _, _ in
      BearerToken(try await plain.load(NetworkClientTests.Item(path: "/token")))
    }
    let cache = ResponseCache(servesStaleIfError: true, on: script)
    let client = NetworkClient(baseURL: service, on: cache, middleware: [authentication])
    #expect(try await client.load(NetworkClientTests.Item()) == "stored")
    #expect(try await client.load(NetworkClientTests.Item()) == "current")
    #expect(script.requests.count == 5)
  }
}
