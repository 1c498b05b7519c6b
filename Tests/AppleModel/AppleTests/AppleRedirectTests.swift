import Foundation
import Testing
import Wynd
import WyndLoopbackServer

/// 301 and 302, after which URLSession makes a GET of a PUT, PATCH or DELETE, or leaves it as it is.
@Suite(.timeLimit(.minutes(1)), .fewAtOnce) struct AppleRedirectTests {
  static let answers: [Set<ModelAnswer>] = [[], [.keepsMethodAfterRedirect]]

  private static func session(_ answers: Set<ModelAnswer>) -> URLSession {
    .ephemeral { $0.answers = answers }
  }
  private static func server(_ status: Int) throws -> LoopbackServer {
    try LoopbackServer { $0.target == "/" ? .redirect(status, to: "/there") : .ok("the response") }
  }

  @Test(arguments: [301, 302], answers)
  func keepsMethodAndBody(_ status: Int, _ answers: Set<ModelAnswer>) async throws {
    let session = Self.session(answers)
    for kind in [CallKind.request, .client, .upload] {
      for method in ["PUT", "PATCH", "DELETE"] {
        let server = try Self.server(status)
        var request = URLRequest(url: server.url(), method: method)
        if kind != .upload { request.httpBody = Data("body".utf8) }
        request.setValue("text/x-mine", forHTTPHeaderField: "Content-Type")
        #expect(try await kind.response(to: request, on: session).statusCode == 200)
        #expect(server.requests.map(\.method) == [method, method], "\(kind)")
        #expect(server.requests.map(\.text) == ["body", "body"], "\(kind) \(method)")
        #expect(server.values(of: "Content-Type") == ["text/x-mine", "text/x-mine"], "\(kind) \(method)")
      }
    }
  }

  @Test(arguments: [301, 302], answers)
  func keepsADELETEWithoutABody(_ status: Int, _ answers: Set<ModelAnswer>) async throws {
    let server = try LoopbackServer { request in
      let next = ["/": "/a", "/a": "/b", "/b": "/c"][request.target]
      return next.map { .redirect(status, to: $0) } ?? .ok("the response")
    }
    let request = URLRequest(url: server.url(), method: "DELETE")
    _ = try await Self.session(answers).performNetworkRequest(request)
    #expect(server.requests.map(\.method) == Array(repeating: "DELETE", count: 4))
  }

  /// It has been read, and only URLSession could read it again. As a GET it would seem to succeed.
  @Test(arguments: [301, 302], ["file", "chunks", "stream", "httpBodyStream"])
  func redirectIsTheResultIfTheBodyIsNotInMemory(_ status: Int, _ body: String) async throws {
    let folder = try Folder()
    try Data("body".utf8).write(to: folder.file())
    for method in ["PUT", "PATCH", "DELETE"] {
      let server = try Self.server(status)
      let session = Self.session([])
      var request = URLRequest(url: server.url(), method: method)
      let response: NetworkResponse<Data>
      switch body {
      case "httpBodyStream":
        request.httpBodyStream = InputStream(data: Data("body".utf8))
        response = try await session.networkResponse(for: request)
      case "stream":
        response = try await session.performNetworkUpload(
          request, from: .stream(length: 4) { InputStream(data: Data("body".utf8)) })
      case "chunks":
        response = try await session.performNetworkUpload(request, from: .multipart([.file("a", folder.file())]))
      default: response = try await session.performNetworkUpload(request, from: .file(folder.file()))
      }
      #expect(response.statusCode == status, "\(method)")
      #expect(server.requests.map(\.method) == [method])
    }
  }

  @Test(arguments: [301, 302], answers)
  func postBecomesGETAndHEADStays(_ status: Int, _ answers: Set<ModelAnswer>) async throws {
    for (method, expected) in [("POST", "GET"), ("HEAD", "HEAD"), ("GET", "GET")] {
      let server = try Self.server(status)
      let request = URLRequest(url: server.url(), method: method, body: method == "POST" ? "body" : nil)
      _ = try await Self.session(answers).performNetworkRequest(request)
      #expect(server.requests.map(\.method) == [method, expected])
      #expect(server.requests.last?.text == "")
      #expect(server.requests.last?.value("Content-Type") == nil)
    }
  }

  /// A redirect is compared with the request that it answers, not with the first one.
  @Test(arguments: [301, 302], answers)
  func aGETAfterSeeOtherStaysAGET(_ status: Int, _ answers: Set<ModelAnswer>) async throws {
    let server = try LoopbackServer { request in
      switch request.target {
      case "/": .redirect(303, to: "/a")
      case "/a": .redirect(status, to: "/b")
      default: .ok("the response")
      }
    }
    let request = URLRequest(url: server.url(), method: "PUT", body: "body")
    _ = try await Self.session(answers).performNetworkRequest(request)
    #expect(server.requests.map(\.method) == ["PUT", "GET", "GET"])
  }

  /// After a 303, a GET is what the server asks for.
  @Test func seeOtherIsAGET() async throws {
    let server = try Self.server(303)
    let request = URLRequest(url: server.url(), method: "PUT", body: "body")
    _ = try await Self.session([]).performNetworkRequest(request)
    #expect(server.requests.map(\.method) == ["PUT", "GET"] && server.requests.last?.text == "")
  }
}
