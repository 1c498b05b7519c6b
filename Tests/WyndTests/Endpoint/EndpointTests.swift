import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Generic endpoints, shorthand types of requirements, and errors that `parse` throws.
@Suite struct EndpointTests {
  static func client(_ script: NetworkScript) -> NetworkClient {
    NetworkClient(baseURL: URL(string: "https://a.example/v2"), policy: .never, script: script)
  }

  // MARK: Generic endpoints

  struct Call<Response: Decodable & Sendable>: Endpoint {
    let path: String
  }
  struct Plain<Response: Sendable>: Endpoint {
    let path: String
    let parsed: @Sendable (Data) throws -> Response
    func parse(data: Data, response: HTTPURLResponse) throws -> Response { try parsed(data) }
  }

  @Test func parsesGenericEndpointsAsTheirParameter() async throws {
    let client = Self.client(.scripted([.ok("[1,2]")]))
    #expect(try await client.load(Call<[Int]>(path: "/x")) == [1, 2])
    #expect(try await client.load(Call<Data>(path: "/x")) == Data("[1,2]".utf8))
    #expect(try await client.load(Plain(path: "/x") { $0.count }) == 5)
  }

  // MARK: Shorthands

  struct Short: Endpoint {
    typealias Response = Void
    let host: String? = "b.example"
    let port = 8080
    let path = "/x"
    let method = "PURGE"
    let headers = ["X-B": "2", "X-A": "1"]
    let decoder = JSONDecoder()
    let policy = RetryPolicy(maxRetries: 0)
    var queryItems: [URLQueryItem]? { [URLQueryItem(name: "q", value: "1")] }
    var body: URLRequest.Body { .text("b") }
    func prepare(_ request: inout URLRequest) { request.timeoutInterval = 7 }
  }

  @Test func acceptsShorthandTypesForRequirements() async throws {
    let script = NetworkScript.scripted([.status(503)])
    let error = await #expect(throws: NetworkError.self) { try await script.load(Short()) }
    #expect(error?.statusCode == 503)
    // The policy of the endpoint does not retry.
    #expect(script.requests.count == 1)
    let request = try #require(script.requests.first)
    #expect(request.url?.absoluteString == "https://b.example:8080/x?q=1" && request.httpMethod == "PURGE")
    #expect(request.httpBody == Data("b".utf8) && request.timeoutInterval == 7)
    #expect(request.value(forHTTPHeaderField: "X-A") == "1" && request.value(forHTTPHeaderField: "X-B") == "2")
  }

  @Test func readsShorthandRequirementsWithTheirProtocolTypes() throws {
    func read<E: Endpoint>(_ endpoint: E) throws -> String {
      let (host, port, method, headers) = (endpoint.host, endpoint.port, endpoint.method, endpoint.headers)
      let (body, policy, items) = (endpoint.body, endpoint.policy, try endpoint.queryItems)
      for field in endpoint.headers { #expect(field.name.hasPrefix("X-")) }
      return "\(host) \(port ?? 0) \(method.rawValue) \(headers) \(body != nil) \(policy != nil) \(items.count)"
    }
    #expect(try read(Short()) == "b.example 8080 PURGE [X-A: 1, X-B: 2] true true 1")
    #expect(try read(Call<Int>(path: "/")) == " 0 GET [] false false 0")
  }

  struct OfData: Endpoint {
    typealias Response = String
    let path = "/x"
    func parse(_ data: Data) throws -> String { "own \(data.count)" }
  }
  struct OfURLResponse: Endpoint {
    typealias Response = Int
    let path = "/x"
    func parse(data: Data, urlResponse: URLResponse) throws -> Int { data.count }
  }
  @Test func usesTheOlderFormsOfParse() async throws {
    let client = Self.client(.scripted([.ok("abc")]))
    #expect(try await client.load(OfData()) == "own 3")
    #expect(try await client.load(OfURLResponse()) == 3)
    // Also where the body of the response is ignored otherwise.
    let error = await #expect(throws: NetworkError.self) { try await client.load(Refused()) }
    #expect(error?.serviceError(as: Refused.ServiceError.self) != nil)
    try await client.load(Refused(isFine: true))
    #expect(try await client.load(OfHeaders()).statusCode == 299)
  }
  struct Refused: Endpoint {
    struct ServiceError: Error, Decodable {}
    typealias Response = Void
    let path = "/x"
    var isFine = false
    func parse(_ data: Data) throws { if !isFine { throw ServiceError() } }
  }
  struct OfHeaders: Endpoint {
    typealias Response = HTTPURLResponse
    let path = "/x"
    func parse(data: Data, urlResponse: URLResponse) throws -> HTTPURLResponse {
      let url = try #require(urlResponse.url)
      return try #require(HTTPURLResponse(url: url, statusCode: 299, httpVersion: nil, headerFields: nil))
    }
  }

  // MARK: Errors of the service in a successful response

  struct Envelope: Endpoint {
    struct ServiceError: Error, Decodable, Equatable { var code: Int }
    struct Other: Error {}
    let path = "/x"
    func parse(data: Data, response: HTTPURLResponse) throws -> String {
      if data.isEmpty { throw Other() }
      if let error = try? decoder.decode(ServiceError.self, from: data) { throw error }
      return String(decoding: data, as: UTF8.self)
    }
  }

  @Test func reportsAServiceErrorThrownByParse() async throws {
    let client = Self.client(.scripted([.ok(#"{"code":7}"#), .ok("fine"), .status(200)]))
    let error = await #expect(throws: NetworkError.self) { try await client.load(Envelope()) }
    guard case .serviceError(_, let response, let data)? = error else {
      Issue.record("\(String(describing: error))"); return
    }
    #expect(error?.serviceError(as: Envelope.ServiceError.self) == Envelope.ServiceError(code: 7))
    #expect(response.statusCode == 200 && data == Data(#"{"code":7}"#.utf8))
    #expect(try await client.load(Envelope()) == "fine")
    let other = await #expect(throws: NetworkError.self) { try await client.load(Envelope()) }
    guard case .undecodable(is Envelope.Other, _, _)? = other else {
      Issue.record("\(String(describing: other))"); return
    }
  }
}
