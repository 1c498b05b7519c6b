#if os(Linux) || os(macOS)
  import Foundation
  import WyndLoopbackServer
  import Testing
  import Wynd

  /// The `wynd-fetch` command, as a process of its own.
  @Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct CommandTests {
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
        "wynd-fetch URL [OPTION]...; see wynd-fetch --help",
      ] {
        #expect(run.out.contains(text), "\(text) is missing in:\n\(run.out)")
      }
    }

    @Test func printsBodyToStdoutAndEventsToStderr() async throws {
      let server = try LoopbackServer(script: .reset, .ok("the body"))
      let run = try await Self.wyndFetch("-v", "\(server.url("/x?token=SECRET"))")
      #expect(run.code == 0)
      #expect(run.out == "the body")
      #expect(run.err.contains("URLError -1005"))
      #expect(run.err.contains("responded with 200"))
      #expect(!run.err.contains("SECRET"))
    }

    @Test func writesBodyToAFile() async throws {
      let server = try LoopbackServer(script: .ok("the body"))
      let file = FileManager.default.temporaryDirectory.appending(path: "wynd-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: file) }
      let run = try await Self.wyndFetch("\(server.url())", "-o", file.path, "--quiet")
      #expect(run.code == 0)
      #expect(run.out.isEmpty)
      #expect(run.err.isEmpty)
      #expect(try String(contentsOf: file, encoding: .utf8) == "the body")
      let lost = try await Self.wyndFetch("\(server.url())", "-o", "/nowhere/file", "--quiet")
      #expect(lost.code == 23)
      #expect(lost.err.contains("/nowhere/file: its folder does not exist"))
      // A device file is not replaced.
      #expect(try await Self.wyndFetch("\(server.url())", "-o", "/dev/null", "--quiet").code == 0)
      let type = try FileManager.default.attributesOfItem(atPath: "/dev/null")[.type] as? FileAttributeType
      #expect(type == .typeCharacterSpecial)
    }

    /// As with curl, a success without a body is an empty file.
    @Test(arguments: [204, 205]) func writesAnEmptyFileIfThereIsNoContent(_ status: Int) async throws {
      let server = try LoopbackServer { _ in .status(status) }
      let folder = try Folder()
      try Data("old".utf8).write(to: folder.file("file"))
      for name in ["file", "new"] {
        let run = try await Self.wyndFetch("\(server.url())", "-o", folder.file(name).path, "-s")
        #expect(run.code == 0 && run.out.isEmpty && run.err.isEmpty, "\(run)")
        #expect(try Data(contentsOf: folder.file(name)).isEmpty)
      }
      #expect(folder.names == ["file", "new"])
      let digest = String(repeating: "0", count: 64)
      let checked = try await Self.wyndFetch(
        "\(server.url())", "-o", folder.file("file").path, "-s", "--sha256", digest)
      #expect(checked.code == 23)
    }

    /// In the address and in the error.
    @Test func replacesQueryValuesWithAsterisks() async throws {
      let server = try LoopbackServer { _ in .status(404) }
      let run = try await Self.wyndFetch("\(server.url("/x?token=SECRET&b"))")
      #expect(run.err.components(separatedBy: "/x?token=*&*=*").count == 3, "\(run.err)")
      #expect(!run.err.contains("…") && !run.err.contains("SECRET"))
      let help = try await Self.wyndFetch("--help")
      #expect(!help.out.contains("…"))
    }

    /// The target of a link is written, and the link stays.
    @Test func writesToTheTargetOfALink() async throws {
      let server = try LoopbackServer { _ in .ok("the body") }
      let folder = try Folder()
      try Data("old".utf8).write(to: folder.file("target"))
      try FileManager.default.createSymbolicLink(at: folder.file("link"), withDestinationURL: folder.file("target"))
      #expect(try await Self.wyndFetch("\(server.url())", "-o", folder.file("link").path, "-s").code == 0)
      #expect(try String(contentsOf: folder.file("target"), encoding: .utf8) == "the body")
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.file("link").path).hasSuffix("target"))
      let name = FileManager.default.fileExists(atPath: "/dev/stdout") ? "/dev/stdout" : "-"
      for name in [name, "-"] {
        let run = try await Self.wyndFetch("\(server.url())", "-o", name, "-s")
        #expect(run.code == 0 && run.out == "the body", "\(name): \(run)")
      }
      #expect(folder.names == ["link", "target"])
    }

    @Test func sendsMethodHeadersAndData() async throws {
      let server = try LoopbackServer(script: .ok())
      let run = try await Self.wyndFetch(
        "-X", "PUT", "-d", "a=ü", "-H", "X-One: 1", "-H", "X-One:2", "-H", "X-Empty:", "\(server.url("/put"))")
      #expect(run.code == 0)
      let request = try #require(server.requests.first)
      #expect(request.method == "PUT")
      #expect(request.target == "/put")
      #expect(request.text == "a=ü")
      #expect(request.value("X-One") == "1,2")
      _ = try await Self.wyndFetch("-d", "x", "\(server.url("/post"))")
      #expect(server.requests.last?.method == "POST")
    }

    @Test func exitsWith22AfterAnHTTPErrorAndWith1AfterOthers() async throws {
      let server = try LoopbackServer { $0.target == "/404" ? .status(404, body: "not here") : .reset }
      let missing = try await Self.wyndFetch("\(server.url("/404"))")
      #expect(missing.code == 22)
      #expect(missing.out == "not here")
      #expect(missing.err.contains("404") && missing.err.contains("GET \(server.url("/404"))"))
      let head = try await Self.wyndFetch("\(server.url("/404"))", "-i", "--events")
      #expect(head.out.hasPrefix("HTTP 404\r\n") && head.out.hasSuffix("\r\n\r\nnot here"))
      // Every line is JSON, including the last.
      for line in head.err.split(separator: "\n") {
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        #expect(object?["event"] is String && object?["url"] as? String == "\(server.url("/404"))", "\(line)")
      }
      #expect(head.err.contains("\"event\":\"failed\""))
      let reset = try await Self.wyndFetch("\(server.url("/reset"))", "--max-retries", "2")
      #expect(reset.code == 1)
      #expect(reset.err.contains("gave up after attempt 3"))
      #expect(server.requests.count == 5)
      let late = try await Self.wyndFetch("\(server.url("/reset"))", "--deadline", "0.2")
      #expect(late.code == 1)
      #expect(late.err.contains("deadline"))
    }

    static let wrong: [([String], String)] = [
      (["se cret"], "is not an http or https URL"), (["ftp://u:secret@x/?t=secret"], "is not an http or https URL"),
      (["http://a/", "http://b/"], "one URL at a time"), (["--frob", "http://a/"], "unknown option --frob"),
      (["http://a/", "-o"], "-o needs a value"), (["http://a/", "-H", "secret"], "is not 'Name: value'"),
      (["http://a/", "--max-retries", "-1"], "from 0 up"), (["http://a/", "--deadline", "nan"], "seconds above 0"),
      (["-d", "x"], "no URL"), (["http://a/", "-X", "GE T"], "is not a method"),
      (["http://a/", "-X", ""], "is not a method"), (["http://a/", "-H", " X: y"], "is not a header field"),
      (["http://a/", "-H", "X-A\r\nX-Evil: y"], "is not a header field"),
      (["http://a/", "-H", "X-A: a\r\nX-Evil: secret"], "is not a header field"),
      (["http://a/", "-T", "f", "-o", "g"], "do not go together"),
      (["http://a/", "-o", "-", "-C"], "need -o FILE or -O"),
      (["http://a/", "-o", "/dev/null", "-C"], "a regular file"),
      (["http://a/", "--deadline", "1e-12"], "seconds above 0"), (["http://a/", "-C"], "need -o FILE"),
      (["http://a/", "-o", "f", "--sha256", "abc"], "64 hexadecimal digits"),
      (["http://a/", "-d", "x", "--upload", "f"], "two bodies"),
    ]

    @Test(arguments: wrong.indices) func printsUsageForInvalidArguments(_ row: Int) async throws {
      let (arguments, reason) = Self.wrong[row]
      let run = try await Self.wyndFetch(arguments)
      #expect(run.code == 2)
      #expect(run.out.isEmpty)
      #expect(run.err.contains(reason) && !run.err.contains("secret"))
      #expect(run.err.contains("usage: wynd-fetch"))
    }

    @Test func printsHeadersBeforeTheBodyOnRequest() async throws {
      let server = try LoopbackServer(script: .status(201, [("X-One", "1")], body: "the body"))
      let run = try await Self.wyndFetch("-i", "-s", "-L", "\(server.url())")
      #expect(run.out.hasPrefix("HTTP 201\r\n") && run.out.hasSuffix("X-One: 1\r\n\r\nthe body"))
    }

    @Test func printsEventsAsJSONOnRequest() async throws {
      struct Event: Decodable { var event: String, attempt: Int, elapsed: Double, delay: Double?, status: Int? }
      let server = try LoopbackServer(script: .status(503), .ok())
      let run = try await Self.wyndFetch("--events", "\(server.url("/x?token=SECRET"))")
      let events = try run.err.split(separator: "\n").map { try JSONDecoder().decode(Event.self, from: Data($0.utf8)) }
      let names = ["attemptStarted", "attemptFailed", "willRetry", "attemptStarted", "succeeded"]
      #expect(events.map(\.event) == names)
      #expect(events.map(\.status) == [nil, 503, nil, nil, 200] && events[2].delay != nil)
      #expect(!run.err.contains("SECRET"))
    }

    @Test func uploadsAFile() async throws {
      let server = try LoopbackServer(script: .reset, .status(201, body: "thanks"))
      let folder = try Folder()
      try Data(someBytes(300_000)).write(to: folder.file())
      let run = try await Self.wyndFetch("-s", "--upload", folder.file().path, "\(server.url("/up"))")
      #expect(run.code == 0 && run.out == "thanks")
      #expect(server.requests.last?.method == "PUT" && server.requests.last?.body == someBytes(300_000))
      let lost = try await Self.wyndFetch("-s", "--upload", folder.file("none").path, "\(server.url("/up"))")
      #expect(lost.code == 23 && server.requests.count == 2)
    }

    @Test func printsAStreamAsItArrives() async throws {
      let server = try LoopbackServer(
        script: ScriptedResponse([
          .send(ScriptedResponse.head(200, [("Content-Length", "10")])), ScriptedResponse.text("first"), .hang,
        ]))
      let child = try ChildProcess(Self.program, ["-N", "-s", "\(server.url())"])
      await until { child.out == "first" }
      child.send(SIGINT)
      #expect(await child.ended() == 130)
    }

    /// The received part is kept, and the same command with -C resumes.
    @Test func resumesAnInterruptedDownload() async throws {
      let bytes = someBytes(400_000)
      let isUp = Box(false)
      let server = try LoopbackServer { request in
        if isUp.value == true { return .file(bytes, for: request) }
        let head = ScriptedResponse.head(200, [("ETag", "\"1\""), ("Content-Length", "400000")])
        return ScriptedResponse([.send(head + bytes[..<150_000]), .hang])
      }
      let folder = try Folder()
      let child = try ChildProcess(Self.program, ["\(server.url("/f"))", "-o", folder.file().path])
      await until { folder.partialSize == 150_000 }
      child.send(SIGINT)
      #expect(await child.ended() == 130)
      #expect(child.err == "wynd-fetch: interrupted; the same command with -C - continues\n")
      isUp.value = true
      let run = try await Self.wyndFetch("\(server.url("/f"))", "-C", "-o", folder.file().path)
      #expect(run.code == 0)
      #expect(server.requests.last?.value("Range") == "bytes=150000-")
      #expect(try Data(contentsOf: folder.file()) == Data(bytes) && folder.names == ["file.bin"])
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
      let digest = "02cd4692bc6623e2fd0a23f66393c5585bbadbc1f3b61afc413af1040c3ef89f"
      let arguments = ["\(server.url("/f"))", "-s", "-C", "-o", folder.file().path, "--sha256", digest]
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

    @Test func helpExitsWithZero() async throws {
      #expect(try await Self.wyndFetch("--version").out.hasPrefix("wynd-fetch "))
      let run = try await Self.wyndFetch("--help")
      #expect(run.code == 0)
      #expect(run.out.hasPrefix("usage: wynd-fetch"))
    }
  }
#endif
