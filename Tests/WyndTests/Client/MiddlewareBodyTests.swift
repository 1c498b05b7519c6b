import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A body that a middleware sets is sent, whatever the body of the call was.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct MiddlewareBodyTests {
  static func bodies(_ folder: Folder) throws -> [(String, RequestBody)] {
    try Data("plain".utf8).write(to: folder.file())
    return [
      ("data", .data(Data("plain".utf8))), ("file", .file(folder.file())),
      ("stream", .stream(length: 5) { InputStream(data: Data("plain".utf8)) }),
      ("chunked", .stream { InputStream(data: Data("plain".utf8)) }),
      ("multipart", .multipart([.file("a", folder.file())])),
    ]
  }

  @Test(arguments: ["", "z", "longer than the body of the call"])
  func sendsTheBodyThatAMiddlewareSets(_ text: String) async throws {
    let folder = try Folder()
    let replacing = NetworkClosureMiddleware.around { request, next in
      var request = request
      request.httpBody = Data(text.utf8)
      request.setValue("gzip", forHTTPHeaderField: "Content-Encoding")
      return try await next(request)
    }
    for (name, body) in try Self.bodies(folder) {
      let server = try LoopbackServer { $0.index == 0 ? .status(503) : .ok("done") }
      let client = NetworkClient(baseURL: server.url(), policy: .quick(), middleware: [replacing])
      try await client.load(.put("/x", body: body))
      try await client.performNetworkUpload(URLRequest(url: server.url(), method: "PUT"), from: body)
      #expect(server.requests.map { String(decoding: $0.body, as: UTF8.self) } == [text, text, text], "\(name)")
      #expect(server.values(of: "Content-Length").allSatisfy { $0 == "\(text.utf8.count)" }, "\(name)")
    }
  }

  @Test func refusesAStreamThatAMiddlewareSets() async throws {
    let folder = try Folder()
    let replacing = NetworkClosureMiddleware.around { request, next in
      var request = request
      request.httpBodyStream = InputStream(data: Data("x".utf8))
      return try await next(request)
    }
    for (name, body) in try Self.bodies(folder) where name != "data" {
      let script = NetworkScript([.ok("done")])
      let client = NetworkClient(on: script, middleware: [replacing])
      let error = await #expect(throws: NetworkError.self) {
        try await client.performNetworkUpload(URLRequest(url: .example, method: "PUT"), from: body)
      }
      guard case .invalidRequest? = error else { Issue.record("\(name): \(error as Any)"); continue }
      #expect(script.requests.isEmpty)
    }
  }

  /// Without a middleware that touches it, the body is that of the call.
  @Test func sendsTheBodyOfTheCallOtherwise() async throws {
    let folder = try Folder()
    for (name, body) in try Self.bodies(folder) where name != "multipart" {
      let server = try LoopbackServer(script: .ok("done"))
      let client = NetworkClient(baseURL: server.url(), middleware: [.around { try await $1($0) }])
      try await client.load(.put("/x", body: body))
      #expect(server.requests.first?.body == Array("plain".utf8), "\(name)")
    }
  }
}
