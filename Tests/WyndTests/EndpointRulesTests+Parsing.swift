import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension EndpointRulesTests {
  // MARK: Responses

  static let texts: [(type: String?, bytes: [UInt8], text: String?)] = [
    (nil, Array("é".utf8), "é"), (nil, [0xE9], nil), ("text/plain; charset=us-ascii", [97], "a"),
    ("text/plain; charset=utf8", [0xC3, 0xA9], "é"), ("text/plain; charset=latin1", [0xE9], "é"),
    ("text/plain; Charset=\"ISO-8859-1\"", [0xE9], "é"), ("text/plain; charset=windows-1252", [0x80], "€"),
    ("text/plain; charset=utf-16", [0xFE, 0xFF, 0, 97], "a"), ("text/plain; charset=shift_jis", [0x82, 0xA0], "あ"),
    ("text/plain; charset=Shift_JIS; x=y", [0x82, 0xA0], "あ"), ("text/plain; charset=koi8-r", [97, 98], "ab"),
    ("text/plain; charset=koi8-r", [0xC1], nil), ("text/plain; charset=koi8-r", [97, 0], nil),
    ("text/plain; charset=utf-8", [0xFF], nil),
  ]
  @Test(arguments: texts.indices) func aTextIsReadInItsCharset(_ row: Int) async throws {
    let (type, bytes, text) = Self.texts[row]
    let script = NetworkScript.scripted([
      .response(200, headers: type.map { ["Content-Type": $0] } ?? [:], body: Data(bytes))
    ])
    do throws(NetworkError) {
      #expect(try await Self.client(script).load(Call<String>()) == text)
    } catch {
      guard case .undecodable(_, _, let data) = error, text == nil else { Issue.record("\(error)"); return }
      #expect(data == Data(bytes))
    }
  }

  struct Failure: Error, Decodable, Equatable { var code: String }
  struct Strict: Endpoint {
    typealias Response = Int
    typealias ServiceError = Failure
    var path: String { "/" }
  }

  static let failures: [(status: Int, body: String, code: String?)] = [
    (400, #"{"code":"a"}"#, "a"), (404, #"{"code":"a"}"#, "a"), (500, #"{"code":"a"}"#, "a"), (400, "{}", nil),
    (400, "", nil), (503, "<html>", nil),
  ]
  @Test(arguments: failures.indices, [0, 1]) func anErrorOfTheServiceIsTypedIfItCanBeRead(
    _ row: Int, _ retries: Int
  ) async throws {
    let (status, body, code) = Self.failures[row]
    let client = Self.client(.scripted([.status(status, body)]))
    let error = try #require(
      await #expect(throws: NetworkError.self) { try await client.load(Strict(), maxRetries: retries) })
    #expect(error.statusCode == status && error.data ?? Data() == Data(body.utf8))
    #expect(error.serviceError(as: Failure.self)?.code == code)
    #expect(error.serviceError(as: URLError.self) == nil)
  }

  /// A success that cannot be read is no error of the service.
  @Test func aSuccessIsNotTakenForAnErrorOfTheService() async throws {
    let client = Self.client(.scripted([.ok(#"{"code":"a"}"#)]))
    let error = try #require(await #expect(throws: NetworkError.self) { try await client.load(Strict()) })
    guard case .undecodable(let reason, let response, let data) = error else { Issue.record("\(error)"); return }
    #expect(reason is DecodingError && response.statusCode == 200 && data == Data(#"{"code":"a"}"#.utf8))
    #expect(error.serviceError(as: Failure.self) == nil)
  }

  struct Dated: Decodable, Error, Equatable { var at: Date }
  struct DatedCall: Endpoint {
    typealias Response = Dated
    typealias ServiceError = Dated
    var path: String { "/" }
  }
  @Test func theDecoderOfTheClientReadsErrorsToo() async throws {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .secondsSince1970
    var client = Self.client(.scripted([.status(400, #"{"at":9}"#), .ok(#"{"at":8}"#)]))
    client.decoder = decoder
    let error = try #require(await #expect(throws: NetworkError.self) { try await client.load(DatedCall()) })
    #expect(error.serviceError(as: Dated.self)?.at == Date(timeIntervalSince1970: 9))
    #expect(try await client.load(DatedCall()).at == Date(timeIntervalSince1970: 8))
  }

  @Test func theEncoderOfTheClientEncodesValuesAndNotLiterals() async throws {
    let script = NetworkScript.scripted([.status(400)])
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    var client = Self.client(script)
    client.encoder = encoder
    struct Both: Endpoint {
      typealias Response = Void
      struct Name: Encodable { var firstName = "B" }
      var isLiteral = false
      var path: String { "/" }
      var method: URLRequest.Method { .post }
      var body: URLRequest.Body? { isLiteral ? .json(["firstName": "B"] as JSONValue) : .json(Name()) }
    }
    for isLiteral in [false, true] { _ = try? await client.load(Both(isLiteral: isLiteral)) }
    let sent = script.requests.map { String(decoding: $0.httpBody ?? Data(), as: UTF8.self) }
    #expect(sent == [#"{"first_name":"B"}"#, #"{"firstName":"B"}"#])
  }

  @Test func eachFormOfLoadOfASessionGivesTheSame() async throws {
    let server = try LoopbackServer { request in
      request.index % 2 == 0 ? .status(503) : .status(201, [("X-A", "1")], body: "7")
    }
    let session = URLSession(configuration: .ephemeral)
    let call = Call<Int>(scheme: "http", host: "127.0.0.1", port: Int(server.port))
    let policy = RetryPolicy(backoff: .none, budget: nil)
    #expect(try await session.load(call, policy: policy) == 7)
    let response = try await session.loadResponse(call, policy: policy)
    #expect(response.value == 7 && response.data == Data("7".utf8) && response.attempts.count == 2)
    #expect(response.response.statusCode == 201 && response.source == .network)
    let result: Result<EndpointResponse<Int>, NetworkError> = await withCheckedContinuation { continuation in
      session.loadResponse(call, policy: policy) { continuation.resume(returning: $0) }
    }
    #expect(try result.get().value == 7 && result.get().attempts.count == 2)
    let once: Result<Int, NetworkError> = await withCheckedContinuation { continuation in
      session.load(call, maxRetries: 0, policy: policy) { continuation.resume(returning: $0) }
    }
    guard case .failure(let error) = once else { Issue.record("retried"); return }
    #expect(error.statusCode == 503 && server.requests.count == 7)
  }

  @Test func aResponseForATestHasItsDefaults() throws {
    let head = HTTPURLResponse(
      url: try #require(URL(string: "https://a.example")), statusCode: 203, httpVersion: nil, headerFields: nil)
    let response = EndpointResponse(value: 1, response: try #require(head))
    #expect(response.value == 1 && response.data.isEmpty && response.attempts.isEmpty && response.source == .network)
    let cached = EndpointResponse(value: 2, response: try #require(head), data: Data([1]), source: .cache)
    #expect(cached.data == Data([1]) && cached.source == .cache && cached.response.statusCode == 203)
  }

  // MARK: Query values

  static let encoders: [(QueryEncoder, [String: (any Encodable & Sendable)?], String)] = [
    (.init(), ["b": true, "a": false], "a=false&b=true"),
    (.init(), ["a": [[1, 2], [3]]], "a[0]=1&a[0]=2&a[1]=3"),
    (.init(arrays: .brackets), ["a": [[1, 2], [3]]], "a[0][]=1&a[0][]=2&a[1][]=3"),
    (.init(arrays: .commas), ["a": [[1, 2], [3]]], "a[0]=1,2&a[1]=3"),
    (.init(), ["a": [1, nil, [2]] as JSONValue], "a[0]=1&a[1]=2"),
    (.init(), ["a": ["c": ["d": 1]]], "a[c][d]=1"), (.init(), ["a": [1, nil, 2] as [Int?]], "a=1&a=2"),
    (.init(arrays: .commas), ["a": [1, nil, 2] as [Int?]], "a=1,2"),
    (.init(arrays: .commas), ["a": [true, false]], "a=true,false"),
    (.init(), ["a": "true", "b": "1", "c": "null", "d": ""], "a=true&b=1&c=null&d="),
    (.init(), ["a": Date(timeIntervalSince1970: 0)], "a=1970-01-01T00:00:00Z"),
    (.init(dates: .secondsSince1970), ["a": [Date(timeIntervalSince1970: 1.5)]], "a=1.5"),
    (.init(), ["B": 1, "a": 2, "A": 3], "A=3&B=1&a=2"),
    (.init(), ["a": -1.25, "b": 1e21], "a=-1.25&b=1000000000000000000000"),
    (.init(), ["a": URL(string: "https://a.example/?b=c"), "b": UUID?.none], "a=https://a.example/?b=c"),
  ]
  @Test(arguments: encoders.indices) func aQueryIsWrittenByItsConvention(_ row: Int) throws {
    let (encoder, values, text) = Self.encoders[row]
    let items = try encoder.encode(values)
    #expect(items.map { $0.name + ($0.value.map { "=" + $0 } ?? "") }.joined(separator: "&") == text)
  }

  // MARK: JSON without a type

  static let json: [(String, JSONValue)] = [
    ("null", nil), ("true", true), ("false", false), ("0", 0), ("-1", -1), ("1.0", 1), ("1.5", 1.5), ("1e2", 100),
    ("9223372036854775807", 9_223_372_036_854_775_807), ("9223372036854775808", 9_223_372_036_854_775_808.0),
    (#""""#, ""), (#""1""#, "1"), (#""true""#, "true"), ("[]", []), ("{}", [:]), ("[null]", [nil]),
    (#"{"a":null,"b":[{}]}"#, ["a": nil, "b": [[:]]]), ("[[1],[2,[3]]]", [[1], [2, [3]]]),
  ]
  @Test(arguments: json.indices) func jsonIsReadAndWrittenAsItIs(_ row: Int) throws {
    let (text, value) = Self.json[row]
    #expect(try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) == value)
    #expect(try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value)) == value)
  }

  @Test func aPartOfAJSONValueIsThereOrNil() {
    let json: JSONValue = ["a": [1, 2.5, "x", true, nil], "\("b")": 3.0]
    #expect(json["a"]?[0]?.integer == 1 && json["a"]?[1]?.integer == nil && json["a"]?[0]?.number == 1)
    #expect(json["a"]?[1]?.number == 2.5 && json["a"]?[2]?.number == nil && json["a"]?[2]?.string == "x")
    #expect(json["a"]?[0]?.string == nil && json["a"]?[3]?.bool == true && json["a"]?[0]?.bool == nil)
    #expect(json["a"]?[4] == JSONValue(nil) && json["a"]?[5] == nil && json["a"]?["x"] == nil && json[0] == nil)
    #expect(json["b"]?.number == 3 && json["b"]?.integer == nil && json["c"] == nil)
    #expect(json["a"]?.value as? [JSONValue] == [1, 2.5, "x", true, nil] && json["b"] == 3 && json["b"] != 3.5)
    #expect(json.value is [String: JSONValue] && json["a"]?[4]?.value == nil && Set([json, ["b": 3], json]).count == 2)
    let names = ["a", "b"]
    let made = JSONValue(["names": JSONValue(names.map { JSONValue($0) }), "age": 3.0, "none": nil])
    #expect(made == ["names": ["a", "b"], "age": 3, "none": nil] && made["none"] == JSONValue(nil))
    #expect(JSONValue(floatLiteral: .infinity) != 1 && JSONValue(floatLiteral: -0.0) == 0)
    for (levels, isFine) in [(99, true), (102, false)] {
      let text = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
      #expect(((try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))) != nil) == isFine)
    }
  }

  /// Finding E9: each kind of value is read in a multiple of the time of its own type, in nested arrays too.
  @Test func jsonWithoutATypeIsReadInLittleTime() throws {
    // Of this thread: other tests and programs have most of the processor.
    func now() -> Duration {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
    func time<Value: Decodable>(_ type: Value.Type, _ body: String) throws -> Duration {
      try [0, 1, 2].map { _ in
        let began = now()
        _ = try JSONDecoder().decode(type, from: Data(body.utf8))
        return now() - began
      }.min() ?? .zero
    }
    func check<Value: Decodable>(_ type: Value.Type, _ element: String) throws {
      let elements = "[" + Array(repeating: element, count: 20_000).joined(separator: ",") + "]"
      let limit = try time([Value].self, elements) * 15 + .milliseconds(300)
      #expect(try time(JSONValue.self, elements) < limit, "\(element)")
      let deep = String(repeating: "[", count: 80) + elements + String(repeating: "]", count: 80)
      if type != [String: Int].self { #expect(try time(JSONValue.self, deep) < limit, "\(element)") }
    }
    try check(Int.self, "1")
    try check(Bool.self, "true")
    try check(Double.self, "1.5")
    try check(String.self, #""a""#)
    try check([Int].self, "[]")
    try check([String: Int].self, #"{"a":1}"#)
    // Where nested JSON fails, no level is decoded twice: this would not end.
    let bad = String(repeating: #"[{},{"a":"#, count: 51) + "1" + String(repeating: "}]", count: 51)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONValue.self, from: Data(bad.utf8)) }
  }

  @Test func aJSONValuePrintsAsJSON() {
    let json: JSONValue = ["b": [1, 2.5, nil, true], "a": ["c": "x/\"y\""], "d": [:]]
    #expect("\(json)" == #"{"a":{"c":"x/\"y\""},"b":[1,2.5,null,true],"d":{}}"#)
    #expect("\(JSONValue(nil))" == "null" && "\(JSONValue(floatLiteral: .nan))" == "a number that JSON does not have")
  }

  /// A client's key strategy renames properties, and nothing in JSON without a type.
  @Test func theKeysOfAJSONValueStayAsTheyAre() throws {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let text = #"[{"user_id":{"a_b":1}}]"#
    #expect(try decoder.decode(JSONValue.self, from: Data(text.utf8)) == [["user_id": ["a_b": 1]]])
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    #expect(try encoder.encode(["userId": 1] as JSONValue) == Data(#"{"userId":1}"#.utf8))
  }

  // MARK: First mistakes (C8)

  @Test func firstMistakesAreNamed() async throws {
    let script = NetworkScript.scripted([.ok("x")])
    func text(_ call: Plain, base: String = "https://a.example") async -> String {
      do throws(NetworkError) { return "\(try await Self.client(script, base: base).load(call))" } catch {
        return "\(error)"
      }
    }
    #expect(await text(Plain(host: "https://a.example")).contains("the host has a scheme"))
    #expect(await text(Plain(host: ""), base: "").contains("the base URL is nil"))
    #expect(await text(Plain(host: ""), base: "/v2").contains("the base URL has no host"))
    #expect(await text(Plain(body: .text("x"))).contains("a GET has no body"))
    let file = URL(fileURLWithPath: "/nowhere/photo.jpg")
    let photo = Plain(method: .post, body: .multipart([.init(name: "f", file: file)]))
    #expect(await text(photo).contains("photo.jpg"))
    #expect(script.requests.isEmpty)
  }
}
