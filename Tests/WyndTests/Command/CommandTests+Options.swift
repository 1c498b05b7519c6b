#if os(Linux) || os(macOS)
  import Foundation
  import WyndLoopbackServer
  import Testing
  import Wynd

  /// The options of curl that `wynd-fetch` supports, and its messages about others.
  extension CommandTests {
    /// The request as text: method and target, the fields that a row looks at, and the body.
    private static func echo(_ request: LoopbackServer.Request) -> ScriptedResponse {
      if request.target.hasSuffix("/404") { return .status(404, body: "not here") }
      let names = ["Authorization", "User-Agent", "Referer", "Accept", "Content-Type", "X-One", "X-Two"]
      let fields = names.compactMap { name in request.value(name).map { "\n\(name): \($0)" } }
      return .status(
        200, [("X-Echo", "1")], body: "\(request.method) \(request.target)\(fields.joined())\n\(request.text)")
    }

    /// URL stands for the server's address without its scheme, FILE for a file with two lines, FIELDS for one with two
    /// header fields. Every text of the last column is in stdout, or is not if it begins with `!`.
    static let options: [([String], [String])] = [
      (["URL/a"], ["GET /a\n"]), (["--url", "URL/a"], ["GET /a\n"]), (["http://URL/a?b=c"], ["GET /a?b=c\n"]),
      (
        ["URL/", "-d", "a=1", "-d", "b=2"],
        ["POST /\n", "\na=1&b=2", "Content-Type: application/x-www-form-urlencoded"]
      ),
      (["URL/", "--data", "a=1", "-d@FILE"], ["\na=1&one=1two=2"]), (["URL/", "-d", "@-"], ["POST /\n"]),
      (["URL/", "--data-binary", "@FILE"], ["\none=1\r\ntwo=2\n"]), (["URL/", "--data-raw", "@FILE"], ["\n@/"]),
      (
        ["URL/", "-d", "{}", "-H", "content-type: application/json"], ["\nContent-Type: application/json\n{}", "!form"]
      ),
      (
        ["URL/", "--json", "{\"a\":1}"],
        ["POST /\n", "Content-Type: application/json\n", "Accept: application/json\n", "\n{\"a\":1}"]
      ),
      (["URL/", "--json", "{\"a\":", "--json", "1}"], ["\n{\"a\":1}"]),
      (["URL/", "--json", "@FILE", "-X", "PUT"], ["PUT /\n", "\none=1\r\ntwo=2\n"]),
      (
        ["URL/", "--json", "1", "-H", "Accept: text/plain"],
        ["Accept: text/plain\n", "Content-Type: application/json\n"]
      ),
      (["-G", "URL/s", "-d", "q=ü b", "-d", "n=1"], ["GET /s?q=%C3%BC%20b&n=1\n", "!Content-Type"]),
      (["-G", "URL/s?x=1", "-d", "q=2"], ["GET /s?x=1&q=2\n"]),
      (["-X", "DELETE", "URL/"], ["DELETE /\n"]), (["-XPATCH", "-da", "URL/"], ["PATCH /\n", "\na"]),
      (["--request", "PUT", "URL/", "-d", "x"], ["PUT /\n", "\nx"]),
      (["-u", "user:pass:word", "URL/"], ["Authorization: Basic dXNlcjpwYXNzOndvcmQ=\n"]),
      (["-uuser:", "URL/"], ["Authorization: Basic dXNlcjo=\n"]),
      (["-u", "a:b", "-H", "Authorization: Bearer t", "URL/"], ["Authorization: Bearer t\n"]),
      (["--oauth2-bearer", "t", "URL/"], ["Authorization: Bearer t\n"]),
      (["--oauth2-bearer", "t", "-H", "Authorization: own", "URL/"], ["Authorization: own\n"]),
      (["-A", "me/1", "-e", "http://here/", "URL/"], ["User-Agent: me/1\n", "Referer: http://here/\n"]),
      (["-H", "X-One: 1", "-H", "X-One: 2", "URL/"], ["X-One: 1,2\n"]),
      (["-H", "@FIELDS", "URL/"], ["X-One: 1\n", "X-Two: 2\n"]),
      (
        ["-F", "a=1", "-F", "f=@FILE;type=text/csv", "-Ft=<FILE", "URL/"],
        [
          "POST /\n", "Content-Type: multipart/form-data; boundary=", "name=\"a\"\r\n\r\n1\r\n",
          "name=\"f\"; filename=\"data.txt\"\r\nContent-Type: text/csv\r\n\r\none=1\r\ntwo=2\n\r\n",
          "name=\"t\"\r\n\r\none=1\r\ntwo=2\n",
        ]
      ),
      (["-T", "FILE", "URL/up"], ["PUT /up\n", "one=1\r\ntwo=2\n"]),
      (["-T", "FILE", "-XPOST", "URL/up"], ["POST /up\n"]), (["-T", "FILE", "URL/up/"], ["PUT /up/data.txt\n"]),
      (["-T", "FILE", "URL"], ["PUT /data.txt\n"]), (["-H", "X-One: 1", "-H", "X-One:", "URL/"], ["X-One: 1\n"]),
      (["-H", "X-One:", "URL/"], ["!X-One"]),
      (["-F", "f=@FILE;filename=a.txt", "URL/"], ["name=\"f\"; filename=\"a.txt\"\r\n"]),
      (["-I", "URL/"], ["HTTP 200\r\n", "X-Echo: 1\r\n", "!GET"]), (["-i", "URL/"], ["HTTP 200\r\n", "GET /"]),
      (["-sS", "URL/"], ["GET /\n"]), (["-fL", "--compressed", "URL/"], ["GET /\n"]),
      (["-siXPUT", "URL/"], ["HTTP", "PUT"]),
      (["-sm", "30", "--retry", "1", "URL/"], ["GET /\n"]), (["-N", "URL/"], ["GET /\n"]),
    ]

    @Test func optionsMatchCurl() async throws {
      let server = try LoopbackServer(respond: Self.echo)
      let folder = try Folder()
      try Data("one=1\r\ntwo=2\n".utf8).write(to: folder.file("data.txt"))
      try Data("X-One: 1\nX-Two: 2\n".utf8).write(to: folder.file("fields"))
      for (row, texts) in Self.options {
        let arguments = row.map {
          $0.replacingOccurrences(of: "URL", with: "127.0.0.1:\(server.port)")
            .replacingOccurrences(of: "FILE", with: folder.file("data.txt").path)
            .replacingOccurrences(of: "FIELDS", with: folder.file("fields").path)
        }
        let run = try await Self.wyndFetch(arguments)
        #expect(run.code == 0 && run.err.isEmpty, "\(row): \(run)")
        for text in texts {
          let isExpected = !text.hasPrefix("!")
          #expect(run.out.contains(isExpected ? text : String(text.dropFirst())) == isExpected, "\(row): \(run.out)")
        }
      }
    }

    @Test func printsAFailureAsOneLine() async throws {
      let server = try LoopbackServer(respond: Self.echo)
      let address = "127.0.0.1:\(server.port)/404"
      for arguments in [[address], ["-s", address], ["-f", address]] {
        let run = try await Self.wyndFetch(arguments)
        #expect(run.code == 22 && run.out == (arguments[0] == "-f" ? "" : "not here"), "\(run)")
        #expect(
          run.err.split(separator: "\n").count == 1 && run.err.hasPrefix("wynd-fetch: GET http://\(address): 404 "))
      }
      // With -v every event too.
      let run = try await Self.wyndFetch("-v", address)
      #expect(run.err.contains(": started\n") && run.err.contains(": failed with 404 "), "\(run.err)")
      let lost = try await Self.wyndFetch(address, "-d", "@/nowhere/file")
      #expect(lost.code == 23 && lost.err == "wynd-fetch: /nowhere/file cannot be read\n")
    }

    /// The name of -O is that of the URL, without its query; a program starts in the folder of the tests.
    @Test func namesTheFileAfterTheURL() async throws {
      let server = try LoopbackServer(respond: Self.echo)
      let name = "wynd-\(UUID().uuidString).txt"
      let file = URL(filePath: FileManager.default.currentDirectoryPath).appending(path: name)
      defer { try? FileManager.default.removeItem(at: file) }
      for option in ["-O", "-sO", "--remote-name"] {
        let run = try await Self.wyndFetch(option, "127.0.0.1:\(server.port)/a/\(name)?x=1", "-C", "-")
        #expect(run.code == 0 && run.out.isEmpty && run.err.isEmpty, "\(run)")
        #expect(try String(contentsOf: file, encoding: .utf8).hasPrefix("GET /a/\(name)?x=1\n"))
      }
    }

    static let refused: [([String], String)] = [
      (["-k", "h"], "-k is not supported: certificates are always checked"),
      (["--proxy", "p", "h"], "--proxy is not supported: set http_proxy"),
      (["-b", "a=secret", "h"], "-b is not supported: use -H 'Cookie"),
      (["--data-urlencode", "a=secret", "h"], "--data-urlencode is not supported: encode the value, and use -d"),
      (["-w", "%{http_code}", "h"], "-w is not supported: use -i or --events"),
      (["-C", "100", "h", "-o", "f"], "-C takes no offset; -C - finds out"), (["-C100", "h"], "-C takes no offset"),
      (["-u", "secret", "h"], "-u needs user:password"), (["-O", "h"], "-o FILE names one"),
      (["-O", "h/"], "-o FILE names one"), (["-F", "secret", "h"], "-F is not name=value"),
      (["-F", "f=secret;type=text/css", "h"], "-F is not name=value"), (["-XGET", "-d", "a", "h"], "-G puts -d into"),
      (["-F", "f=@a;headers=secret", "h"], "-F is not name=value"), (["-F", "a=b", "-d", "c", "h"], "two bodies"),
      (["--json", "{}", "-d", "c", "h"], "two bodies"), (["--json"], "--json needs a value"),
      (["-I", "-d", "c", "h"], "-I sends no body"),
      (["-I", "-o", "f", "h"], "do not go together"), (["-sz", "h"], "unknown option -z"), (["-X"], "-X needs a value"),
      (["{\"a\":\"secret\"}"], "is not an http or https URL"),
      (["--json=secret", "h"], "unknown option --json"),
      (["-H", "@/nowhere/file", "h"], "/nowhere/file cannot be read"),
    ]

    @Test(arguments: refused.indices) func rejectsUnsupportedOptionsAndNamesAnAlternative(_ row: Int) async throws {
      let (arguments, reason) = Self.refused[row]
      let run = try await Self.wyndFetch(arguments)
      #expect(run.code == (reason.contains("cannot be read") ? 23 : 2) && run.out.isEmpty)
      #expect(run.err.contains(reason) && !run.err.contains("secret"), "\(arguments): \(run.err)")
    }
  }
#endif
