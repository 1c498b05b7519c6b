import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Calls without a type of their own, generic endpoints, and members that are written with another type.
@Suite struct EndpointCallTests {
  struct User: Codable, Equatable { var firstName: String }

  static func client(_ script: NetworkScript) -> NetworkClient {
    NetworkClient(baseURL: URL(string: "https://a.example/v2"), policy: .never, script: script)
  }

  // MARK: Calls without a type

  @Test func eachMethodSendsItsRequest() async throws {
    let script = NetworkScript.scripted([.ok(#"{"firstName":"B"}"#)])
    let client = Self.client(script)
    let bella = User(firstName: "B")
    #expect(try await client.load(.get("/users/1", as: User.self)) == bella)
    #expect(try await client.load(.post("/users", body: .json(bella), as: User.self)) == bella)
    #expect(try await client.load(.put("/users/1", body: .json(bella), as: User?.self)) == bella)
    #expect(try await client.load(.patch("/users/1", body: .json(["firstName": "C"]), as: User.self)) == bella)
    let deleted = try await client.load(.delete("/users/1", as: JSONValue.self))
    #expect(deleted["firstName"] == "B")
    #expect(script.requests.map(\.httpMethod) == ["GET", "POST", "PUT", "PATCH", "DELETE"])
    let paths = script.requests.map { $0.url?.path ?? "" }
    #expect(paths == ["/v2/users/1", "/v2/users", "/v2/users/1", "/v2/users/1", "/v2/users/1"])
    let bodies = script.requests.map { $0.httpBody.map { String(decoding: $0, as: UTF8.self) } }
    #expect(bodies == [nil, #"{"firstName":"B"}"#, #"{"firstName":"B"}"#, #"{"firstName":"C"}"#, nil])
    for request in script.requests { #expect(request.value(forHTTPHeaderField: "Accept") == "application/json") }
  }

  @Test func aCallWithoutATypeIgnoresTheBodyOfTheResponse() async throws {
    let script = NetworkScript.scripted([.ok("no JSON")])
    let client = Self.client(script)
    try await client.load(.post("/x"))
    try await client.load(.put("/x", body: .text("t")))
    try await client.load(.patch("/x"))
    try await client.load(.delete("/x", headers: [.init("X-A", "1")]))
    #expect(script.requests.map(\.httpMethod) == ["POST", "PUT", "PATCH", "DELETE"])
    #expect(script.requests.last?.value(forHTTPHeaderField: "X-A") == "1")
    #expect(script.requests.allSatisfy { $0.value(forHTTPHeaderField: "Accept") == nil })
  }

  @Test func aCallHasAQueryAndHeaders() async throws {
    let script = NetworkScript.scripted([.ok("text")])
    let page: Int? = nil
    let text = try await Self.client(script).load(
      .get("/a b", query: ["q": "x&y", "page": page, "tag": [1, 2]], headers: [.init("X-A", "1")], as: String.self))
    #expect(text == "text")
    #expect(script.requests.first?.url?.absoluteString == "https://a.example/v2/a%20b?q=x%26y&tag=1&tag=2")
    #expect(script.requests.first?.value(forHTTPHeaderField: "X-A") == "1")
  }

  @Test func eachMethodHasAQueryAndHeaders() async throws {
    let script = NetworkScript.scripted([.ok("1")])
    let client = Self.client(script)
    let (query, headers) = (["q": "x"] as QueryEncoder.Values, [URLRequest.Header("X-A", "1")])
    let body = URLRequest.Body.text("b")
    _ = try await client.load(.get("/x", query: query, headers: headers, as: Int.self))
    _ = try await client.load(.delete("/x", query: query, headers: headers, as: Int.self))
    try await client.load(.delete("/x", query: query, headers: headers))
    _ = try await client.load(.post("/x", query: query, headers: headers, body: body, as: Int.self))
    try await client.load(.post("/x", query: query, headers: headers, body: body))
    _ = try await client.load(.put("/x", query: query, headers: headers, body: body, as: Int.self))
    try await client.load(.put("/x", query: query, headers: headers, body: body))
    _ = try await client.load(.patch("/x", query: query, headers: headers, body: body, as: Int.self))
    try await client.load(.patch("/x", query: query, headers: headers, body: body))
    let requests = script.requests
    #expect(requests.count == 9 && requests.allSatisfy { $0.url?.absoluteString == "https://a.example/v2/x?q=x" })
    #expect(requests.allSatisfy { $0.value(forHTTPHeaderField: "X-A") == "1" })
    let (without, with) = (requests.prefix(3), requests.suffix(6))
    #expect(without.allSatisfy { $0.httpBody == nil } && with.allSatisfy { $0.httpBody == Data("b".utf8) })
    #expect(requests.map(\.httpMethod) == ["GET", "DELETE", "DELETE", "POST", "POST", "PUT", "PUT", "PATCH", "PATCH"])
  }

  @Test func eachMethodTakesEachTypeOfResponse() async throws {
    let script = NetworkScript.scripted([.response(201, headers: ["X-Page": "7"], body: Data("[1]".utf8))])
    let client = Self.client(script)
    try await client.load(.get("/x", as: Void.self))
    try await client.load(.post("/x", body: .text("b"), as: Void.self))
    try await client.load(.put("/x", as: Void.self))
    try await client.load(.patch("/x", as: Void.self))
    try await client.load(.delete("/x", as: Void.self))
    let responses = [
      try await client.load(.get("/x", query: ["a": 1], as: HTTPURLResponse.self)),
      try await client.load(.post("/x", body: .text("b"), as: HTTPURLResponse.self)),
      try await client.load(.put("/x", body: .text("b"), as: HTTPURLResponse.self)),
      try await client.load(.patch("/x", body: .text("b"), as: HTTPURLResponse.self)),
      try await client.load(.delete("/x", headers: [.init("X-A", "1")], as: HTTPURLResponse.self)),
    ]
    #expect(responses.map(\.statusCode) == [201, 201, 201, 201, 201])
    #expect(responses.allSatisfy { $0.value(forHTTPHeaderField: "X-Page") == "7" })
    let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    #expect(script.requests.map(\.httpMethod) == methods + methods)
    #expect(script.requests.allSatisfy { $0.value(forHTTPHeaderField: "Accept") == nil })
    #expect(script.requests.count { $0.httpBody == Data("b".utf8) } == 4)
    #expect(script.requests.last?.value(forHTTPHeaderField: "X-A") == "1")

    #expect(try await client.load(.get("/x", as: Data.self)) == Data("[1]".utf8))
    #expect(try await client.load(.post("/x", as: Data?.self)) == Data("[1]".utf8))
    #expect(try await client.load(.put("/x", as: String.self)) == "[1]")
    #expect(try await client.load(.patch("/x", as: String?.self)) == "[1]")
    #expect(try await client.load(.delete("/x", as: [Int]?.self)) == [1])
    #expect(try await client.load(.delete("/x", as: JSONValue.self)) == [1])
    let endpoint = AdHocEndpoint.get("/x", as: Void.self)
    try await client.load(endpoint)
  }

  @Test func jsonHasItsKeysInOrder() async throws {
    let names = (0..<40).map { "key\($0)" }
    let text = "{" + names.sorted().map { "\"\($0)\":1" }.joined(separator: ",") + "}"
    let (values, other) = (
      Dictionary(uniqueKeysWithValues: names.map { ($0, 1) }),
      Dictionary(
        uniqueKeysWithValues: names.reversed().map { ($0, 1 as (any Encodable & Sendable)?) })
    )
    let literal: JSONValue = JSONValue(values.mapValues { JSONValue($0) })
    let script = NetworkScript.scripted([.ok("")])
    let client = Self.client(script)
    for body in [URLRequest.Body.json(values), .json(other), .json(literal), .json(literal, encoder: nil)] {
      try await client.load(.post("/x", body: body))
    }
    #expect(script.requests.map { String(decoding: $0.httpBody ?? Data(), as: UTF8.self) } == [text, text, text, text])

    // An encoder of the caller or the client is used as it is.
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted]
    try await client.load(.post("/x", body: .json(["a": "1"], encoder: encoder)))
    var own = client
    own.encoder = encoder
    try await own.load(.post("/x", body: .json(["a": "1"] as [String: String])))
    for request in script.requests.suffix(2) {
      #expect(String(decoding: request.httpBody ?? Data(), as: UTF8.self).contains("\n"))
    }
    #expect(encoder.outputFormatting == [.prettyPrinted])
  }

  @Test func jsonOfSeveralTypesUsesItsEncoder() async throws {
    let script = NetworkScript.scripted([.ok("")])
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    encoder.keyEncodingStrategy = .convertToSnakeCase
    let (name, age) = ("Bella", 3)
    try await Self.client(script).load(.post("/x", body: .json(["firstName": name, "age": age], encoder: encoder)))
    let values = ["pet": User(firstName: "B"), "age": age] as QueryEncoder.Values
    try await Self.client(script).load(.post("/x", body: .json(values, encoder: encoder)))
    let bodies = script.requests.map { String(decoding: $0.httpBody ?? Data(), as: UTF8.self) }
    #expect(bodies.last == #"{"age":3,"pet":{"first_name":"B"}}"#)
    #expect(bodies.first?.contains(#""age":3"#) == true)
  }

  @Test func aCallUsesTheCodersOfTheClient() async throws {
    let script = NetworkScript.scripted([.ok(#"{"first_name":"B"}"#)])
    var client = Self.client(script)
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    encoder.keyEncodingStrategy = .convertToSnakeCase
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    (client.encoder, client.decoder) = (encoder, decoder)
    let user = User(firstName: "B")
    #expect(try await client.load(.post("/users", body: .json(user), as: User.self)) == user)
    #expect(script.requests.first?.httpBody == Data(#"{"first_name":"B"}"#.utf8))
  }

  @Test func whatCannotBeDecodedIsAnErrorAndNothingEmptyIsDecoded() async throws {
    let client = Self.client(.scripted([.ok("1"), .status(204)]))
    await #expect(throws: NetworkError.self) { try await client.load(.get("/x", as: User.self)) }
    await #expect(throws: NetworkError.self) { try await client.load(.get("/x", as: User.self)) }
    #expect(try await client.load(.get("/x", as: User?.self)) == nil)
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

  @Test func aGenericEndpointIsParsedAsItsParameter() async throws {
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

  @Test func aMemberMayHaveTheTypeThatComesNaturally() async throws {
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

  @Test func aMemberThatIsReadHasTheTypeOfTheProtocol() throws {
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
  @Test func theOlderFormsOfParseAreUsed() async throws {
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

  @Test func anErrorOfTheServiceThatParseThrowsIsAServiceError() async throws {
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
