import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension CURLTests {
  static let commands: [(request: @Sendable () throws -> URLRequest, command: String)] = [
    ({ try request("GET", "https://a.example") }, "curl -X 'GET' --url 'https://a.example'"),
    ({ try request("DELETE", "https://a.example/") }, "curl -X 'DELETE' --url 'https://a.example/'"),
    ({ try request("POST", "https://a.example/") }, "curl -X 'POST' --url 'https://a.example/'"),
    ({ try request("POST", "https://a.example/", [:], Data()) }, "curl -X 'POST' --url 'https://a.example/'"),
    (
      { try request("HEAD", "https://a.example/", [:], Data("x".utf8)) }, "curl --head --url 'https://a.example/'"
    ),
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
      "curl -X 'POST' -H 'X-Empty;' -H 'Content-Type:' --data-binary @- --url 'https://a.example/'"
    ),
    (
      { try request("POST", "https://a.example/", ["Content-Type": "a/b"], Data([0xFF])) },
      "curl -X 'POST' -H 'Content-Type: a/b' --data-binary @- --url 'https://a.example/'"
    ),
    (
      {
        var request = try CURLTests.request("POST", "https://a.example/", ["Content-Type": "a/b"])
        request.httpBodyStream = InputStream(data: Data("x".utf8))
        return request
      },
      "curl -X 'POST' -H 'Content-Type: a/b' --data-binary @- --url 'https://a.example/'"
    ),
    ({ try request("GET", "https://a.example/x?a=1&b#f") }, "curl -X 'GET' --url 'https://a.example/x''?''a=1''&''b'"),
    ({ try request("GET", "https://u@a.example/") }, #"curl -X 'GET' -u "$USER_PASSWORD" --url 'https://a.example/'"#),
    (
      { try request("GET", "https://a.example/?a=1&&b") },
      "curl -X 'GET' --url 'https://a.example/''?''a=1''&''''&''b'"
    ),
    ({ try request("GET", "https://a.example/?token") }, "curl -X 'GET' --url 'https://a.example/''?''token'"),
    (
      { try request("GET", "https://a.example/", ["X-Custom": "Bearer s", "X-Other": "basic s"]) },
      #"curl -X 'GET' -H 'X-Custom: '"$HEADER_X_CUSTOM" -H 'X-Other: '"$HEADER_X_OTHER" --url 'https://a.example/'"#
    ),
    (
      { try request("GET", "https://a.example/?x-key=1&x=2=3", ["X-Key": "3"]) },
      #"curl -X 'GET' -H 'X-Key: '"$HEADER_X_KEY" --url 'https://a.example/''?''x-key='"$QUERY_X_KEY"'&''x=2=3'"#
    ),
    (
      { try request("GET", "https://a.example/", ["Cookie": "a=b", "Idempotency-Key": "k", "X-Page": "7"]) },
      #"curl -X 'GET' -H 'Cookie: '"$HEADER_COOKIE" -H 'Idempotency-Key: k' -H 'X-Page: 7' --url 'https://a.example/'"#
    ),
  ]
  @Test(arguments: commands.indices) func theCommandIs(_ row: Int) throws {
    let (request, command) = Self.commands[row]
    #expect(try request().cURL == command)
  }

  /// Named by the caller: header fields, query items and words of a body, in upper or lower case.
  @Test func whatIsNamedIsASecretToo() throws {
    let request = try Self.request(
      "POST", "https://a.example/?plan=s&page=7", ["X-Plan": "s", "X-Page": "7"], Data("shape=s".utf8))
    #expect(
      request.cURL(redacting: ["PLAN", "x-plan", "Shape"])
        == #"curl -X 'POST' -H 'X-Page: 7' -H 'X-Plan: '"$HEADER_X_PLAN" -H 'Content-Type:' --data-binary @- "#
        + #"--url 'https://a.example/''?''plan='"$QUERY_PLAN"'&''page=7'"#)
    #expect(!request.cURL.contains("$"))
  }

  /// Linux takes no word of more than 128 KiB.
  @Test func aBodyThatIsTooLongForOneWordIsReadFromStandardInput() throws {
    for (count, isShown) in [(99_999, true), (100_000, false), (2_000_000, false)] {
      let body = Data(String(repeating: "a", count: count).utf8)
      let command = try Self.request("POST", "https://a.example/", [:], body).cURL
      #expect(command.contains("--data-raw 'aaa") == isShown && command.contains("--data-binary @-") != isShown)
    }
  }
}
