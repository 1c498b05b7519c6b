#if os(Linux) || os(macOS)
  import Foundation
  import LoopbackServer
  import Testing

  /// The `wynd` command, as a process of its own.
  @Suite(.timeLimit(.minutes(1))) struct CommandTests {
    struct Run {
      var code: Int32
      var out: String
      var err: String
    }

    static func wynd(_ arguments: String...) async throws -> Run { try await wynd(arguments) }

    static func wynd(_ arguments: [String]) async throws -> Run {
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
      return products.appending(path: "wynd").path
    }

    @Test func withoutArgumentsItShowsARequestThatSurvives() async throws {
      let run = try await Self.wynd()
      #expect(run.code == 0)
      for text in ["503", "as the server asked (Retry-After)", "connection lost", "Here is your data.", "4 attempts"] {
        #expect(run.out.contains(text), "\(text) is missing in:\n\(run.out)")
      }
    }

    @Test func theBodyGoesToStdoutAndTheStoryToStderr() async throws {
      let server = try LoopbackServer(script: .reset, .ok("the body"))
      let run = try await Self.wynd("\(server.url("/x?token=SECRET"))")
      #expect(run.code == 0)
      #expect(run.out == "the body")
      #expect(run.err.contains("failed with connection lost"))
      #expect(run.err.contains("succeeded with 200"))
      #expect(!run.err.contains("SECRET"))
    }

    @Test func theBodyGoesToAFile() async throws {
      let server = try LoopbackServer(script: .ok("the body"))
      let file = FileManager.default.temporaryDirectory.appending(path: "wynd-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: file) }
      let run = try await Self.wynd("\(server.url())", "-o", file.path, "--quiet")
      #expect(run.code == 0)
      #expect(run.out.isEmpty)
      #expect(run.err.isEmpty)
      #expect(try String(contentsOf: file, encoding: .utf8) == "the body")
      let lost = try await Self.wynd("\(server.url())", "-o", "/nowhere/file", "--quiet")
      #expect(lost.code == 1)
      #expect(lost.err.contains("cannot write to /nowhere/file"))
    }

    @Test func methodFieldsAndDataAreSent() async throws {
      let server = try LoopbackServer(script: .ok())
      let run = try await Self.wynd(
        "-X", "PUT", "-d", "a=ü", "-H", "X-One: 1", "-H", "X-One:2", "-H", "X-Empty:", "\(server.url("/put"))")
      #expect(run.code == 0)
      let request = try #require(server.requests.first)
      #expect(request.method == "PUT")
      #expect(request.target == "/put")
      #expect(request.text == "a=ü")
      #expect(request.value("X-One") == "1,2")
      _ = try await Self.wynd("-d", "x", "\(server.url("/post"))")
      #expect(server.requests.last?.method == "POST")
    }

    @Test func anHTTPErrorIs22AndAnythingElse1() async throws {
      let server = try LoopbackServer { $0.target == "/404" ? .status(404, body: "not here") : .reset }
      let missing = try await Self.wynd("\(server.url("/404"))")
      #expect(missing.code == 22)
      #expect(missing.out == "not here")
      #expect(missing.err.contains("404"))
      let reset = try await Self.wynd("\(server.url("/reset"))", "--max-retries", "2")
      #expect(reset.code == 1)
      #expect(reset.err.contains("gave up after 3 attempts"))
      #expect(server.requests.count == 4)
      let late = try await Self.wynd("\(server.url("/reset"))", "--deadline", "0.2")
      #expect(late.code == 1)
      #expect(late.err.contains("deadline"))
    }

    static let wrong: [([String], String)] = [
      (["nonsense"], "'nonsense' is not an http or https URL"), (["ftp://x/"], "is not an http or https URL"),
      (["http://a/", "http://b/"], "one URL at a time"), (["--frob", "http://a/"], "unknown option --frob"),
      (["http://a/", "-o"], "-o needs a value"), (["http://a/", "-H", "nocolon"], "is not 'Name: value'"),
      (["http://a/", "--max-retries", "-1"], "0 or more"), (["http://a/", "--deadline", "nan"], "seconds above 0"),
      (["-d", "x"], "no URL"), (["http://a/", "-X", "GE T"], "'GE T' is not a method"),
      (["http://a/", "-X", ""], "'' is not a method"), (["http://a/", "-H", " X: y"], "is not a header field"),
      (["http://a/", "-H", "X-A\r\nX-Evil: y"], "is not a header field"),
      (["http://a/", "-H", "X-A: a\r\nX-Evil: y"], "is not a header field"),
      (["http://a/", "--deadline", "1e-12"], "seconds above 0"),
    ]

    @Test(arguments: wrong.indices) func wrongArgumentsGetTheUsage(_ row: Int) async throws {
      let (arguments, reason) = Self.wrong[row]
      let run = try await Self.wynd(arguments)
      #expect(run.code == 2)
      #expect(run.out.isEmpty)
      #expect(run.err.contains(reason))
      #expect(run.err.contains("usage: wynd"))
    }

    @Test func helpIsNoError() async throws {
      let run = try await Self.wynd("--help")
      #expect(run.code == 0)
      #expect(run.out.hasPrefix("usage: wynd"))
    }
  }
#endif
