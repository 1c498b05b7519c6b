#if os(Linux) || os(macOS)
  import Foundation
  import WyndLoopbackServer
  import Testing
  import Wynd

  /// The `wynd-fetch` command, as a process of its own.
  @Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct CommandTests {
    struct Run {
      var code: Int32
      var out: String
      var err: String
    }

    static func wyndFetch(_ arguments: String...) async throws -> Run { try await wyndFetch(arguments) }

    static func wyndFetch(_ arguments: [String]) async throws -> Run {
      let child = try ChildProcess(program, arguments)
      return Run(code: await child.ended(), out: child.out, err: child.err)
    }

    static var program: String {
      #if os(macOS)
        let tests = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
        let products = tests?.bundleURL.deletingLastPathComponent() ?? Bundle.main.bundleURL
      #else
        let products = Bundle.main.bundleURL
      #endif
      return products.appending(path: "wynd-fetch").path
    }

    @Test func showsARetriedRequestWithoutArguments() async throws {
      let run = try await Self.wyndFetch()
      #expect(run.code == 0)
      for text in [
        "503", "as the server asked (Retry-After)", "URLError -1005", "Here is your data.", "4 attempts",
        "must not be repeated",
        "Your order is placed.",
        "usage: wynd-fetch",
      ] {
        #expect(run.out.contains(text), "\(text) is missing in:\n\(run.out)")
      }
    }

    /// The body has no line break at its end, and bytes that are no text.
    @Test func writesTheBodyToStdoutAndEventsToStderr() async throws {
      let body: [UInt8] = [0, 13, 10, 0xFF, 0x41]
      let server = try LoopbackServer(script: .reset, .ok(body))
      let run = try await Self.wyndFetch("-v", "\(server.url("/x?token=SECRET"))")
      #expect(run.code == 0)
      #expect(run.out == body.text)
      #expect(run.err.contains("URLError -1005"))
      #expect(run.err.contains("responded with 200"))
      #expect(!run.err.contains("SECRET"))
    }

    @Test func sendsAFormByPOST() async throws {
      let server = try LoopbackServer(script: .ok())
      #expect(try await Self.wyndFetch("\(server.url("/form"))", "-d", "a=ü", "-d", "b=2").code == 0)
      let request = try #require(server.requests.first)
      #expect(request.method == "POST" && request.target == "/form" && request.text == "a=ü&b=2")
      #expect(request.value("Content-Type") == "application/x-www-form-urlencoded")
    }

    @Test func sendsAnotherMethodAndHeaderFields() async throws {
      let server = try LoopbackServer(script: .ok())
      let arguments = [
        "-X", "PUT", "-d", "{}", "-H", "X-One: 1", "-H", "X-One:a:b", "-H", "content-type: application/json",
      ]
      #expect(try await Self.wyndFetch(arguments + ["\(server.url())"]).code == 0)
      let request = try #require(server.requests.first)
      #expect(request.method == "PUT" && request.text == "{}")
      #expect(request.value("X-One") == "1,a:b" && request.value("Content-Type") == "application/json")
    }

    @Test func exitsWith1IfTheCallFails() async throws {
      let server = try LoopbackServer { $0.target.hasPrefix("/404") ? .status(404, body: "not here") : .reset }
      let missing = try await Self.wyndFetch("\(server.url("/404?token=SECRET"))")
      #expect(missing.code == 1 && missing.out == "not here")
      #expect(missing.err == "wynd-fetch: 404 from \(server.url("/404?token=*")), 8 bytes\n")
      let reset = try await Self.wyndFetch("\(server.url("/reset"))", "--max-retries", "2")
      #expect(reset.code == 1 && reset.out.isEmpty && reset.err.contains("gave up on GET after attempt 3"))
      #expect(server.requests.count == 4)
      let late = try await Self.wyndFetch("\(server.url("/reset"))", "--deadline", "0.2")
      #expect(late.code == 1 && late.err.contains("deadline"))
      let invalid = try await Self.wyndFetch("\(server.url())", "-X", "GE T")
      #expect(invalid.code == 1 && invalid.err.contains("invalid request: the method is not a token"))
    }

    static let wrong: [([String], String)] = [
      (["a.example/secret"], "begins with https://"), (["ftp://u:secret@x/?t=secret"], "begins with https://"),
      (["-d", "secret"], "begins with https://"), (["http://a/", "http://b/"], "more than one URL"),
      (["--nonsense=secret", "http://a/"], "the option --nonsense is unknown"),
      (["http://a/", "-dsecret"], "the option -d is unknown, or is not separated from its value"),
      (["http://a/", "-o"], "-o needs a value"),
      (["http://a/", "-H", "secret"], "-H needs 'Name: value'"),
      (["http://a/", "-H", "X-A: a\r\nX-Evil: secret"], "-H needs 'Name: value'"),
      (["http://a/", "--max-retries", "-1"], "from 0 up"), (["http://a/", "--deadline", "nan"], "seconds above 0"),
      (["http://a/", "--deadline", "1e400"], "seconds above 0"),
    ]

    @Test(arguments: wrong) func printsUsageForInvalidArguments(_ arguments: [String], _ reason: String) async throws {
      let run = try await Self.wyndFetch(arguments)
      #expect(run.code == 2 && run.out.isEmpty)
      #expect(run.err.contains(reason) && !run.err.contains("secret"), "\(run.err)")
      #expect(run.err.contains("\nusage: wynd-fetch"))
    }

    @Test(arguments: ["--help", "-h"]) func printsUsageOnRequest(_ option: String) async throws {
      let run = try await Self.wyndFetch(option)
      #expect(run.code == 0 && run.err.isEmpty && run.out.hasPrefix("usage: wynd-fetch"))
    }

    // MARK: Downloads

    @Test func replacesAFile() async throws {
      let server = try LoopbackServer { $0.target == "/404" ? .status(404, body: "not here") : .ok("the body") }
      let folder = try Folder()
      try Data("old".utf8).write(to: folder.file())
      let missing = try await Self.wyndFetch("\(server.url("/404"))", "-o", folder.file().path)
      #expect(missing.code == 1 && missing.out.isEmpty && missing.err.contains("404 from"))
      #expect(folder.text() == "old")
      let run = try await Self.wyndFetch("\(server.url())", "-o", folder.file().path)
      #expect(run.code == 0 && run.out.isEmpty && run.err.isEmpty)
      #expect(folder.text() == "the body" && folder.names == ["file.bin"])
      let lost = try await Self.wyndFetch("\(server.url())", "-o", "/nowhere/file")
      #expect(lost.code == 1 && lost.err.contains("/nowhere/file: its folder does not exist"))
    }

    /// The received part is kept, and the same command resumes.
    @Test func resumesAnInterruptedDownload() async throws {
      let bytes = someBytes(400_000)
      let isUp = Box(false)
      let server = try LoopbackServer { request in
        if isUp.value == true { return .file(bytes, for: request) }
        let head = ScriptedResponse.head(200, [("ETag", "\"1\""), ("Content-Length", "400000")])
        return ScriptedResponse([.send(head + bytes[..<150_000]), .hang])
      }
      let folder = try Folder()
      let arguments = ["\(server.url("/f"))", "-o", folder.file().path]
      let child = try ChildProcess(Self.program, arguments)
      await until { folder.partialSize == 150_000 }
      child.send(SIGINT)
      #expect(await child.ended() == 1)
      #expect(child.err == "wynd-fetch: canceled\n")
      isUp.value = true
      #expect(try await Self.wyndFetch(arguments).code == 0)
      #expect(server.requests.last?.value("Range") == "bytes=150000-")
      #expect(try Data(contentsOf: folder.file()) == Data(bytes) && folder.names == ["file.bin"])
    }

    @Test func showsAProgressBarOnATerminalAndRemovesIt() async throws {
      let server = try LoopbackServer { .file(someBytes(400_000), for: $0) }
      let folder = try Folder()
      var (terminal, child) = (Int32(0), Int32(0))
      try #require(openpty(&terminal, &child, nil, nil, nil) == 0)
      let (screen, prompt) = (
        FileHandle(fileDescriptor: terminal, closeOnDealloc: true), FileHandle(fileDescriptor: child)
      )
      let command = "exec \"$0\" \"$@\" 2>\(String(cString: try #require(ttyname(child))))"
      let arguments = ["-c", command, Self.program, "\(server.url())", "-o", folder.file().path]
      #expect(try await ChildProcess("/bin/sh", arguments).ended() == 0)
      // As a shell does then.
      try prompt.write(contentsOf: Data("$ ".utf8))
      var shown = ""
      while !shown.hasSuffix("$ ") { shown += screen.availableData.text }
      #expect(shown.contains("\r\u{1B}[K[####################] 0.4 MB\r\u{1B}[K$ "), "\(shown)")
      try prompt.close()
    }

    /// The process is killed thirty times, at random moments.
    @Test func resumesAKilledDownload() async throws {
      let bytes = someBytes(2_000_000)
      let server = try LoopbackServer { request in
        // 50 KB each 2 ms, so that a moment is somewhere in the body.
        let whole = ScriptedResponse.file(bytes, for: request)
        guard case .send(let wire)? = whole.steps.first else { return whole }
        return ScriptedResponse(
          stride(from: 0, to: wire.count, by: 50_000).flatMap {
            [.pause(milliseconds: 2), .send(Array(wire[$0..<min($0 + 50_000, wire.count)]))] as [ScriptedResponse.Step]
          })
      }
      let folder = try Folder()
      let arguments = ["\(server.url("/f"))", "-o", folder.file().path]
      var kills = 0
      while kills < 30 {
        let before = server.requests.count
        let child = try ChildProcess(Self.program, arguments)
        await until { server.requests.count > before }
        try await Task.sleep(for: .milliseconds(.random(in: 0...60)))
        child.send(SIGKILL)
        if await child.ended() < 0 { kills += 1 }
        // The file is complete, or there is none.
        if let data = try? Data(contentsOf: folder.file()) {
          #expect(data == Data(bytes))
          try FileManager.default.removeItem(at: folder.file())
        }
      }
      #expect(try await Self.wyndFetch(arguments).code == 0)
      #expect(try Data(contentsOf: folder.file()) == Data(bytes) && folder.names == ["file.bin"])
      #expect(server.requests.contains { $0.value("Range") != nil })
    }
  }
#endif
