import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// In every form of every call, on a script and on a client, each argument has its effect.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct CallArgumentTests {
  /// A response that each form can read: JSON that is also an event of a stream.
  static func step(_ form: CallForm, status: Int = 200) -> NetworkScript.Step {
    form.selector.hasPrefix("serverSentEvents")
      ? .status(status, "data: hello\n\n", headers: ["Content-Type": "text/event-stream"])
      : .status(status, #"{"firstLine": "hello"}"#, headers: ["Content-Type": "application/json"])
  }
  /// The first half of a file.
  static let half = NetworkScript.Step.chunks(
    200, headers: ["ETag": "\"1\"", "Content-Length": "8"], [Data("half".utf8)], isCut: true)

  /// Calls on a script that responds like this, and on a client of such a script. Returns the requests of both.
  @discardableResult func check(
    _ form: CallForm, _ steps: [NetworkScript.Step], succeeds: Bool, sends: Int = 1,
    _ change: (inout CallArguments) -> Void = { _ in }, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> [URLRequest] {
    var requests: [URLRequest] = []
    for isClient in [false, true] {
      var arguments = CallArguments(folder: try Folder())
      change(&arguments)
      let script = NetworkScript(steps)
      let performer: any NetworkPerformer =
        isClient ? NetworkClient(on: script, policy: RetryPolicy(maxRetries: 7)) : script
      var result: Result<String, any Error>
      do { result = .success(try await form.call(performer, arguments)) } catch { result = .failure(error) }
      #expect((result.error == nil) == succeeds, "\(form.selector): \(result)", sourceLocation: sourceLocation)
      #expect(script.requests.count == sends, "\(form.selector)", sourceLocation: sourceLocation)
      requests += script.requests
    }
    return requests
  }

  @Test(arguments: CallForm.all) func request(_ form: CallForm) async throws {
    let requests = try await check(form, [Self.step(form)], succeeds: true) {
      $0.request = URLRequest(url: URL.example.appending(path: "notes"), method: "PUT", body: "body")
      $0.request.setValue("one", forHTTPHeaderField: "X-Note")
    }
    for request in requests {
      #expect(request.url == URL.example.appending(path: "notes"))
      if form.takesURL {
        #expect(request.httpMethod == "GET")
      } else {
        #expect(request.httpMethod == "PUT" && request.value(forHTTPHeaderField: "X-Note") == "one")
        #expect(request.text == "body")
      }
    }
  }

  @Test(arguments: CallForm.all) func response(_ form: CallForm) async throws {
    let arguments = CallArguments(folder: try Folder())
    let text = try await form.call(NetworkScript([Self.step(form)]), arguments)
    #expect(text.contains("hello"))
  }

  @Test(arguments: CallForm.having("policy")) func policy(_ form: CallForm) async throws {
    for retries in [0, 2] {
      try await check(form, [.dropped], succeeds: false, sends: retries + 1) {
        $0.policy = RetryPolicy(maxRetries: retries)
      }
    }
    try await check(form, [.dropped], succeeds: false) {
      $0.policy = RetryPolicy(maxRetries: 5, shouldRetry: { _ in false })
    }
    // By default, that of the script or of the client.
    for isClient in [false, true] {
      let script = NetworkScript([.dropped])
      let performer: any NetworkPerformer =
        isClient ? NetworkClient(on: script, policy: RetryPolicy(maxRetries: 7)) : script
      var arguments = CallArguments(folder: try Folder())
      arguments.policy = .default
      await #expect(throws: (any Error).self) { try await form.call(performer, arguments) }
      #expect(script.requests.count == (isClient ? 8 : 11))
    }
  }

  @Test(arguments: CallForm.having("maxRetries")) func maxRetries(_ form: CallForm) async throws {
    for (retries, inPolicy) in [(0, 4), (2, 1), (3, nil)] {
      try await check(form, [.dropped], succeeds: false, sends: retries + 1) {
        $0.maxRetries = retries
        $0.policy = RetryPolicy(maxRetries: inPolicy)
      }
    }
  }

  @Test(arguments: CallForm.having("allowEmptyData"), [false, true])
  func allowEmptyData(_ form: CallForm, isAllowed: Bool) async throws {
    try await check(form, [.ok("")], succeeds: isAllowed) { $0.allowEmptyData = isAllowed }
  }

  @Test(arguments: CallForm.having("acceptsAnyStatus"), [false, true])
  func acceptsAnyStatus(_ form: CallForm, isAccepted: Bool) async throws {
    try await check(form, [Self.step(form, status: 404)], succeeds: isAccepted) { $0.acceptsAnyStatus = isAccepted }
  }

  @Test(arguments: CallForm.having("decoder")) func decoder(_ form: CallForm) async throws {
    let step = NetworkScript.Step.ok(#"{"first_line": "hello"}"#, headers: ["Content-Type": "application/json"])
    try await check(form, [step], succeeds: false)
    try await check(form, [step], succeeds: true) {
      let decoder = JSONDecoder()
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      $0.decoder = decoder
    }
  }

  @Test(arguments: CallForm.having("onProgress")) func onProgress(_ form: CallForm) async throws {
    let last = Box<TransferProgress>()
    try await check(form, [Self.step(form)], succeeds: true) {
      $0.request = URLRequest(url: .example, method: "PUT", body: "body")
      $0.onProgress = { last.value = $0 }
    }
    // Of a download, the length of the response is not known.
    #expect(
      last.value == TransferProgress(completed: 4, total: 4)
        || form.labels.contains("to") && last.value?.completed == 22)
  }

  @Test(arguments: CallForm.having("from").filter { $0.selector.hasPrefix("performNetworkUpload") })
  func from(_ form: CallForm) async throws {
    let requests = try await check(form, [Self.step(form)], succeeds: true) { $0.body = Data("another".utf8) }
    #expect(requests.map(\.text) == ["another", "another"])
  }

  @Test(arguments: CallForm.having("overwrites"), [false, true]) func overwrites(_ form: CallForm, overwrites: Bool)
    async throws
  {
    let folder = try Folder()
    try Data("older".utf8).write(to: folder.file("download"))
    try await check(form, [Self.step(form)], succeeds: overwrites, sends: overwrites ? 1 : 0) {
      $0.folder = folder
      $0.overwrites = overwrites
    }
    #expect(folder.text("download")?.contains("hello") == overwrites)
  }

  @Test(arguments: CallForm.having("resumes"), [false, true]) func resumes(_ form: CallForm, resumes: Bool) async throws
  {
    let folder = try Folder()
    try await check(form, [Self.half], succeeds: false) {
      $0.folder = folder
      $0.resumes = resumes
    }
    #expect(NetworkPartialDownload.exists(for: folder.file("download")) == resumes)
  }

  @Test(arguments: CallForm.having("resumesAs"), [nil, "film"])
  func resumesAs(_ form: CallForm, name: String?) async throws {
    let folder = try Folder()
    try await check(form, [Self.half], succeeds: false) {
      $0.folder = folder
      $0.resumesAs = name
    }
    #expect(NetworkPartialDownload.exists(for: folder.file("download")) == (name != nil))
  }

  @Test(arguments: CallForm.having("validate")) func validate(_ form: CallForm) async throws {
    let calls = Counter()
    try await check(form, [Self.step(form)], succeeds: false) {
      $0.validate = { _ in
        calls.add()
        throw CocoaError(.fileReadCorruptFile)
      }
    }
    #expect(calls.value == 2)
  }

  @Test(arguments: CallForm.having("reconnects")) func reconnects(_ form: CallForm) async throws {
    // With status 204 a server ends the reconnections.
    try await check(form, [Self.step(form), .status(204)], succeeds: true) { $0.reconnects = false }
    try await check(form, [Self.step(form), .status(204)], succeeds: true, sends: 2) { $0.reconnects = true }
  }

  @Test(arguments: CallForm.having("completionHandler"), [false, true])
  func completionHandler(_ form: CallForm, isClient: Bool) async throws {
    let start = try #require(form.start)
    let arguments = CallArguments(folder: try Folder())
    let queue = OperationQueue.serial()
    let session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
    let server = try LoopbackServer { request in
      request.target == "/waiting"
        ? .hang : .status(200, [("Content-Type", "application/json")], body: #"{"firstLine": "hello"}"#)
    }
    let performer: any NetworkPerformer = isClient ? NetworkClient(on: session) : session
    for target in ["/", "/waiting"] {
      var arguments = arguments
      arguments.request.url = server.url(target)
      let calls = Counter()
      let (error, current) = await handlerValue { end in
        let task = start(performer, arguments) { error, current in
          calls.add()
          end((error, current))
        }
        // Its task ends this call.
        if target == "/waiting" { task.cancel() }
      }
      #expect(current === queue)
      #expect((error == nil) == (target == "/"), "\(String(describing: error))")
      // A data task ends with a `URLError`, as that of URLSession.
      if target == "/waiting" { #expect((error as? NetworkError)?.isCancelled == true || form.labels.contains("with")) }
      #expect(calls.value == 1)
    }
  }

  /// A new form needs a row in `CallForm.all`, and a new argument a test above.
  @Test func everyFormAndEveryArgumentHasATest() throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
      path: "../../PublicAPI/Wynd.swiftinterface")
    let text = try String(contentsOf: file, encoding: .utf8)
    var selectors: [String] = []
    for part in text.components(separatedBy: "\nnonisolated extension Wynd.NetworkPerformer {\n").dropFirst() {
      let lines = part.prefix(upTo: part.range(of: "\n}\n")?.lowerBound ?? part.endIndex).split(separator: "\n")
      for (previous, line) in zip([""] + lines, lines) {
        guard let selector = Self.selector(String(line)), !selector.hasPrefix("perform("),
          !previous.contains("unavailable"),
          !(previous.contains("discardableResult")
            && selector == "load(_:decoder:maxRetries:policy:completionHandler:)")
        else { continue }
        selectors.append(selector)
      }
    }
    #expect(selectors.sorted() == CallForm.all.map(\.selector).sorted())
    let tested: Set = [
      "_", "acceptsAnyStatus", "allowEmptyData", "as", "completionHandler", "decoder", "for", "from", "maxRetries",
      "onProgress", "overwrites", "policy", "reconnects", "resumes", "resumesAs", "to", "validate", "with",
    ]
    #expect(Set(CallForm.all.flatMap(\.labels)) == tested)
  }

  /// The name and the labels of the parameters of a declared function.
  static func selector(_ line: String) -> String? {
    let line = line.replacing("->", with: "")
    guard let match = line.firstMatch(of: /func (\w+)(?:<[^>]*>)?\((.*)/) else { return nil }
    var (depth, labels, word) = (0, "", "")
    var isLabel = true
    for character in match.2 {
      switch character {
      case "(", "<", "[": depth += 1
      case ")" where depth == 0: return "\(match.1)(\(labels))"
      case ")", ">", "]": depth -= depth > 0 ? 1 : 0
      case "," where depth == 0: isLabel = true
      case " ", ":":
        if isLabel, !word.isEmpty {
          labels += word + ":"
          isLabel = false
        }
        word = ""
      default: word.append(character)
      }
      if !isLabel { word = "" }
    }
    return nil
  }
}
