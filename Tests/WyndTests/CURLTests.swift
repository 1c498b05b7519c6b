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
    #expect(try Self.request("GET", "https://a.example/x?page=2").cURL == "curl --url 'https://a.example/x''?''page=2'")
    #expect(try Self.request("HEAD", "https://a.example/").cURL == "curl --head --url 'https://a.example/'")
    #expect(try Self.request("GET", "https://a.example/?1key=s").cURL.hasSuffix(#"'?''1key='"$_1KEY""#))
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
      #"--data-raw "$BODY""#
    ),
    (
      { try request("POST", "https://a.example/", [:], Data("grant=x&refresh_token=s3cr3t".utf8)) },
      #"--data-raw "$BODY""#
    ),
    (
      { try request("POST", "https://a.example/", [:], Data("user%5Bpassword%5D=s3cr3t".utf8)) }, #"--data-raw "$BODY""#
    ),
    ({ try request("POST", "https://a.example/", [:], Data("user[password]=s3cr3t".utf8)) }, #"--data-raw "$BODY""#),
    (
      { try request("POST", "https://a.example/", [:], Data(#"[{"name":"password","value":"s3cr3t"}]"#.utf8)) },
      #"--data-raw "$BODY""#
    ),
    (
      { try request("POST", "https://a.example/", [:], Data([0xE9]) + Data(#""password":"s3cr3t""#.utf8)) },
      #"--data-raw "$BODY""#
    ),
    ({ try SignUp().request }, #"--data-raw "$BODY""#),
    ({ try request("GET", "https://a.example/?pwd=s3cr3t") }, #"'pwd='"$PWD_""#),
    ({ try request("GET", "https://a.example/?%74oken=s3cr3t&sig=s3cr3t") }, #"'%74oken='"$_74OKEN"'&''sig='"$SIG""#),
    ({ try request("GET", "https://a.example/?Mine=s3cr3t") }, #"'Mine='"$MINE""#),
    ({ try request("GET", "https://a.example/", ["X-Mine": "s3cr3t"]) }, #"'X-Mine: '"$X_MINE""#),
    ({ try request("GET", "https://a.example/?token=s3cr3t", ["Token": "s3cr3t2"]) }, #"'token='"$TOKEN_""#),
  ]

  @Test(arguments: secrets.indices) func noSecretIsInTheCommand(_ row: Int) throws {
    let (request, shown) = Self.secrets[row]
    let command = try request().cURL(redacting: ["mine", "x-mine"])
    #expect(!command.contains("s3cr3t") && command.contains(shown), "\(command)")
  }

  /// By a pattern that starts again at each letter, 40 KB took minutes.
  @Test func aLargeBodyTakesNoLongTime() throws {
    let body = Data(#"{"image":"\#(String(repeating: "a", count: 2_000_000))"}"#.utf8)
    #expect(try Self.request("POST", "https://a.example/", [:], body).cURL.count > 2_000_000)
  }
}
