import Foundation
import LoopbackServer
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A line for each failed attempt and for the outcome, a command that runs, and no secret in either.
@Suite(.timeLimit(.minutes(1))) struct NetworkLogTests {
  static func log(showing items: Set<String> = []) async throws -> [String] {
    let lines = Box<[String]>()
    lines.value = []
    let log = NetworkLog(showing: items) { line in lines.value?.append(line) }
    let client = NetworkClient(
      transport: .scripted([
        .status(503, "secret-body"), .dropped, .ok("x", headers: ["Set-Cookie": "a=secret-cookie"]),
      ]),
      policy: RetryPolicy(onEvent: log.onEvent))
    var request = URLRequest(
      url: try #require(URL(string: "https://u:secret-user@a.example/items?page=7&token=secret-token&q=word")))
    request.setValue("Bearer secret-bearer", forHTTPHeaderField: "Authorization")
    _ = try await client.performNetworkRequest(request)
    return lines.value ?? []
  }

  @Test func aLineForEachFailedAttemptAndOneForTheOutcome() async throws {
    let lines = try await Self.log()
    #expect(lines.count == 3)
    #expect(lines.first?.hasPrefix("GET https://a.example/items?page=…&token=…&q=… #1 (0 s): failed with 503") == true)
    #expect(lines.last?.hasSuffix("#3 (0.75 s): succeeded with 200") == true)
    #expect(lines.allSatisfy { !$0.contains("secret") && !$0.contains("word") })
  }

  @Test func onlyTheQueryItemsThatAreNamedAreShownAndNoSecretAmongThem() async throws {
    let lines = try await Self.log(showing: ["page", "token"])
    #expect(lines.allSatisfy { $0.contains("page=7&token=…&q=…") && !$0.contains("secret") })
  }

  // MARK: cURL

  static func request(_ method: String, _ url: String, _ fields: [String: String] = [:], _ body: Data? = nil) throws
    -> URLRequest
  {
    var request = URLRequest(url: try #require(URL(string: url)))
    request.httpMethod = method
    for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
    request.httpBody = body
    return request
  }

  #if os(Linux) || os(macOS)
    /// What the server gets when the command is run by a shell.
    static func run(_ command: String, _ secrets: [String: String] = [:]) async throws {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", command + " >/dev/null 2>&1"]
      process.environment = ProcessInfo.processInfo.environment.merging(secrets) { $1 }
      let ended = Gate()
      process.terminationHandler = { _ in ended.open() }
      try process.run()
      await ended.wait()
    }

    static let bodies: [(body: String, type: String?)] = [
      (#"{"name":"O'Brien & «sons»"}"#, "application/json"), ("@/etc/hostname", nil),
      ("a\nb\\n$HOME `id` \"q\"", "text/plain"),
      ("'", nil),
    ]

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")), arguments: bodies.indices)
    func theCommandSendsTheSameRequest(_ row: Int) async throws {
      let (body, type) = Self.bodies[row]
      let server = try LoopbackServer(script: .ok())
      var fields = ["X-Text": "it's \"quoted\" $HOME", "Authorization": "Bearer secret"]
      fields["Content-Type"] = type
      let url = server.url("/items?q=a%20b&token=secret&page=2").absoluteString
      let command = try Self.request("PUT", url, fields, Data(body.utf8)).cURL
      #expect(!command.contains("secret"))
      try await Self.run(command, ["AUTHORIZATION": "Bearer mine", "TOKEN": "t"])
      let got = try #require(server.requests.first, "\(command)")
      #expect(got.method == "PUT" && got.target == "/items?q=a%20b&token=t&page=2")
      #expect(got.value("X-Text") == "it's \"quoted\" $HOME")
      #expect(got.value("Authorization") == "Bearer mine")
      #expect(got.value("Content-Type") == type)
      #expect(got.text == body)
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")))
    func bytesAndUserAreSentToo() async throws {
      let server = try LoopbackServer(script: .ok())
      let bytes = Data((0...255).map { UInt8($0) })
      let url = server.url("/").absoluteString.replacingOccurrences(of: "//", with: "//me:secret@")
      let command = try Self.request("POST", url, ["Content-Type": "image/png"], bytes).cURL
      #expect(!command.contains("secret"))
      try await Self.run(command, ["USER_PASSWORD": "a:b"])
      let got = try #require(server.requests.first, "\(command)")
      #expect(Data(got.body) == bytes)
      #expect(got.value("Authorization") == "Basic YTpi")
    }
  #endif

  @Test func aPlainGETIsAShortCommand() throws {
    #expect(try Self.request("GET", "https://a.example/x?page=2").cURL == "curl 'https://a.example/x''?''page=2'")
    #expect(try Self.request("HEAD", "https://a.example/").cURL == "curl --head 'https://a.example/'")
    #expect(try Self.request("GET", "https://a.example/?1key=s").cURL.hasSuffix(#"'?''1key='"$_1KEY""#))
  }
}
