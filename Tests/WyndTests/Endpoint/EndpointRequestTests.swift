import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The request that an endpoint describes, part by part.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct EndpointRequestTests {
  struct Call<Value: Sendable & Decodable>: Endpoint {
    typealias Response = Value
    var scheme = "https"
    var host = "a.example"
    var port: Int?
    var path = "/"
    var method: NetworkMethod = .get
    var queryItems: [URLQueryItem] = []
    var headers: [String: String] = [:]
    var body: RequestBody = .empty
    var prepared: @Sendable (inout URLRequest) throws -> Void = { _ in }
    func prepare(request: inout URLRequest) throws { try prepared(&request) }
  }
  typealias Plain = Call<Data>

  static func client(_ script: NetworkScript, base: String = "https://a.example") -> NetworkClient {
    NetworkClient(baseURL: URL(string: base), on: script, policy: .never)
  }

  // MARK: Methods

  static let methods: [(NetworkMethod, String)] = [
    (.get, "GET"), (.head, "HEAD"), (.post, "POST"), (.put, "PUT"), (.patch, "PATCH"), (.delete, "DELETE"),
    (.options, "OPTIONS"), (.query, "QUERY"), ("PURGE", "PURGE"), (.init(rawValue: "COPY"), "COPY"),
  ]
  @Test(arguments: methods) func sendsEachMethodUnchanged(_ method: NetworkMethod, _ name: String) throws {
    #expect(try Plain(method: method).request.httpMethod == name)
    #expect(method.rawValue == name)
  }

  // MARK: Addresses
  @Test func encodesAPathSegment() {
    #expect(Plain.percentEncoded(segment: "a/b c;+é%.~") == "a%2Fb%20c%3B%2B%C3%A9%25.~")
  }
  // MARK: Header fields

  static let fields: [(headers: [String: String], body: RequestBody, sent: [String: String])] = [
    ([:], .text("x"), ["content-type": "text/plain; charset=utf-8", "accept": "application/json"]),
    (["content-type": "a/b"], .text("x"), ["content-type": "a/b", "accept": "application/json"]),
    (["ACCEPT": "a/b"], .empty, ["accept": "a/b"]),
    (["X-A": "1", "x-b": "2"], .empty, ["x-a": "1", "x-b": "2", "accept": "application/json"]),
    (["X-A": ""], .empty, ["x-a": "", "accept": "application/json"]),
  ]
  @Test(arguments: fields) func setsHeaderFieldsAndTheirDefaults(
    _ headers: [String: String], _ body: RequestBody, _ sent: [String: String]
  ) throws {
    let method: NetworkMethod = sent["content-type"] == nil ? .get : .post
    let request = try Call<[Int]>(method: method, headers: headers, body: body).request
    let fields = (request.allHTTPHeaderFields ?? [:]).map { ($0.key.lowercased(), $0.value) }
    #expect(Dictionary(fields) { "\($0) and \($1)" } == sent)
  }

  @Test func sendsAcceptOnlyForDecodedTypes() throws {
    func accept(_ endpoint: some Endpoint) throws -> String? {
      try endpoint.request.value(forHTTPHeaderField: "Accept")
    }
    #expect(try accept(Call<Int>()) == "application/json" && accept(Call<Int?>()) == "application/json")
    #expect(try accept(Call<[String: String]>()) == "application/json")
    #expect(try accept(Call<Data>()) == nil && accept(Call<Data?>()) == nil)
    #expect(try accept(Call<String>()) == nil && accept(Call<String?>()) == nil)
    struct Nothing: Endpoint {
      typealias Response = Void
      var host: String { "a.example" }
      var path: String { "/" }
    }
    #expect(try accept(Nothing()) == nil)
  }

  /// An app may send it without a call of this library.
  @Test func requestThatIsReadIsValidated() {
    let error = #expect(throws: NetworkError.self) { try Plain(method: "GE T").request }
    #expect("\(error as Any)".contains("the method is not a token"))
  }

  // MARK: Bodies

  @Test(arguments: [NetworkMethod.get, .head, "get", "Head"]) func rejectsABodyForGETAndHEAD(
    _ method: NetworkMethod
  ) {
    #expect(throws: NetworkError.self) { try Plain(method: method, body: .text("x")).request }
    let call = Plain {
      $0.httpMethod = method.rawValue; $0.httpBody = Data("x".utf8)
    }
    #expect(throws: NetworkError.self) { try call.request }
  }

  static let forms: [([URLQueryItem], String)] = [
    ([], ""), ([.init(name: "a", value: nil)], "a"), ([.init(name: "a", value: "")], "a="),
    ([.init(name: "a", value: "1 2"), .init(name: "a", value: "+%20")], "a=1+2&a=%2B%2520"),
    ([.init(name: "é=", value: "\r\n&~*")], "%C3%A9%3D=%0D%0A%26~%2A"),
  ]
  @Test(arguments: forms) func encodesFormsLikeABrowser(_ items: [URLQueryItem], _ text: String) throws {
    #expect(try Plain(method: .post, body: .form(items)).request.httpBody == Data(text.utf8))
  }

  /// The names of a dictionary are sent as they are written, whether its values have one type or several.
  @Test func encoderOfTheClientRenamesPropertiesButNotTheNamesOfADictionary() async throws {
    let script = NetworkScript([.status(400)])
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    encoder.keyEncodingStrategy = .convertToSnakeCase
    var client = Self.client(script)
    client.encoder = encoder
    struct Name: Encodable { var firstName = "B" }
    let bodies: [RequestBody] = [
      .json(Name()), .json(["firstName": "B"]), .json(["firstName": "B", "birthYear": 3]),
      .json(["petName": ["firstName": "B", "birthYear": 3] as NetworkObject]),
    ]
    for body in bodies { await #expect(throws: NetworkError.self) { try await client.load(.post("/", body: body)) } }
    let sent = script.requests.map(\.text)
    let expected = [
      #"{"first_name":"B"}"#, #"{"firstName":"B"}"#, #"{"birthYear":3,"firstName":"B"}"#,
      #"{"petName":{"birthYear":3,"firstName":"B"}}"#,
    ]
    #expect(sent == expected)
  }

  @Test func errorNamesCommonMistakesInAnEndpoint() async throws {
    let script = NetworkScript([.ok("x")])
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
    let photo = Plain(method: .post, body: .multipart([.file("f", file)]))
    #expect(await text(photo).contains("photo.jpg"))
    #expect(script.requests.isEmpty)
  }
}
