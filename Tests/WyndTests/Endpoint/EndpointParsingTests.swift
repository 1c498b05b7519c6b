import Foundation
import WyndLoopbackServer
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

/// The type of the response decides how it is parsed.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct EndpointParsingTests {
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
  struct MaybeTexts: LocalEndpoint { typealias Response = [String: String]?; let server: LoopbackServer }

  @Test(arguments: [200, 204]) func acceptsAnEmptyBodyForTypesThatCanBeEmpty(_ status: Int) async throws {
    let server = try LoopbackServer(
      script: status == 204 ? ScriptedResponse([.send(ScriptedResponse.head(204))]) : .status(status))
    #expect(try await session.load(Bytes(server: server)).isEmpty)
    #expect(try await session.load(MaybeBytes(server: server)) == nil)
    #expect(try await session.load(Text(server: server)).isEmpty)
    #expect(try await session.load(MaybeText(server: server)) == nil)
    try await session.load(Nothing(server: server))
    #expect(try await session.load(Head(server: server)).statusCode == status)
    #expect(try await session.load(MaybeUser(server: server)) == nil)
    #expect(try await session.load(MaybeTexts(server: server)) == nil)
    do throws(NetworkError) {
      _ = try await session.load(Of<User>(server: server))
      Issue.record("parsed nothing")
    } catch {
      guard case .noResponseData(let response) = error else { Issue.record("\(error)"); return }
      #expect(response.statusCode == status)
    }
    #expect(server.requests.count == 9)
  }

  @Test func parsesEachResponseType() async throws {
    let server = try LoopbackServer(script: .ok(#"{"email":"a@b"}"#))
    #expect(try await session.load(Bytes(server: server)) == Data(#"{"email":"a@b"}"#.utf8))
    #expect(try await session.load(MaybeBytes(server: server)) == Data(#"{"email":"a@b"}"#.utf8))
    #expect(try await session.load(Text(server: server)) == #"{"email":"a@b"}"#)
    #expect(try await session.load(MaybeText(server: server)) == #"{"email":"a@b"}"#)
    #expect(try await session.load(Of<User>(server: server)) == User(email: "a@b"))
    #expect(try await session.load(MaybeUser(server: server)) == User(email: "a@b"))
    #expect(try await session.load(MaybeTexts(server: server))?["email"] == "a@b")
    let accepts = server.requests.map { $0.value("Accept") == "application/json" }
    #expect(accepts == [false, false, false, false, true, true, true])
  }
  struct Dated: LocalEndpoint {
    typealias Response = User
    let server: LoopbackServer
    var decoder: JSONDecoder {
      let decoder = JSONDecoder()
      decoder.dateDecodingStrategy = .secondsSince1970
      return decoder
    }
    var headers: [String: String] { ["Accept": "application/vnd.shop+json"] }
  }
  /// Another format than JSON: a body of data, and `parse`.
  struct Listed: LocalEndpoint {
    let server: LoopbackServer
    let plist: Data
    var method: NetworkMethod { .post }
    var headers: [String: String] { ["Accept": "application/x-plist"] }
    var body: RequestBody { .data(plist, contentType: "application/x-plist") }
    func parse(data: Data, response: HTTPURLResponse, decoder: JSONDecoder) throws -> User {
      try PropertyListDecoder().decode(User.self, from: data)
    }
  }

  @Test func usesTheDecoderAndParseOfTheEndpoint() async throws {
    let dated = try LoopbackServer(script: .ok(#"{"email":"a","joined":1000}"#))
    #expect(
      try await session.load(Dated(server: dated)) == User(email: "a", joined: Date(timeIntervalSince1970: 1000)))
    #expect(dated.requests.first?.value("Accept") == "application/vnd.shop+json")
    let plist = try PropertyListEncoder().encode(User(email: "p"))
    let listed = try LoopbackServer(script: .ok(Array(plist)))
    #expect(try await session.load(Listed(server: listed, plist: plist)) == User(email: "p"))
    #expect(listed.requests.first?.value("Accept") == "application/x-plist")
    #expect(listed.requests.first?.value("Content-Type") == "application/x-plist")
    #expect(Data(listed.requests.first?.body ?? []) == plist)
  }
  // MARK: What cannot be parsed

  static let broken: [(String, String)] = [
    (#"{"users":[{"email":"a"},{"email":null}]}"#, "users[1].email: expected String, found null"),
    (#"{"users":[{"email":3}]}"#, "users[0].email: expected String, found number"),
    (#"{"users":[{}]}"#, "users[0].email: is missing"),
    (#"[]"#, "the body: expected Dictionary<String, Any>, found array"),
    (#"{"users":[{"email":"a","joined":"x"}]}"#, "users[0].joined: is not valid (not a date of ISO 8601)"),
    (#"{"users":tru}"#, "the body: is not valid"),
  ]
  @Test(arguments: broken) func reportsThePathOfADecodingErrorAndDoesNotRetry(_ body: String, _ text: String)
    async throws
  {
    let server = try LoopbackServer(script: .ok(body))
    do throws(NetworkError) {
      _ = try await session.load(Of<Users>(server: server))
      Issue.record("parsed")
    } catch {
      guard case .undecodable(let underlying, let response, let data) = error else { Issue.record("\(error)"); return }
      #expect(underlying is DecodingError)
      #expect(response.statusCode == 200)
      #expect(data == Data(body.utf8))
      #expect("\(error)".hasPrefix("\(text): 200 "), "\(error)")
      #expect("\(error)".hasSuffix(" from \(server.url()), \(body.utf8.count) bytes"), "\(error)")
      #expect(!error.shouldRetry)
    }
    #expect(server.requests.count == 1)
  }

  /// Any part of a body may be secret, so no text quotes it. It is in `error.data`.
  static let bodies = [
    "{'sid': 'SECRET'}", #"{"tok\u0065n":"SECRET"}"#, "token SECRET",
    #"{"users":[{"email":"SECRET"},{"email":4711471}]}"#, #"{"users":{"SECRET":1}}"#, #"{"SECRET":1}"#,
  ]
  @Test(arguments: bodies) func doesNotQuoteTheBodyInErrorTexts(_ body: String) async throws {
    let server = try LoopbackServer(script: .ok(body))
    func check(_ error: NetworkError?) throws {
      let error = try #require(error)
      #expect(error.data == Data(body.utf8))
      for text in ["\(error)", error.debugDescription, error.localizedDescription] {
        for part in ["SECRET", "4711471", "sid", "refresh"] { #expect(!text.contains(part), "\(text)") }
        #expect(text.utf8.count < 400 && !text.contains { $0.isNewline })
      }
    }
    try check(await #expect(throws: NetworkError.self) { try await session.load(Of<Users>(server: server)) })
    try check(await #expect(throws: NetworkError.self) { try await session.load(Of<[String: [Date]]>(server: server)) })
    try check(await #expect(throws: NetworkError.self) { try await session.load(Of<Chosen>(server: server)) })
  }

  enum Color: String, Decodable { case red }
  /// A type whose errors quote the body.
  struct Chosen: Decodable {
    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if (try? container.decode(Color.self)) != nil { return }
      let found =
        (try? "\(container.decode([String: String].self))") ?? (try? "\(container.decode([String: Int].self))")
        ?? (try? "\(container.decode([String: [String: Int]].self))") ?? "no"
      throw DecodingError.typeMismatch(Self.self, .init(codingPath: [], debugDescription: "but found a \(found)"))
    }
  }

  struct FullName: Decodable, Equatable { var fullName: String }
  struct Renaming: Endpoint {
    typealias Response = Data
    let path = "/names"
    var decoder: JSONDecoder {
      .snakeCase
    }
  }

  @Test func anotherTypeIsDecodedWithTheDecoderOfTheEndpoint() async throws {
    let script = NetworkScript([.ok(#"{"full_name":"Ada"}"#)])
    #expect(try await script.load(Renaming(), as: FullName.self) == FullName(fullName: "Ada"))
    await #expect(throws: NetworkError.self) {
      try await script.load(Renaming(), as: FullName.self, decoder: JSONDecoder())
    }
  }
}
