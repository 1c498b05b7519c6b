import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Base URL, headers, coders and policy of a client apply to all of its calls.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct NetworkClientTests {
  static let quick = RetryPolicy(backoff: .immediate, budget: .unlimited)

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
    let sent = String(decoding: script.requests.first?.httpBody ?? Data(), as: UTF8.self)
    #expect(sent == #"{"at":"1970-01-01T00:00:00Z"}"#)
    #expect(try await client.load(OwnDecoder()).at == Date(timeIntervalSinceReferenceDate: 0))
  }

  // MARK: The session

  /// Not `URLError.cancelled`, which an app would show.
  @Test func reportsCancellationOnAnInvalidatedSession() async throws {
    let (session, mayStart) = (URLSession(configuration: .ephemeral), Gate())
    let request = try NetworkMiddlewareTests.order()
    let task = Task {
      await mayStart.wait()
      return try await NetworkClient(on: session).performNetworkRequest(request)
    }
    task.cancel()
    session.invalidateAndCancel()
    mayStart.open()
    guard case .failure(NetworkError.cancelled) = await task.result else { Issue.record("not canceled"); return }
  }
}
