import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A command that runs, and no secret in it.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct CURLTests {
  static func request(_ method: String, _ url: String, _ fields: [String: String] = [:], _ body: Data? = nil) throws
    -> URLRequest
  {
    var request = URLRequest(url: try #require(URL(string: url)))
    request.httpMethod = method
    for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
    request.httpBody = body
    return request
  }

  @Test func aPlainGETIsAShortCommand() throws {
    let page = try Self.request("GET", "https://a.example/x?page=2").cURL
    #expect(page == "curl -X 'GET' --url 'https://a.example/x''?''page=2'")
    #expect(try Self.request("HEAD", "https://a.example/").cURL == "curl --head --url 'https://a.example/'")
  }

  struct SignUp: Endpoint {
    typealias Response = Data
    var host: String { "a.example" }
    var path: String { "/" }
    var method: URLRequest.Method { .post }
    var body: URLRequest.Body? { .multipart([.init(name: "password", value: "s3cr3t")]) }
  }
  static let secrets: [(request: @Sendable () throws -> URLRequest, shown: String)] = [
    (
      { try request("POST", "https://a.example/", [:], Data(#"{"user":"ann","password":"s3cr3t"}"#.utf8)) },
      "--data-binary @-"
    ),
    (
      { try request("POST", "https://a.example/", [:], Data("grant=x&refresh_token=s3cr3t".utf8)) },
      "--data-binary @-"
    ),
    (
      { try request("POST", "https://a.example/", [:], Data("user%5Bpassword%5D=s3cr3t".utf8)) }, "--data-binary @-"
    ),
    ({ try request("POST", "https://a.example/", [:], Data("user[password]=s3cr3t".utf8)) }, "--data-binary @-"),
    (
      { try request("POST", "https://a.example/", [:], Data(#"[{"name":"password","value":"s3cr3t"}]"#.utf8)) },
      "--data-binary @-"
    ),
    (
      { try request("POST", "https://a.example/", [:], Data([0xE9]) + Data(#""password":"s3cr3t""#.utf8)) },
      "--data-binary @-"
    ),
    ({ try SignUp().request }, "--data-binary @-"),
    ({ try request("GET", "https://a.example/?pwd=s3cr3t") }, #"'pwd='"$QUERY_PWD""#),
    (
      { try request("GET", "https://a.example/?%74oken=s3cr3t&sig=s3cr3t") },
      #"'%74oken='"$QUERY__74OKEN"'&''sig='"$QUERY_SIG""#
    ),
    ({ try request("GET", "https://a.example/?Mine=s3cr3t") }, #"'Mine='"$QUERY_MINE""#),
    ({ try request("GET", "https://a.example/", ["X-Mine": "s3cr3t"]) }, #"'X-Mine: '"$HEADER_X_MINE""#),
    (
      { try request("GET", "https://a.example/?token=s3cr3t", ["Token": "s3cr3t2"]) },
      #"'Token: '"$HEADER_TOKEN" --url 'https://a.example/''?''token='"$QUERY_TOKEN""#
    ),
  ]

  @Test(arguments: secrets.indices) func noSecretIsInTheCommand(_ row: Int) throws {
    let (request, shown) = Self.secrets[row]
    let command = try request().cURL(redacting: ["mine", "x-mine"])
    #expect(!command.contains("s3cr3t") && command.contains(shown), "\(command)")
  }
}
