import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Bodies of endpoints that are not in memory.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct EndpointBodyTests {
  let session = URLSession(configuration: .ephemeral)

  struct Call: LocalEndpoint {
    typealias Response = String
    let server: LoopbackServer
    var method: NetworkMethod = .put
    var headers: [String: String] = [:]
    var body: RequestBody = .empty
  }

  @Test func sendsFilesAndStreamsOnEveryAttempt() async throws {
    let folder = try Folder()
    let bytes = someBytes(600_000)
    try Data(bytes).write(to: folder.file())
    let stream: @Sendable () -> InputStream = { InputStream(data: Data(bytes)) }
    let rows: [(RequestBody, type: String, length: String?)] = [
      (.file(folder.file()), "application/octet-stream", "600000"),
      (.file(folder.file(), contentType: "video/mp4"), "video/mp4", "600000"),
      (.stream(length: 600_000, contentType: "video/mp4", stream), "video/mp4", "600000"),
      (.stream(stream), "application/octet-stream", nil),
    ]
    for (body, type, length) in rows {
      let server = try LoopbackServer(script: .status(503), .ok("done"))
      let response = try await session.loadResponse(Call(server: server, body: body), policy: .quick())
      #expect(response.value == "done" && response.attempts.count == 2)
      #expect(server.requests.count == 2 && server.requests.allSatisfy { $0.body == bytes && $0.method == "PUT" })
      for request in server.requests {
        #expect(request.value("Content-Type") == type && request.value("Content-Length") == length)
      }
      let client = NetworkClient(headers: ["User-Agent": "App/1"], policy: .quick())
      #expect(try await client.load(Call(server: server, headers: ["Content-Type": "a/b"], body: body)) == "done")
      let request = try #require(server.requests.last)
      #expect(request.body == bytes && request.value("Content-Type") == "a/b" && request.value("User-Agent") == "App/1")
    }
  }

  /// A request for JSON names what the session accepts, even if a client is made on it that names nothing.
  @Test(arguments: [false, true]) func acceptsWhatTheSessionAccepts(_ isClient: Bool) async throws {
    let session = URLSession.ephemeral { $0.httpAdditionalHeaders = ["accept": "application/vnd.shop.v2+json"] }
    let performer: any NetworkPerformer = isClient ? NetworkClient(on: session) : session
    let server = try LoopbackServer(script: .ok("[1]"))
    #expect(try await performer.load(.get(server.url(), as: [Int].self)) == [1])
    let fields = try #require(server.requests.first).headers.filter { $0.name.lowercased() == "accept" }
    #expect(fields.map(\.value) == ["application/vnd.shop.v2+json"])
  }

  /// The same if the fields are those of a client that another client is made on.
  @Test(arguments: [false, true]) func acceptOfTheClientPrecedesThatOfTheSession(_ isInner: Bool) async throws {
    let session = URLSession.ephemeral { $0.httpAdditionalHeaders = ["Accept": "application/vnd.session+json"] }
    let named = NetworkClient(on: session, headers: ["accept": "application/vnd.client+json"])
    let client = isInner ? NetworkClient(on: named) : named
    let server = try LoopbackServer(script: .ok("[1]"))
    #expect(try await client.load(.get(server.url(), as: [Int].self)) == [1])
    #expect(try await client.load(.get(server.url(), headers: ["Accept": "a/b"], as: [Int].self)) == [1])
    let accepted = server.requests.map { request in
      request.headers.filter { $0.name.lowercased() == "accept" }.map(\.value)
    }
    #expect(accepted == [["application/vnd.client+json"], ["a/b"]])
  }

  /// A body without a type has the type of the session, even if a client is made on it that names none.
  @Test(arguments: [false, true]) func bodyWithoutATypeHasThatOfTheSession(_ isClient: Bool) async throws {
    let folder = try Folder()
    try Data("x".utf8).write(to: folder.file())
    let session = URLSession.ephemeral { $0.httpAdditionalHeaders = ["content-type": "a/b"] }
    let performer: any NetworkPerformer =
      isClient ? NetworkClient(on: NetworkClient(on: session, headers: ["User-Agent": "App/1"])) : session
    let bodies: [RequestBody] = [
      .data(Data("x".utf8)), .file(folder.file()), .data(Data("x".utf8), contentType: "c/d"),
    ]
    let server = try LoopbackServer(script: .ok("done"))
    for body in bodies {
      for method in [NetworkMethod.post, .put] {
        _ = try await performer.load(Call(server: server, method: method, body: body))
      }
    }
    let types = server.requests.map { request in
      request.headers.filter { $0.name.lowercased() == "content-type" }.map(\.value)
    }
    #expect(types == [["a/b"], ["a/b"], ["a/b"], ["a/b"], ["c/d"], ["c/d"]])
  }

  @Test func sendsNothingForAMissingFileOrAMethodWithoutABody() async throws {
    let server = try LoopbackServer(script: .ok())
    let missing = Call(server: server, body: .file(URL(fileURLWithPath: "/nowhere/photo.jpg")))
    do throws(NetworkError) {
      _ = try await session.load(missing)
      Issue.record("sent")
    } catch {
      guard case .generalError(TransferError.unusableFile) = error else { Issue.record("\(error)"); return }
    }
    for method: NetworkMethod in [.get, .head] {
      let call = Call(server: server, method: method, body: .stream { InputStream(data: Data()) })
      #expect(throws: NetworkError.self) { try call.request }
      await #expect(throws: NetworkError.self) { try await session.load(call) }
    }
    #expect(server.requests.isEmpty)
  }

  @Test func requestWithAFileBodyHasItsContentTypeButNoHTTPBody() throws {
    let server = try LoopbackServer(script: .ok())
    let file = URL(fileURLWithPath: "/nowhere/photo.jpg")
    let request = try Call(server: server, body: .file(file, contentType: "image/jpeg")).request
    #expect(request.httpBody == nil && request.value(forHTTPHeaderField: "Content-Type") == "image/jpeg")
  }
}
