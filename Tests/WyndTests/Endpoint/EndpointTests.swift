import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Generic endpoints, every requirement at once, and errors that `parse` throws.
@Suite struct EndpointTests {
  static func client(_ script: NetworkScript) -> NetworkClient {
    NetworkClient(baseURL: URL(string: "https://a.example/v2"), on: script, policy: .never)
  }

  // MARK: Generic endpoints

  struct Call<Response: Decodable & Sendable>: Endpoint {
    let path: String
  }
  struct Numbers: Endpoint {
    typealias Response = [Int]
    let path = "/numbers"
  }

  /// Endpoints of several types, in one list, and none of their responses has to be cast.
  @Test func loadsAnyEndpointOfOneResponse() async throws {
    let calls: [any Endpoint<[Int]>] = [Call(path: "/call"), Numbers(), AdHocEndpoint.get("/adhoc")]
    let script = NetworkScript([.ok("[1]"), .ok("[2]"), .ok("[3]")])
    var sum = 0
    for call in calls { sum += try await Self.client(script).load(call).reduce(0, +) }
    #expect(sum == 6)
    #expect(script.requests.map { $0.url?.lastPathComponent } == ["call", "numbers", "adhoc"])
  }

  // MARK: Every requirement

  struct Complete: Endpoint {
    typealias Response = Int
    let scheme = "http"
    let host = "b.example"
    let port: Int? = 8080
    let path = "/ignored"
    let percentEncodedPath = "/a%2Fb"
    let method: NetworkMethod = "PURGE"
    let headers = ["X-A": "1"]
    let body: RequestBody = .text("b")
    let policy: RetryPolicy = RetryPolicy(maxRetries: 0)
    var queryItems: [URLQueryItem] { [URLQueryItem(name: "q", value: "1")] }
    func prepare(request: inout URLRequest) { request.timeoutInterval = 7 }
    func parse(data: Data, response: HTTPURLResponse, decoder: JSONDecoder) -> Int { response.statusCode + data.count }
  }

  @Test func usesEveryMemberOfAnEndpoint() async throws {
    let script = NetworkScript([.ok("abc"), .status(503)])
    #expect(try await script.load(Complete()) == 203)
    let request = try #require(script.requests.first)
    #expect(request.url?.absoluteString == "http://b.example:8080/a%2Fb?q=1" && request.httpMethod == "PURGE")
    #expect(request.httpBody == Data("b".utf8) && request.timeoutInterval == 7)
    #expect(request.value(forHTTPHeaderField: "X-A") == "1")
    let error = await #expect(throws: NetworkError.self) { try await script.load(Complete()) }
    #expect(error?.statusCode == 503)
    // The policy of the endpoint does not retry.
    #expect(script.requests.count == 2)
  }

  @Test func everyRequirementHasADefaultExceptPathAndResponse() throws {
    let call = Call<Int>(path: "/a b")
    #expect(call.scheme == "https" && call.host.isEmpty && call.port == nil && call.percentEncodedPath == "/a%20b")
    #expect(call.method == .get && call.headers.isEmpty && call.policy.maxRetries == nil)
    #expect(try call.queryItems.isEmpty)
  }

  struct Checked: Endpoint {
    struct Empty: Error {}
    typealias Response = Void
    let path = "/x"
    func parse(data: Data, response: HTTPURLResponse, decoder: JSONDecoder) throws {
      if data.isEmpty { throw Empty() }
    }
  }
  struct OtherHeaders: Endpoint {
    let path = "/x"
    func parse(data: Data, response: HTTPURLResponse, decoder: JSONDecoder) throws -> HTTPURLResponse {
      let url = try #require(response.url)
      return try HTTPURLResponse.made(299, url: url)
    }
  }
  @Test func customParseReplacesTheDefaultOfEachResponseType() async throws {
    let client = Self.client(NetworkScript([.status(200), .ok("abc"), .ok("abc")]))
    let error = await #expect(throws: NetworkError.self) { try await client.load(Checked()) }
    #expect(error?.serviceError(as: Checked.Empty.self) != nil)
    try await client.load(Checked())
    #expect(try await client.load(OtherHeaders()).statusCode == 299)
  }

  // MARK: Errors of the service in a successful response

  struct Envelope: Endpoint {
    struct Failure: Error, Decodable, Equatable { var code: Int }
    struct Other: Error {}
    let path = "/x"
    func parse(data: Data, response: HTTPURLResponse, decoder: JSONDecoder) throws -> String {
      if data.isEmpty { throw Other() }
      if let error = try? decoder.decode(Failure.self, from: data) { throw error }
      return data.text
    }
  }

  @Test func reportsAnErrorThrownByParse() async throws {
    let client = Self.client(NetworkScript([.ok(#"{"code":7}"#), .ok("fine"), .status(200)]))
    let error = await #expect(throws: NetworkError.self) { try await client.load(Envelope()) }
    guard case .undecodable(_, let response, let data)? = error else {
      Issue.record("\(String(describing: error))"); return
    }
    #expect(error?.serviceError(as: Envelope.Failure.self) == Envelope.Failure(code: 7))
    #expect(response.statusCode == 200 && data == Data(#"{"code":7}"#.utf8))
    #expect(try await client.load(Envelope()) == "fine")
    let other = await #expect(throws: NetworkError.self) { try await client.load(Envelope()) }
    guard case .undecodable(is Envelope.Other, _, _)? = other else {
      Issue.record("\(String(describing: other))"); return
    }
  }
}
