import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Calls that are written without an endpoint type, such as `client.load(.get("/users/1", as: User.self))`.
@Suite struct AdHocEndpointTests {
  struct User: Codable, Equatable { var firstName: String }

  @Test func sendsQueryAndHeadersWithEachMethod() async throws {
    let script = NetworkScript([.ok("1")])
    let client = EndpointTests.client(script)
    let query: NetworkValues = ["q": "x"]
    let headers = ["X-A": "1"]
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

  @Test func sortsKeysOfJSONUnlessAnEncoderIsGiven() async throws {
    let names = (0..<40).map { "key\($0)" }
    let text = "{" + names.sorted().map { "\"\($0)\":1" }.joined(separator: ",") + "}"
    let (values, other) = (
      Dictionary(uniqueKeysWithValues: names.map { ($0, 1) }),
      Dictionary(
        uniqueKeysWithValues: names.reversed().map { ($0, 1 as (any Encodable & Sendable)?) })
    )
    let script = NetworkScript([.ok("")])
    let client = EndpointTests.client(script)
    for body in [RequestBody.json(values), .json(other), .json(NetworkObject(other)), .json(other, encoder: nil)] {
      try await client.load(.post("/x", body: body))
    }
    #expect(script.requests.map(\.text) == [text, text, text, text])

    // An encoder of the caller or the client is used as it is.
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted]
    try await client.load(.post("/x", body: .json(["a": "1"], encoder: encoder)))
    var own = client
    own.encoder = encoder
    try await own.load(.post("/x", body: .json(["a": "1"] as [String: String])))
    for request in script.requests.suffix(2) {
      #expect(request.text.contains("\n"))
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
    let values = ["pet": User(firstName: "B"), "age": age] as NetworkValues
    try await EndpointTests.client(script).load(.post("/x", body: .json(values, encoder: encoder)))
    let bodies = script.requests.map(\.text)
    #expect(bodies.last == #"{"age":3,"pet":{"first_name":"B"}}"#)
    #expect(bodies.first?.contains(#""age":3"#) == true)
  }

  @Test func callSetsItsIdempotencyKeyItsTimeOutAndItsPolicy() async throws {
    let script = NetworkScript([.status(503)])
    let key = UUID()
    let calls: [AdHocEndpoint<Void>] = [
      .post("/x", idempotencyKey: key, policy: .never, timeout: 7),
      .patch("/x", idempotencyKey: key, policy: .never, timeout: 7),
      .request("COPY", "/x", idempotencyKey: key, policy: .never, timeout: 7),
      .get("/x", policy: .never, timeout: 7), .put("/x", policy: .never, timeout: 7),
      .delete("/x", policy: .never, timeout: 7),
    ]
    for call in calls { await #expect(throws: NetworkError.self) { try await script.load(call) } }
    let keys = script.values(of: "Idempotency-Key")
    let text = "\"\(key.uuidString)\""
    #expect(keys == [text, text, text, nil, nil, nil])
    // None is retried.
    #expect(script.requests.map(\.timeoutInterval) == [7, 7, 7, 7, 7, 7])
    // The policy of the call takes precedence over that of the endpoint.
    await #expect(throws: NetworkError.self) {
      try await script.load(calls[3], policy: RetryPolicy(maxRetries: 1))
    }
    #expect(script.requests.count == 8)
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
}
