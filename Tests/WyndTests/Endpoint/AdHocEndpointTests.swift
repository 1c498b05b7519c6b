import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Calls that are written without an endpoint type, such as `client.load(.get("/users/1", as: User.self))`.
@Suite struct AdHocEndpointTests {
  struct User: Codable, Equatable { var firstName: String }

  @Test func sendsEachMethod() async throws {
    let script = NetworkScript([.ok(#"{"firstName":"B"}"#)])
    let client = EndpointTests.client(script)
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

  @Test func ignoresTheResponseBodyWithoutAResponseType() async throws {
    let script = NetworkScript([.ok("no JSON")])
    let client = EndpointTests.client(script)
    try await client.load(.post("/x"))
    try await client.load(.put("/x", body: .text("t")))
    try await client.load(.patch("/x"))
    try await client.load(.delete("/x", headers: [.init("X-A", "1")]))
    #expect(script.requests.map(\.httpMethod) == ["POST", "PUT", "PATCH", "DELETE"])
    #expect(script.requests.last?.value(forHTTPHeaderField: "X-A") == "1")
    #expect(script.requests.allSatisfy { $0.value(forHTTPHeaderField: "Accept") == nil })
  }

  @Test func sendsQueryAndHeaders() async throws {
    let script = NetworkScript([.ok("text")])
    let page: Int? = nil
    let text = try await EndpointTests.client(script).load(
      .get("/a b", query: ["q": "x&y", "page": page, "tag": [1, 2]], headers: [.init("X-A", "1")], as: String.self))
    #expect(text == "text")
    #expect(script.requests.first?.url?.absoluteString == "https://a.example/v2/a%20b?q=x%26y&tag=1&tag=2")
    #expect(script.requests.first?.value(forHTTPHeaderField: "X-A") == "1")
  }

  @Test func sendsQueryAndHeadersWithEachMethod() async throws {
    let script = NetworkScript([.ok("1")])
    let client = EndpointTests.client(script)
    let query: NetworkQuery = ["q": "x"]
    let headers: NetworkHeaders = ["X-A": "1"]
    let body = RequestBody.text("b")
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
    let script = NetworkScript([.response(201, headers: ["X-Page": "7"], body: Data("[1]".utf8))])
    let client = EndpointTests.client(script)
    try await client.load(.get("/x", as: Void.self))
    try await client.load(.post("/x", body: .text("b"), as: Void.self))
    try await client.load(.put("/x", as: Void.self))
    try await client.load(.patch("/x", as: Void.self))
    try await client.load(.delete("/x", as: Void.self))
    let responses = [
      try await client.loadResponse(.get("/x", query: ["a": 1], as: Void.self)).response,
      try await client.loadResponse(.post("/x", body: .text("b"))).response,
      try await client.loadResponse(.put("/x", body: .text("b"))).response,
      try await client.loadResponse(.patch("/x", body: .text("b"))).response,
      try await client.loadResponse(.delete("/x", headers: [.init("X-A", "1")])).response,
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
    let json = try await client.load(.delete("/x", as: JSONValue.self))
    #expect(json == [1])
    let endpoint = AdHocEndpoint.get("/x", as: Void.self)
    try await client.load(endpoint)
  }

  @Test func sortsKeysOfJSONUnlessAnEncoderIsGiven() async throws {
    let names = (0..<40).map { "key\($0)" }
    let text = "{" + names.sorted().map { "\"\($0)\":1" }.joined(separator: ",") + "}"
    let (values, other) = (
      Dictionary(uniqueKeysWithValues: names.map { ($0, 1) }),
      Dictionary(
        uniqueKeysWithValues: names.reversed().map { ($0, 1 as (any Encodable & Sendable)?) })
    )
    let literal = JSONValue.object(values.mapValues { .integer($0) })
    let script = NetworkScript([.ok("")])
    let client = EndpointTests.client(script)
    for body in [RequestBody.json(values), .json(other), .json(literal), .json(literal, encoder: nil)] {
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

  @Test func encodesJSONOfMixedTypesWithItsEncoder() async throws {
    let script = NetworkScript([.ok("")])
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    encoder.keyEncodingStrategy = .convertToSnakeCase
    let (name, age) = ("Bella", 3)
    try await EndpointTests.client(script).load(
      .post("/x", body: .json(["firstName": name, "age": age], encoder: encoder)))
    let values = ["pet": User(firstName: "B"), "age": age] as QueryEncoder.Values
    try await EndpointTests.client(script).load(.post("/x", body: .json(values, encoder: encoder)))
    let bodies = script.requests.map { String(decoding: $0.httpBody ?? Data(), as: UTF8.self) }
    #expect(bodies.last == #"{"age":3,"pet":{"first_name":"B"}}"#)
    #expect(bodies.first?.contains(#""age":3"#) == true)
  }

  @Test func encoderOfABodyTakesPrecedenceOverThatOfTheClient() async throws {
    let script = NetworkScript([.ok("")])
    var client = EndpointTests.client(script)
    let (ofBody, ofClient) = (JSONEncoder(), JSONEncoder())
    ofClient.keyEncodingStrategy = .convertToSnakeCase
    client.encoder = ofClient
    try await client.load(.post("/users", body: .json(User(firstName: "B"), encoder: ofBody)))
    #expect(script.requests.first?.httpBody == Data(#"{"firstName":"B"}"#.utf8))
  }

  @Test func usesTheCodersOfTheClient() async throws {
    let script = NetworkScript([.ok(#"{"first_name":"B"}"#)])
    var client = EndpointTests.client(script)
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    encoder.keyEncodingStrategy = .convertToSnakeCase
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    (client.encoder, client.decoder) = (encoder, decoder)
    let user = User(firstName: "B")
    #expect(try await client.load(.post("/users", body: .json(user), as: User.self)) == user)
    #expect(script.requests.first?.httpBody == Data(#"{"first_name":"B"}"#.utf8))
  }

  @Test func failsForUndecodableAndEmptyBodies() async throws {
    let client = EndpointTests.client(NetworkScript([.ok("1"), .status(204)]))
    await #expect(throws: NetworkError.self) { try await client.load(.get("/x", as: User.self)) }
    await #expect(throws: NetworkError.self) { try await client.load(.get("/x", as: User.self)) }
    #expect(try await client.load(.get("/x", as: User?.self)) == nil)
  }
}
