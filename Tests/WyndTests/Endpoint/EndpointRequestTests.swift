import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The request that an endpoint describes, part by part.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct EndpointRequestTests {
  struct Call<Value: Sendable & Decodable>: Endpoint {
    typealias Response = Value
    var scheme = "https"
    var host = "a.example"
    var port: Int?
    var path = "/"
    var method: NetworkMethod = .get
    var queryItems: [URLQueryItem] = []
    var headers: [NetworkHeader] = []
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
  @Test(arguments: methods.indices) func sendsEachMethodUnchanged(_ row: Int) throws {
    let (method, name) = Self.methods[row]
    #expect(try Plain(method: method).request.httpMethod == name)
    #expect(method.rawValue == name)
  }

  @Test func defaultsToAPlainGETOverHTTPS() throws {
    struct Small: Endpoint {
      typealias Response = Data
      var host: String { "a.example" }
      var path: String { "/x" }
    }
    let request = try Small().request
    #expect(request.url?.absoluteString == "https://a.example/x" && request.httpMethod == "GET")
    #expect(request.allHTTPHeaderFields ?? [:] == [:] && request.httpBody == nil)
    #expect(Small().port == nil && Small().headers == [])
  }

  // MARK: Addresses

  static let addresses: [(Plain, String?)] = [
    (Plain(scheme: "http"), "http://a.example/"), (Plain(port: 443), "https://a.example:443/"),
    (Plain(port: 1), "https://a.example:1/"), (Plain(port: 65_536), nil), (Plain(port: 0), nil),
    (Plain(scheme: "ws"), nil), (Plain(host: "a.example."), "https://a.example./"), (Plain(host: "a..example"), nil),
    (Plain(host: "~a"), "https://~a/"), (Plain(host: "a*b"), nil), (Plain(host: "-a_b-"), "https://-a_b-/"),
    (Plain(host: String(repeating: "a", count: 254)), "https://\(String(repeating: "a", count: 254))/"),
    (Plain(host: String(repeating: "a", count: 255)), nil), (Plain(host: "1::8"), "https://[1::8]/"),
    (Plain(host: "[a.example]"), nil), (Plain(host: "::1.2.3.+4"), nil),
    (Plain(path: "/!$&'()*,=:@~-._"), "https://a.example/!$&'()*,=:@~-._"),
    (Plain(path: "/;+\"<>^`{|}"), "https://a.example/%3B%2B%22%3C%3E%5E%60%7B%7C%7D"),
    (Plain(path: "/\u{7F}\n"), "https://a.example/%7F%0A"), (Plain(path: "/a/.."), nil), (Plain(path: "/a/."), nil),
    (Plain(path: "..a"), "https://a.example/..a"),
    (
      Plain(queryItems: [.init(name: "-._~", value: "-._~!$'()*,:@")]),
      "https://a.example/?-._~=-._~%21%24%27%28%29%2A%2C%3A%40"
    ),
    (Plain(queryItems: [.init(name: "b", value: nil), .init(name: "a", value: nil)]), "https://a.example/?b&a"),
  ]
  @Test(arguments: addresses.indices) func buildsOrRejectsEachAddress(_ row: Int) {
    let (call, expected) = Self.addresses[row]
    do throws(NetworkError) { #expect(try call.url.absoluteString == expected) } catch {
      guard case .invalidRequest(let reason) = error, expected == nil else { Issue.record("\(error)"); return }
      #expect(!reason.isEmpty)
    }
  }

  @Test func encodesAPathSegment() {
    #expect(Plain.percentEncoded(segment: "a/b c;+é%.~") == "a%2Fb%20c%3B%2B%C3%A9%25.~")
  }

  static let encodedPaths: [(String, String?)] = [
    ("/a%2Fb", "/v/a%2Fb"), ("a%2fb", "/v/a%2fb"), ("/a+b;c", "/v/a+b;c"), ("", "/v"), ("/", "/v/"), ("/a[b", nil),
    ("/%4", nil), ("/%g0", nil), ("/%2e%2E", nil), ("/.%2E/x", nil), ("/%2e%2e%2e", "/v/%2e%2e%2e"), ("/a\"b", nil),
  ]
  @Test(arguments: encodedPaths.indices) func sendsAPercentEncodedPathUnchanged(_ row: Int) async throws {
    struct Encoded: Endpoint {
      typealias Response = Data
      var path: String { "/not asked" }
      var percentEncodedPath: String
    }
    let (path, sent) = Self.encodedPaths[row]
    let script = NetworkScript([.ok("x")])
    _ = try? await Self.client(script, base: "https://a.example/v").load(Encoded(percentEncodedPath: path))
    #expect(script.requests.map { $0.url?.absoluteString } == (sent.map { ["https://a.example" + $0] } ?? []))
  }

  static let bases: [(base: String, port: Int?, scheme: String, sent: String?)] = [
    ("http://b.example:81/v", nil, "https", "http://b.example:81/v/x"), ("http://b.example/v/", 81, "https", nil),
    ("https://b.example/%C3%A4", nil, "http", "https://b.example/%C3%A4/x"), ("https://b.example/?", nil, "https", nil),
    ("https://b.example/#", nil, "https", nil), ("https://u@b.example/", nil, "https", nil),
  ]
  @Test(arguments: bases.indices) func takesSchemeHostAndPortFromTheBaseURL(_ row: Int) async throws {
    let (base, port, scheme, sent) = Self.bases[row]
    let script = NetworkScript([.ok("x")])
    _ = try? await Self.client(script, base: base).load(Plain(scheme: scheme, host: "", port: port, path: "x"))
    #expect(script.requests.map { $0.url?.absoluteString } == (sent.map { [$0] } ?? []))
  }

  // MARK: Header fields

  static let fields: [(headers: [NetworkHeader], body: RequestBody, sent: [String: String])] = [
    ([], .text("x"), ["content-type": "text/plain; charset=utf-8", "accept": "application/json"]),
    ([.init("content-type", "a/b")], .text("x"), ["content-type": "a/b", "accept": "application/json"]),
    ([.init("ACCEPT", "a/b")], .empty, ["accept": "a/b"]),
    ([.init("X-A", "1"), .init("x-a", "2")], .empty, ["x-a": "1,2", "accept": "application/json"]),
    ([.init("X-A", "")], .empty, ["x-a": "", "accept": "application/json"]),
  ]
  @Test(arguments: fields.indices) func setsHeaderFieldsAndTheirDefaults(_ row: Int) throws {
    let (headers, body, sent) = Self.fields[row]
    let method: NetworkMethod = row > 1 ? .get : .post
    let request = try Call<[Int]>(method: method, headers: headers, body: body).request
    let fields = (request.allHTTPHeaderFields ?? [:]).map { ($0.key.lowercased(), $0.value) }
    #expect(Dictionary(fields) { "\($0) and \($1)" } == sent)
  }

  @Test func sendsAcceptOnlyForDecodedTypes() throws {
    func accept(_ endpoint: some Endpoint) throws -> String? {
      try endpoint.request.value(forHTTPHeaderField: "Accept")
    }
    #expect(try accept(Call<Int>()) == "application/json" && accept(Call<Int?>()) == "application/json")
    #expect(try accept(Call<JSONValue>()) == "application/json")
    #expect(try accept(Call<Data>()) == nil && accept(Call<Data?>()) == nil)
    #expect(try accept(Call<String>()) == nil && accept(Call<String?>()) == nil)
    struct Nothing: Endpoint {
      typealias Response = Void
      var host: String { "a.example" }
      var path: String { "/" }
    }
    #expect(try accept(Nothing()) == nil)
  }

  @Test func descriptionOfAHeaderHidesCredentials() {
    #expect("\(NetworkHeader("X-Page", "7"))" == "X-Page: 7")
    for header in [
      NetworkHeader.authorization(bearer: "s3cr3t"), .authorization(user: "u", password: "s3cr3t"),
      .init("X-Api-Key", "s3cr3t"), .init("X-Custom", "Bearer s3cr3t"),
    ] { #expect("\(header)" == "\(header.name): …") }
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

  @Test(arguments: [NetworkMethod.post, .put, .patch, .delete, .query, .options]) func acceptsABodyForOtherMethods(
    _ method: NetworkMethod
  ) throws {
    #expect(try Plain(method: method, body: .text("x")).request.httpBody == Data("x".utf8))
  }

  static let forms: [([URLQueryItem], String)] = [
    ([], ""), ([.init(name: "a", value: nil)], "a"), ([.init(name: "a", value: "")], "a="),
    ([.init(name: "a", value: "1 2"), .init(name: "a", value: "+%20")], "a=1+2&a=%2B%2520"),
    ([.init(name: "é=", value: "\r\n&~*")], "%C3%A9%3D=%0D%0A%26~%2A"),
  ]
  @Test(arguments: forms.indices) func encodesFormsLikeABrowser(_ row: Int) throws {
    let (items, text) = Self.forms[row]
    #expect(try Plain(method: .post, body: .form(items)).request.httpBody == Data(text.utf8))
  }

  @Test func encodesABodyWithItsOwnEncoder() throws {
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    struct Name: Encodable { var firstName = "B" }
    let json = try Plain(method: .post, body: .json(Name(), encoder: encoder)).request
    #expect(json.httpBody == Data(#"{"first_name":"B"}"#.utf8))
    let form = try Plain(method: .post, body: .form(["a": [1, 2]], encoder: QueryEncoder(arrays: .commas))).request
    #expect(form.httpBody == Data("a=1%2C2".utf8))
  }

  @Test func usesANewBoundaryForEachMultipartBody() throws {
    func type() throws -> String? {
      try Plain(method: .post, body: .multipart([.init(name: "a", value: "b")])).request
        .value(forHTTPHeaderField: "Content-Type")
    }
    let (first, second) = (try #require(try type()), try #require(try type()))
    #expect(first.hasPrefix("multipart/form-data; boundary=") && first != second)
  }

  @Test func sendsAMultipartBodyWithFilesByteForByte() async throws {
    let folder = try Folder()
    let bytes = someBytes(600_000)
    try Data(bytes).write(to: folder.file("a\"b.png"))
    let server = try LoopbackServer(script: .ok())
    let call = Plain(
      scheme: "http", host: "127.0.0.1", port: Int(server.port), method: .post,
      body: .multipart([
        .init(name: "n", value: "v"), .init(name: "f", file: folder.file("a\"b.png"), contentType: "image/png"),
        .init(name: "g", file: folder.file("a\"b.png"), fileName: "own"),
        .init(name: "d", data: Data([1])), .init(name: "e", data: Data([2]), fileName: "e.x", contentType: "e/x"),
      ]))
    _ = try await NetworkClient(policy: .never).load(call)
    let request = try #require(server.requests.first)
    let boundary = try #require(request.value("Content-Type")?.components(separatedBy: "boundary=").last)
    func head(_ text: String) -> Data { Data("--\(boundary)\r\nContent-Disposition: form-data; \(text)\r\n\r\n".utf8) }
    let end = Data("\r\n".utf8)
    var expected = head("name=\"n\"") + Data("v".utf8) + end
    expected += head("name=\"f\"; filename=\"a%22b.png\"\r\nContent-Type: image/png") + bytes + end
    expected += head("name=\"g\"; filename=\"own\"\r\nContent-Type: application/octet-stream") + bytes + end
    expected += head("name=\"d\"\r\nContent-Type: application/octet-stream") + [1] + end
    expected += head("name=\"e\"; filename=\"e.x\"\r\nContent-Type: e/x") + [2] + end
    #expect(Data(request.body) == expected + Data("--\(boundary)--\r\n".utf8))
    #expect(request.value("Content-Length") == "\(request.body.count)")
  }

  @Test func wrapsErrorsOfPrepareExceptNetworkErrors() {
    struct Mine: Error {}
    func error(_ thrown: any Error) -> NetworkError? {
      #expect(throws: NetworkError.self) { try Plain(prepared: { _ in throw thrown }).request }
    }
    guard case .invalidRequest("nobody")? = error(NetworkError.invalidRequest(reason: "nobody")) else {
      Issue.record("not itself"); return
    }
    guard case .generalError(is Mine)? = error(Mine()) else { Issue.record("not wrapped"); return }
  }

  /// A field that the endpoint sets itself is not set again, however its name is written.
  @Test(arguments: ["Content-Type", "content-type", "CONTENT-TYPE", "Accept", "accept", "aCCEPT"])
  func explicitHeaderReplacesTheDefaultInAnyCase(_ name: String) throws {
    let request = try Call<[String]>(method: .post, headers: [.init(name, "text/x-mine")], body: .json(["item": "a"]))
      .request
    #expect(request.value(forHTTPHeaderField: name) == "text/x-mine")
    let accept = request.value(forHTTPHeaderField: "Accept")
    let type = request.value(forHTTPHeaderField: "Content-Type")
    #expect([accept, type].contains("application/json"))
  }

  @Test func encodesValuesButNotLiteralsWithTheEncoderOfTheClient() async throws {
    let script = NetworkScript([.status(400)])
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    var client = Self.client(script)
    client.encoder = encoder
    struct Both: Endpoint {
      typealias Response = Void
      struct Name: Encodable { var firstName = "B" }
      var isLiteral = false
      var path: String { "/" }
      var method: NetworkMethod { .post }
      var body: RequestBody { isLiteral ? .json(["firstName": "B"] as JSONValue) : .json(Name()) }
    }
    for isLiteral in [false, true] { _ = try? await client.load(Both(isLiteral: isLiteral)) }
    let sent = script.requests.map { String(decoding: $0.httpBody ?? Data(), as: UTF8.self) }
    #expect(sent == [#"{"first_name":"B"}"#, #"{"firstName":"B"}"#])
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
    let photo = Plain(method: .post, body: .multipart([.init(name: "f", file: file)]))
    #expect(await text(photo).contains("photo.jpg"))
    #expect(script.requests.isEmpty)
  }
}
