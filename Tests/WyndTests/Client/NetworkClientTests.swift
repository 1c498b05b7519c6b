import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Base URL, headers, coders and policy of a client apply to all of its calls.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct NetworkClientTests {
  struct Item: Endpoint {
    typealias Response = String
    var path = "/items"
    var host = ""
    var scheme = "https"
    var port: Int?
    var headers: [String: String] = [:]
    var queryItems: [URLQueryItem] = []
    var policy: RetryPolicy = .default
  }

  // MARK: Headers, coders, policy

  struct Dated: Codable, Equatable { var at: Date }
  struct Echo: Endpoint {
    typealias Response = Dated
    var value: Dated
    var path: String { "/" }
    var method: NetworkMethod { .post }
    var body: RequestBody { .json(value) }
  }
  struct OwnDecoder: Endpoint {
    typealias Response = Dated
    var path: String { "/" }
    let decoder = JSONDecoder()
  }

  /// On Linux, changing a request without a URL stops the process.
  @Test func requestWithoutAURLIsInvalid() async throws {
    let url = try #require(URL(string: "https://a.example/v1"))
    var request = URLRequest(url: url)
    request.url = nil
    for baseURL in [url, nil] {
      let client = NetworkClient(baseURL: baseURL, on: NetworkScript([.ok("x")]), headers: ["X-A": "1"])
      let folder = try Folder()
      let calls: [@Sendable (URLRequest) async throws -> Void] = [
        { _ = try await client.networkResponse(for: $0) }, { _ = try await client.networkBytes(for: $0) },
        { _ = try await client.performNetworkUpload($0, from: Data("x".utf8)) },
        { _ = try await client.performNetworkDownload($0, to: folder.file()) },
        { _ = try await client.perform($0.declared(isReadOnly: nil)).get() },
      ]
      for call in calls {
        let error = await #expect(throws: NetworkError.self) { try await call(request) }
        guard case .invalidRequest("it has no URL")? = error else { Issue.record("\(error as Any)"); return }
      }
    }
  }

  @Test func usesTheCodersOfTheClientForEndpointsWithoutTheirOwn() async throws {
    let script = NetworkScript { request, _ in
      .response(200, headers: [:], body: request.httpBody ?? Data(#"{"at":0}"#.utf8))
    }
    var client = NetworkClient(baseURL: URL(string: "https://a.example"), on: script)
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    encoder.dateEncodingStrategy = .iso8601
    decoder.dateDecodingStrategy = .iso8601
    (client.encoder, client.decoder) = (encoder, decoder)
    let value = Dated(at: Date(timeIntervalSince1970: 0))
    #expect(try await client.load(Echo(value: value)) == value)
    let sent = script.requests.first?.text
    #expect(sent == #"{"at":"1970-01-01T00:00:00Z"}"#)
    #expect(try await client.load(OwnDecoder()).at == Date(timeIntervalSinceReferenceDate: 0))
  }

  // MARK: The session

  /// Not `URLError.cancelled`, which an app would show.
  @Test func reportsCancellationOnAnInvalidatedSession() async throws {
    let (session, mayStart) = (URLSession(configuration: .ephemeral), Gate())
    let request = NetworkMiddlewareTests.order()
    let task = Task {
      await mayStart.wait()
      return try await NetworkClient(on: session).performNetworkRequest(request)
    }
    task.cancel()
    session.invalidateAndCancel()
    mayStart.open()
    #expect(await task.result.isCancelled)
  }

  /// A client is a value, and what is changed in it counts for its next call.
  @Test func headersAndBaseURLThatAreRemovedHaveNoEffect() async throws {
    let script = NetworkScript([.ok("x")])
    var client = NetworkClient(baseURL: URL(string: Self.base), on: script, headers: ["X-Api-Key": "k"])
    let whole = try #require(URL(string: "https://a.example/v2/items"))
    _ = try await client.networkData(for: whole)
    client.headers["X-Api-Key"] = nil
    _ = try await client.networkData(for: whole)
    client.headers = ["X-Api-Key": "new"]
    _ = try await client.networkData(for: whole)
    #expect(script.values(of: "X-Api-Key") == ["k", nil, "new"])
    client.baseURL = nil
    await #expect(throws: NetworkError.self) { try await client.load(Item()) }
    #expect(script.requests.count == 3)
  }
}
