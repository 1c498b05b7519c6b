#if os(Linux) || os(macOS)
  import Foundation
  import Testing
  import Wynd
  import WyndLoopbackServer

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// The command that a request prints, run by a shell.
  @Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct CURLCommandTests {
    /// Runs the command in a shell.
    static func run(_ command: String, _ secrets: [String: String] = [:], body: Data = Data()) async throws {
      let folder = try Folder()
      try body.write(to: folder.file("body"))
      let line = "\(command) < '\(folder.file("body").path)' > /dev/null 2>&1"
      try Data(line.utf8).write(to: folder.file("command.sh"))
      try await ChildProcess("/bin/sh", [folder.file("command.sh").path], environment: secrets).ended()
    }

    static let bodies: [(body: String, type: String?)] = [
      (#"{"name":"O'Brien & «sons»"}"#, "application/json"), ("@/etc/hostname", nil),
      ("a\nb\\n$HOME `id` \"q\"", "text/plain"), ("b\\n$HOME `id` \"q\"", "text/plain"),
      ("'", nil),
      // The quote has a combining accent. Otherwise it would end the argument, and a shell would run what follows.
      ("it'\u{300}; exit 3; '", "text/plain"),
    ]

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")), arguments: bodies)
    func commandSendsTheSameRequest(_ body: String, _ type: String?) async throws {
      let server = try LoopbackServer(script: .ok())
      var fields = ["X-Text": "it's \"quoted\" $HOME", "Authorization": "Bearer secret"]
      fields["Content-Type"] = type
      let url = server.url("/items?q=a%20b&token=secret&page=2").absoluteString
      let command = try CURLTests.request("PUT", url, fields, Data(body.utf8)).curlCommand()
      #expect(!command.contains("secret"))
      try await Self.run(command, ["HEADER_AUTHORIZATION": "Bearer mine", "QUERY_TOKEN": "t"], body: Data(body.utf8))
      let got = try #require(server.requests.first, "\(command)")
      #expect(got.method == "PUT" && got.target == "/items?q=a%20b&token=t&page=2")
      #expect(got.value("X-Text") == "it's \"quoted\" $HOME")
      #expect(got.value("Authorization") == "Bearer mine")
      #expect(got.value("Content-Type") == type)
      #expect(got.text == body)
    }

    /// As URLSession sends it: the length of an empty body, and the type that a POST has without one.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")), arguments: ["", "a=b"])
    func commandSendsWhatURLSessionAddsToAPOST(_ body: String) async throws {
      let server = try LoopbackServer(script: .ok())
      let request = try CURLTests.request("POST", server.url().absoluteString, [:], Data(body.utf8))
      try await Self.run(request.curlCommand())
      _ = try await URLSession.shared.networkResponse(for: request)
      for name in ["Content-Length", "Content-Type"] {
        #expect(server.requests[0].value(name) == server.requests[1].value(name), "\(name)")
      }
      #expect(server.requests.map(\.text) == [body, body])
    }

    /// Linux takes no argument of more than 128 KiB.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")))
    func commandSendsALargeBody() async throws {
      let server = try LoopbackServer(script: .ok())
      let body = Data(String(repeating: "a b ", count: 50_000).utf8)
      try await Self.run(CURLTests.request("PUT", server.url().absoluteString, [:], body).curlCommand(), body: body)
      #expect(server.requests.first.map { Data($0.body) } == body)
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")))
    func commandSendsBinaryBodyAndUser() async throws {
      let server = try LoopbackServer(script: .ok())
      let bytes = Data((0...255).map { UInt8($0) })
      let url = server.url("/").absoluteString.replacingOccurrences(of: "//", with: "//me:secret@")
      let command = try CURLTests.request("POST", url, ["Content-Type": "image/png"], bytes).curlCommand()
      #expect(!command.contains("secret"))
      try await Self.run(command, ["USER_PASSWORD": "a:b"], body: bytes)
      let got = try #require(server.requests.first, "\(command)")
      #expect(Data(got.body) == bytes)
      #expect(got.value("Authorization") == "Basic YTpi")
    }
  }
#endif
