import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The command is complete and contains no secret.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct CURLTests {
  static func request(_ method: String, _ url: String, _ fields: [String: String] = [:], _ body: Data? = nil) throws
    -> URLRequest
  {
    var request = URLRequest(url: try #require(URL(string: url)), method: method)
    for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
    request.httpBody = body
    return request
  }

  @Test func printsAShortCommandForAPlainGET() throws {
    let page = try Self.request("GET", "https://a.example/x?page=2").curlCommand()
    #expect(page == "curl -X 'GET' --url 'https://a.example/x''?''page=2'")
    #expect(try Self.request("HEAD", "https://a.example/").curlCommand() == "curl --head --url 'https://a.example/'")
  }

  struct SignUp: Endpoint {
    typealias Response = Data
    var host: String { "a.example" }
    var path: String { "/" }
    var method: NetworkMethod { .post }
    var body: RequestBody { .multipart([.text("password", "s3cr3t")]) }
  }
  static let secrets: [(request: @Sendable () throws -> URLRequest, shown: String)] = [
    (
      { try request("POST", "https://a.example/", [:], Data(#"{"user":"ann","password":"s3cr3t"}"#.utf8)) },
      "--data-binary @-"
    ),
    (
      { try request("POST", "https://a.example/", [:], Data("user%5Bpassword%5D=s3cr3t".utf8)) }, "--data-binary @-"
    ),
    (
      { try request("POST", "https://a.example/", [:], Data(#"[{"name":"password","value":"s3cr3t"}]"#.utf8)) },
      "--data-binary @-"
    ),
    ({ try SignUp().request }, "--data-binary @-"),
    (
      { try request("GET", "https://a.example/?%74oken=s3cr3t&sig=s3cr3t") },
      #"'%74oken='"$QUERY__74OKEN"'&''sig='"$QUERY_SIG""#
    ),
    ({ try request("GET", "https://a.example/", ["X-Mine": "s3cr3t"]) }, #"'X-Mine: '"$HEADER_X_MINE""#),
    (
      { try request("GET", "https://a.example/?q=Bearer%20s3cr3t&r=basic+s3cr3t") },
      #"'q='"$QUERY_Q"'&''r='"$QUERY_R""#
    ),
    (
      { try request("GET", "https://a.example/?token=s3cr3t", ["Token": "s3cr3t2"]) },
      #"'Token: '"$HEADER_TOKEN" --url 'https://a.example/''?''token='"$QUERY_TOKEN""#
    ),
  ]

  @Test(arguments: secrets) func hidesSecretsInTheCommand(_ request: @Sendable () throws -> URLRequest, _ shown: String)
    throws
  {
    let command = try request().curlCommand(redacting: ["mine", "x-mine"])
    #expect(!command.contains("s3cr3t") && command.contains(shown), "\(command)")
  }

  static let commands: [(request: @Sendable () throws -> URLRequest, command: String)] = [
    ({ try request("GET", "https://a.example") }, "curl -X 'GET' --url 'https://a.example'"),
    (
      {
        var request = try CURLTests.request("HEAD", "https://a.example/")
        request.httpBodyStream = InputStream(data: Data("x".utf8))
        return request
      },
      "curl --head --url 'https://a.example/'"
    ),
    (
      { try request("GET", "https://a.example/", [:], Data("x".utf8)) },
      "curl -X 'GET' -H 'Content-Type:' --data-raw 'x' --url 'https://a.example/'"
    ),
    (
      {
        try request("POST", "https://a.example/", ["Content-Type": "a/b", "X-B": "2", "X-A": "it's"], Data("x".utf8))
      },
      #"curl -X 'POST' -H 'Content-Type: a/b' -H 'X-A: it'\''s' -H 'X-B: 2' --data-raw 'x' --url 'https://a.example/'"#
    ),
    (
      { try request("POST", "https://a.example/", ["X-Empty": ""], Data([0, 120])) },
      "curl -X 'POST' -H 'X-Empty;' --data-binary @- --url 'https://a.example/'"
    ),
    (
      {
        var request = try CURLTests.request("POST", "https://a.example/", ["Content-Type": "a/b"])
        request.httpBodyStream = InputStream(data: Data("x".utf8))
        return request
      },
      "curl -X 'POST' -H 'Content-Type: a/b' --data-binary @- --url 'https://a.example/'"
    ),
    (
      { try request("POST", "https://a.example/", [:], Data("x".utf8)) },
      "curl -X 'POST' --data-raw 'x' --url 'https://a.example/'"
    ),
    (
      { try request("PUT", "https://a.example/", [:], Data("x".utf8)) },
      "curl -X 'PUT' -H 'Content-Type:' --data-raw 'x' --url 'https://a.example/'"
    ),
    (
      { try request("POST", "https://a.example/") },
      "curl -X 'POST' -H 'Content-Length: 0' --url 'https://a.example/'"
    ),
    (
      { try request("PATCH", "https://a.example/", ["Content-Length": "0"]) },
      "curl -X 'PATCH' -H 'Content-Length: 0' --url 'https://a.example/'"
    ),
    ({ try request("DELETE", "https://a.example/") }, "curl -X 'DELETE' --url 'https://a.example/'"),
    ({ try request("GET", "https://a.example/x?a=1&b#f") }, "curl -X 'GET' --url 'https://a.example/x''?''a=1''&''b'"),
    ({ try request("GET", "https://u@a.example/") }, #"curl -X 'GET' -u "$USER_PASSWORD" --url 'https://a.example/'"#),
    (
      { try request("GET", "https://a.example/", ["X-Custom": "Bearer s", "X-Other": "basic s"]) },
      #"curl -X 'GET' -H 'X-Custom: '"$HEADER_X_CUSTOM" -H 'X-Other: '"$HEADER_X_OTHER" --url 'https://a.example/'"#
    ),
    (
      { try request("GET", "https://a.example/", ["Cookie": "a=b", "Idempotency-Key": "k", "X-Page": "7"]) },
      #"curl -X 'GET' -H 'Cookie: '"$HEADER_COOKIE" -H 'Idempotency-Key: k' -H 'X-Page: 7' --url 'https://a.example/'"#
    ),
  ]
  @Test(arguments: commands) func printsCommandForEachKindOfRequest(
    _ request: @Sendable () throws -> URLRequest, _ command: String
  ) throws {
    #expect(try request().curlCommand() == command)
  }

  /// In a log it would forge lines, and in a terminal a control character may end the command.
  @Test(arguments: ["\n", "\r\n", "\t", "\u{3}", "\u{1B}", "\u{7F}", "\u{85}", "\u{9B}", "\u{2028}", "\0"])
  func commandIsOneLineWithoutControlCharacters(_ control: String) throws {
    let text = "a\(control)touch PWNED"
    let requests = [
      try Self.request("POST", "https://a.example/", [:], Data(text.utf8)),
      try Self.request("GET", "https://a.example/", ["X-Text": text]),
      try Self.request("GET", "https://a.example/", ["X-\(control)": "x"]),
      try Self.request("GET\(control)", "https://a.example/"),
      try Self.request("GET", "https://a.example/?a=\(text.addingPercentEncoding(withAllowedCharacters: []) ?? "")"),
    ]
    for request in requests {
      let scalars = request.curlCommand().unicodeScalars
      #expect(!scalars.contains { $0.properties.generalCategory == .control || ["\u{2028}", "\u{2029}"].contains($0) })
    }
    #expect(requests[0].curlCommand().contains("--data-binary @-"))
    // On Linux, a request does not take a line break or NUL.
    let isTaken = requests[1].value(forHTTPHeaderField: "X-Text") != nil
    #expect(requests[1].curlCommand().contains("\"$HEADER_X_TEXT\"") == isTaken)
  }

  /// Named by the caller: header fields, query items and words of a body, in upper or lower case.
  @Test func redactsNamesGivenByTheCaller() throws {
    let request = try Self.request(
      "POST", "https://a.example/?plan=s&page=7", ["X-Plan": "s", "X-Page": "7"], Data("shape=s".utf8))
    #expect(
      request.curlCommand(redacting: ["PLAN", "x-plan", "Shape"])
        == #"curl -X 'POST' -H 'X-Page: 7' -H 'X-Plan: '"$HEADER_X_PLAN" --data-binary @- "#
        + #"--url 'https://a.example/''?''plan='"$QUERY_PLAN"'&''page=7'"#)
    #expect(!request.curlCommand().contains("$"))
  }

  /// Linux takes no word of more than 128 KiB.
  @Test func readsALongBodyFromStandardInput() throws {
    for (count, isShown) in [(99_999, true), (100_000, false), (2_000_000, false)] {
      let body = Data(String(repeating: "a", count: count).utf8)
      let command = try Self.request("POST", "https://a.example/", [:], body).curlCommand()
      #expect(command.contains("--data-raw 'aaa") == isShown && command.contains("--data-binary @-") != isShown)
    }
  }
}
