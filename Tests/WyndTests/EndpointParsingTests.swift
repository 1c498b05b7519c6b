import Foundation
import LoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

protocol LocalEndpoint: Endpoint { var server: LoopbackServer { get } }
extension LocalEndpoint {
  var scheme: String { "http" }
  var host: String { "127.0.0.1" }
  var port: Int? { Int(server.port) }
  var path: String { "/" }
}

/// How an answer is parsed follows from the type of the response.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct EndpointParsingTests {
  let session = URLSession(configuration: .ephemeral)

  struct User: Codable, Equatable { var email: String; var joined: Date? }
  struct Users: Decodable { var users: [User] }
  struct Of<Value: Decodable & Sendable>: LocalEndpoint {
    typealias Response = Value
    let server: LoopbackServer
  }
  struct Bytes: LocalEndpoint { typealias Response = Data; let server: LoopbackServer }
  struct MaybeBytes: LocalEndpoint { typealias Response = Data?; let server: LoopbackServer }
  struct Text: LocalEndpoint { typealias Response = String; let server: LoopbackServer }
  struct MaybeText: LocalEndpoint { typealias Response = String?; let server: LoopbackServer }
  struct Nothing: LocalEndpoint { typealias Response = Void; let server: LoopbackServer }
  struct Head: LocalEndpoint { typealias Response = HTTPURLResponse; let server: LoopbackServer }
  struct MaybeUser: LocalEndpoint { typealias Response = User?; let server: LoopbackServer }
  struct MaybeJSON: LocalEndpoint { typealias Response = JSONValue?; let server: LoopbackServer }

  @Test(arguments: [200, 204]) func whatMayBeEmptyIs(_ status: Int) async throws {
    let server = try LoopbackServer(script: status == 204 ? Answer([.send(Answer.head(204))]) : .status(status))
    #expect(try await session.load(Bytes(server: server)).isEmpty)
    #expect(try await session.load(MaybeBytes(server: server)) == nil)
    #expect(try await session.load(Text(server: server)).isEmpty)
    #expect(try await session.load(MaybeText(server: server)) == nil)
    try await session.load(Nothing(server: server))
    #expect(try await session.load(Head(server: server)).statusCode == status)
    #expect(try await session.load(MaybeUser(server: server)) == nil)
    #expect(try await session.load(MaybeJSON(server: server)) == nil)
    do throws(NetworkError) {
      _ = try await session.load(Of<User>(server: server))
      Issue.record("parsed nothing")
    } catch {
      guard case .noResponseData(let response) = error else { Issue.record("\(error)"); return }
      #expect(response.statusCode == status)
    }
    #expect(server.requests.count == 9)
  }

  @Test func eachTypeIsItself() async throws {
    let server = try LoopbackServer(script: .ok(#"{"email":"a@b"}"#))
    #expect(try await session.load(Bytes(server: server)) == Data(#"{"email":"a@b"}"#.utf8))
    #expect(try await session.load(MaybeBytes(server: server)) == Data(#"{"email":"a@b"}"#.utf8))
    #expect(try await session.load(Text(server: server)) == #"{"email":"a@b"}"#)
    #expect(try await session.load(MaybeText(server: server)) == #"{"email":"a@b"}"#)
    #expect(try await session.load(Of<User>(server: server)) == User(email: "a@b"))
    #expect(try await session.load(MaybeUser(server: server)) == User(email: "a@b"))
    #expect(try await session.load(MaybeJSON(server: server))?["email"] == "a@b")
    let accepts = server.requests.map { $0.value("Accept") == "application/json" }
    #expect(accepts == [false, false, false, false, true, true, true])
  }

  static let charsets: [([UInt8], String?, String?)] = [
    (Array("ü".utf8), nil, "ü"), (Array("ü".utf8), "text/plain; charset=UTF-8", "ü"),
    ([0xFC], "text/plain; charset=\"ISO-8859-1\"", "ü"), ([0x80], "text/plain;charset=windows-1252; x=y", "€"),
    ([0xFC], "text/plain", nil), ([0x82, 0xA0], "text/html; charset=Shift_JIS", "あ"),
  ]
  @Test(arguments: charsets.indices) func textIsReadInItsCharset(_ row: Int) async throws {
    let (bytes, type, expected) = Self.charsets[row]
    let server = try LoopbackServer(script: .ok(bytes, type.map { [("Content-Type", $0)] } ?? []))
    do throws(NetworkError) {
      #expect(try await session.load(Text(server: server)) == expected)
    } catch {
      #expect(expected == nil)
      #expect("\(error)".contains("not text in utf-8"), "\(error)")
    }
  }

  struct Dated: LocalEndpoint {
    typealias Response = User
    let server: LoopbackServer
    var decoder: any EndpointDecoder {
      let decoder = JSONDecoder()
      decoder.dateDecodingStrategy = .secondsSince1970
      return decoder
    }
    var headers: [URLRequest.Header] { [.accept("application/vnd.shop+json")] }
  }
  struct Listed: LocalEndpoint {
    typealias Response = User
    let server: LoopbackServer
    var method: URLRequest.Method { .post }
    var decoder: any EndpointDecoder { PropertyListDecoder() }
    var body: URLRequest.Body? { .json(User(email: "e"), encoder: PropertyListEncoder()) }
  }
  struct Reversed: EndpointDecoder {
    var mediaType: String { "text/reversed" }
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
      try JSONDecoder().decode(type, from: Data(data.reversed()))
    }
  }
  struct Backwards: LocalEndpoint {
    typealias Response = [Int]
    let server: LoopbackServer
    var decoder: any EndpointDecoder { Reversed() }
  }

  @Test func theDecoderCanBeReplaced() async throws {
    let dated = try LoopbackServer(script: .ok(#"{"email":"a","joined":1000}"#))
    #expect(
      try await session.load(Dated(server: dated)) == User(email: "a", joined: Date(timeIntervalSince1970: 1000)))
    #expect(dated.requests.first?.value("Accept") == "application/vnd.shop+json")
    let plist = try PropertyListEncoder().encode(User(email: "p"))
    let listed = try LoopbackServer(script: .ok(Array(plist)))
    #expect(try await session.load(Listed(server: listed)) == User(email: "p"))
    #expect(listed.requests.first?.value("Accept") == "application/x-plist")
    #expect(listed.requests.first?.value("Content-Type") == "application/x-plist")
    let backwards = try LoopbackServer(script: .ok("]2 ,1["))
    #expect(try await session.load(Backwards(server: backwards)) == [1, 2])
    #expect(backwards.requests.first?.value("Accept") == "text/reversed")
  }

  struct Counted: LocalEndpoint {
    typealias Response = Int
    let server: LoopbackServer
    struct Odd: Error {}
    func parse(data: Data, response: HTTPURLResponse) throws -> Int {
      if data.count == 3 { throw NetworkError.noResponse }
      if data.count % 2 == 1 { throw Odd() }
      return data.count
    }
  }
  @Test func parseCanBeWritten() async throws {
    let server = try LoopbackServer(script: .ok("1234"), .ok("12345"), .ok("123"), .status(200))
    let endpoint = Counted(server: server)
    #expect(try await session.load(endpoint) == 4)
    do throws(NetworkError) { _ = try await session.load(endpoint) } catch {
      guard case .undecodable(let own, let response, let data) = error else { Issue.record("\(error)"); return }
      #expect(own is Counted.Odd)
      #expect(response.statusCode == 200)
      #expect(data == Data("12345".utf8))
    }
    do throws(NetworkError) { _ = try await session.load(endpoint) } catch {
      guard case .noResponse = error else { Issue.record("\(error)"); return }
    }
    #expect(try await session.load(endpoint) == 0)
  }

  // MARK: What cannot be parsed

  static let broken: [(String, String)] = [
    (#"{"users":[{"email":"a"},{"email":null}]}"#, "users[1].email: expected String, found null"),
    (#"{"users":[{"email":3}]}"#, "users[0].email: expected String, found number"),
    (#"{"users":[{"email":["x"]}]}"#, "users[0].email: expected String, found array"),
    (#"{"users":[{"email":{}}]}"#, "users[0].email: expected String, found dictionary"),
    (#"{"users":[{"email":true}]}"#, "users[0].email: expected String, found bool"),
    (#"{"users":[{}]}"#, "users[0].email: is missing"),
    (#"{"users":"none"}"#, "users: expected Array<Any>, found string"),
    (#"{}"#, "users: is missing"), (#"[]"#, "the body: expected Dictionary<String, Any>, found array"),
    (#"{"users":[{"email":"a","joined":"x"}]}"#, "users[0].joined: expected Double, found string"),
    (#"<html>Sign in</html>"#, "the body: The given data was not valid JSON."),
  ]
  @Test(arguments: broken.indices) func whatCannotBeParsedSaysWhereAndIsNotAskedForAgain(_ row: Int) async throws {
    let (body, text) = Self.broken[row]
    let server = try LoopbackServer(script: .ok(body))
    do throws(NetworkError) {
      _ = try await session.load(Of<Users>(server: server))
      Issue.record("parsed")
    } catch {
      guard case .undecodable(let underlying, let response, let data) = error else { Issue.record("\(error)"); return }
      #expect(underlying is DecodingError)
      #expect(response.statusCode == 200)
      #expect(data == Data(body.utf8))
      #expect("\(error)".hasPrefix(text), "\(error)")
      #expect("\(error)".hasSuffix("\(body.utf8.count) bytes: \(body))"), "\(error)")
      #expect(!error.shouldRetry)
    }
    #expect(server.requests.count == 1)
  }

  @Test func theSnippetIsCappedAndKeepsSecretsToItself() throws {
    let url = try #require(URL(string: "http://127.0.0.1/"))
    let response = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
    func text(_ body: String) -> String {
      "\(NetworkError.undecodable(DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "x")), response, Data(body.utf8)))"
    }
    #expect(text(String(repeating: "é", count: 1_000_000)).utf8.count < 400)
    #expect(text(#"{"n": "shown", "access_token" : "SECRET"}"#).contains(#"{"n": "shown", "access_token" :…"#))
    for secret in [
      "access_token=SECRET&x=1", "<token>SECRET</token>", #"{"pin_token":4711, "x": "SECRET"}"#,
      #"{"tokens":["SECRET"]}"#,
      #""{\"token\":\"SECRET\"}""#, "password : SECRET",
    ] { #expect(!text(secret).contains("SECRET"), "\(secret)") }
    for mark in ["\u{85}", "\u{2028}", "\u{2029}", "\u{9B}", "\u{7F}", "\u{202E}", "\u{1B}", "\r", "\n"] {
      #expect(!text("a\(mark)b").unicodeScalars.contains { String($0) == mark }, "\(mark.debugDescription)")
    }
    #expect(!text(#"{"password":"SEC\"RET"}"#).contains("RET"))
    #expect(!text("{\"password\":\"\u{301}SECRET\"}").contains("SECRET"))
    #expect(!text(String(repeating: " ", count: 170) + #"{"refresh_token":"SECRET-SECRET-SECRET"}"#).contains("SECRET"))
    #expect(text("Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x").contains(": Authorization:…)"))
    #expect(text("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x").hasSuffix(": jwt …)"))
    #expect(text("<html><body>Please sign in</body></html>").contains("<html><body>Please sign in</body></html>"))
    #expect(!text("line\r\nline\nline").contains { $0.isNewline })
  }
}
