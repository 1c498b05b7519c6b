import Foundation
import WyndLoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Typed errors of a service, the decoder of a client, and the forms of `load`.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct EndpointResponseTests {
  typealias Call = EndpointRequestTests.Call

  static func client(_ script: NetworkScript) -> NetworkClient { EndpointRequestTests.client(script) }

  struct Failure: Error, Decodable, Equatable { var code: String }
  struct Strict: Endpoint {
    typealias Response = Int
    var path: String { "/" }
  }

  static let failures: [(status: Int, body: String, code: String?)] = [
    (400, #"{"code":"a"}"#, "a"), (404, #"{"code":"a"}"#, "a"), (500, #"{"code":"a"}"#, "a"), (400, "{}", nil),
    (400, "", nil), (503, "<html>", nil),
  ]
  /// In each form, it replaces that of the policy.
  @Test func loadTakesANumberOfRetries() async throws {
    let url = URL.example
    let request = URLRequest(url: url)
    let policy = RetryPolicy.quick(maxRetries: 5)
    let script = NetworkScript([.status(503)])
    func attempts(_ call: () async throws -> Void) async -> Int {
      let before = script.requests.count
      try? await call()
      return script.requests.count - before
    }
    let endpoint = AdHocEndpoint<Int>.get(url, as: Int.self)
    let counts = [
      await attempts { _ = try await script.load(endpoint, maxRetries: 2, policy: policy) },
      await attempts { _ = try await script.loadResponse(endpoint, maxRetries: 2, policy: policy) },
      await attempts { let _: Int = try await script.load(url, maxRetries: 2, policy: policy) },
      await attempts { let _: Int = try await script.load(request, maxRetries: 2, policy: policy) },
      await attempts { _ = try await script.load(endpoint, as: Int.self, maxRetries: 2, policy: policy) },
      await attempts {
        await handlerValue { script.load(endpoint, maxRetries: 2, policy: policy, completionHandler: $0) }
      },
      await attempts {
        await handlerValue { script.loadResponse(endpoint, maxRetries: 2, policy: policy, completionHandler: $0) }
      },
      await attempts {
        await handlerValue {
          script.load(request, as: Int.self, maxRetries: 2, policy: policy, completionHandler: $0)
        }
      },
    ]
    #expect(counts == Array(repeating: 3, count: 8))
    #expect(await attempts { _ = try await script.load(endpoint, policy: policy) } == 6)
  }

  @Test(arguments: failures, [0, 1]) func decodesServiceErrors(
    _ row: (status: Int, body: String, code: String?), _ retries: Int
  ) async throws {
    let (status, body, code) = row
    let client = Self.client(NetworkScript([.status(status, body)]))
    let error = try #require(
      await #expect(throws: NetworkError.self) {
        try await client.load(Strict(), policy: RetryPolicy(maxRetries: retries))
      })
    #expect(error.statusCode == status && error.data ?? Data() == Data(body.utf8))
    #expect(error.serviceError(as: Failure.self)?.code == code)
    #expect(error.serviceError(as: URLError.self) == nil)
  }

  /// A 2xx body that cannot be decoded is not a service error.
  @Test func doesNotDecodeASuccessAsAServiceError() async throws {
    let client = Self.client(NetworkScript([.ok(#"{"code":"a"}"#)]))
    let error = try #require(await #expect(throws: NetworkError.self) { try await client.load(Strict()) })
    guard case .undecodable(let reason, let response, let data) = error else { Issue.record("\(error)"); return }
    #expect(reason is DecodingError && response.statusCode == 200 && data == Data(#"{"code":"a"}"#.utf8))
    #expect(error.serviceError(as: Failure.self) == nil)
  }

  struct Dated: Decodable, Error, Equatable { var at: Date }
  struct DatedCall: Endpoint {
    typealias Response = Dated
    var path: String { "/" }
  }
  @Test func decodesServiceErrorsWithTheDecoderThatIsPassed() async throws {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .secondsSince1970
    var client = Self.client(NetworkScript([.status(400, #"{"at":9}"#), .ok(#"{"at":8}"#)]))
    client.decoder = decoder
    let error = try #require(await #expect(throws: NetworkError.self) { try await client.load(DatedCall()) })
    #expect(error.serviceError(as: Dated.self, decoder: decoder)?.at == Date(timeIntervalSince1970: 9))
    #expect(try await client.load(DatedCall()).at == Date(timeIntervalSince1970: 8))
  }

  @Test func everyFormOfLoadGivesTheSameResult() async throws {
    let server = try LoopbackServer { request in
      request.index % 2 == 0 ? .status(503) : .status(201, [("X-A", "1")], body: "7")
    }
    let session = URLSession(configuration: .ephemeral)
    let call = Call<Int>(scheme: "http", host: "127.0.0.1", port: Int(server.port))
    let policy = RetryPolicy.quick()
    #expect(try await session.load(call, policy: policy) == 7)
    let response = try await session.loadResponse(call, policy: policy)
    #expect(response.value == 7 && response.data == Data("7".utf8) && response.attempts.count == 2)
    #expect(response.statusCode == 201 && response.source == .network)
    let result = await handlerValue { session.loadResponse(call, policy: policy, completionHandler: $0) }
    #expect(try result.get().value == 7 && result.get().attempts.count == 2)
    let once = await handlerValue { session.load(call, policy: .never, completionHandler: $0) }
    guard case .failure(let error) = once else { Issue.record("retried"); return }
    #expect(error.statusCode == 503 && server.requests.count == 7)
  }

  @Test func responseInitializerHasDefaults() throws {
    let head = try HTTPURLResponse.made(203)
    let response = NetworkResponse(value: 1, response: head)
    #expect(response.value == 1 && response.data.isEmpty && response.attempts.isEmpty && response.source == .network)
    var cached = NetworkResponse(value: 2, response: head, data: Data([1]))
    cached.source = .cache
    #expect(cached.data == Data([1]) && cached.source == .cache && cached.response.statusCode == 203)
  }
}
