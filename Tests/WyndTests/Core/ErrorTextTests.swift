import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The localized description and the description of errors in each situation.
///
/// Every URL has the query value S3CRET and every body has it, so that no text may contain it. Wynd makes these errors. On
/// Apple's platforms, the sentence for an error of URLSession is the system's own.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct ErrorTextTests {
  struct Situation: Sendable, CustomTestStringConvertible {
    var name: String
    var steps: [NetworkScript.Step]
    var method = "GET"
    var policy = RetryPolicy.default
    var person: String
    var log: String
    var testDescription: String { name }

    init(
      _ name: String, _ steps: [NetworkScript.Step], _ method: String = "GET", _ policy: RetryPolicy = .default,
      person: String, log: String
    ) {
      (self.name, self.steps, self.method, self.policy) = (name, steps, method, policy)
      (self.person, self.log) = (person, log)
    }
  }

  private static let secret = #"{"token":"S3CRET"}"#
  private static let place = "https://a.example/orders?q=*"
  private static let lost = " Please check before you send it again."

  // Not stored: the address sanitizer does not see what the cases of a stored enumeration hold, and takes it for leaked.
  static var situations: [Situation] {
    [
      Situation(
        "no network", [.failure(.notConnectedToInternet)],
        person: "There is no internet connection. Please try again later.",
        log: """
          There is no internet connection. (URLError -1009, \(place)); gave up on GET after attempt 7: \
          maxUnreachableTime
          """),
      Situation(
        "no TLS", [.failure(.secureConnectionFailed)],
        person: "A secure connection was not possible. Please try again later.",
        log: """
          A secure connection was not possible. (URLError -1200, \(place)); gave up on GET after attempt 3: \
          persistentFailure
          """),
      Situation(
        "404 with a JSON error", [.status(404, secret, headers: ["Content-Type": "application/json"])],
        person: "The server could not find the requested item.",
        log: "404 from https://a.example/orders?q=*, 18 bytes"),
      Situation(
        "429 with a Retry-After that is too long", [.status(429, secret, headers: ["Retry-After": "90"])],
        person: "The server is busy or not available. Please try again later.",
        log: """
          429 from https://a.example/orders?q=*, 18 bytes; gave up on GET after attempt 1: \
          retryAfterTooLong(90.0 seconds)
          """),
      Situation(
        "500 after retries", [.status(500, secret)],
        person: "The server could not process the request. Please try again later.",
        log: """
          500 from https://a.example/orders?q=*, 18 bytes; gave up on GET after attempt 3: \
          persistentFailure
          """),
      Situation(
        "a POST that may have been applied", [.dropped], "POST",
        person: "The connection was lost." + lost,
        log: """
          The connection was lost. (URLError -1005, \(place)); gave up on POST after attempt 1: \
          notSafeToRepeat(method: "POST")
          """),
      Situation(
        "a POST that the server failed to process", [.status(502)], "POST",
        person: "The server is busy or not available." + lost,
        log: """
          502 from https://a.example/orders?q=*, 0 bytes; gave up on POST after attempt 1: \
          notSafeToRepeat(method: "POST")
          """),
      Situation(
        "a POST that was accepted", [.status(201)], "POST",
        person: "The server has accepted the request, but its response is empty or cannot be read.",
        log: "no body: 201 from https://a.example/orders?q=*, 0 bytes"),
      Situation(
        "a method that the server does not accept", [.status(405, headers: ["Allow": "GET,\n HEAD"])], "POST",
        person: "The server does not accept this method.",
        log: "405 from https://a.example/orders?q=*, 0 bytes, Allow: GET,  HEAD"),
      Situation(
        "a script without steps", [],
        person: "The request is invalid, and was not sent: the NetworkScript has no steps.",
        log: "invalid request: the NetworkScript has no steps"),
      Situation(
        "timeout without retries", [.silence], "GET", .never,
        person: "The request timed out. Please try again later.",
        log: "The request timed out. (URLError -1001, \(place))"),
      Situation(
        "deadline", [.silence], "POST", RetryPolicy(deadline: .seconds(10)),
        person: "The request timed out.",
        log:
          "The request timed out. (URLError -1001, \(place)); gave up on POST after attempt 1: deadline"
      ),
      Situation(
        "an empty body", [.ok("")],
        person: "The server has accepted the request, but its response is empty or cannot be read.",
        log: "no body: 200 from https://a.example/orders?q=*, 0 bytes"),
    ]
  }

  @Test(arguments: situations) func describesFailedRequests(_ situation: Situation) async throws {
    let script = NetworkScript(situation.steps)
    let error = await Self.error {
      try await script.performNetworkRequest(try Self.request(situation.method), policy: situation.policy)
    }
    try Self.check(error, situation.name, person: situation.person, log: situation.log)
  }
  // MARK: Middleware

  /// The status of a renewal is not about what the person has asked for.
  @Test(arguments: [(404, "The request failed."), (401, "The server requires a valid sign-in.")])
  func describesARenewalThatFails(_ status: Int, _ person: String) async throws {
    let origin = try #require(URL(string: "https://a.example"))
    let authentication = Authentication(for: origin, BearerToken("S3CRET", expiresAt: .distantPast)) { _, client in
      try await client.load(.post("/token", as: BearerToken.self))
    }
    let client = NetworkClient(baseURL: origin, on: NetworkScript([.status(status)]), middleware: [authentication])
    try Self.check(
      await Self.error { try await client.performNetworkRequest(origin) }, "a renewal that fails", person: person,
      log: "The request failed: \(status) from https://a.example/token, 0 bytes")
  }

  /// As for `ftp:`, which is refused before it is sent.
  @Test(arguments: ["htp://a.example/orders?q=S3CRET", "file:///S3CRET-no-such-file"])
  func namesASchemeThatCannotBeSent(_ text: String) async throws {
    let url = try #require(URL(string: text))
    let error = await Self.error { try await URLSession.shared.performNetworkRequest(url, policy: .never) }
    if isOnApplePlatforms, url.isFileURL { return }
    let scheme = try #require(url.scheme)
    #expect(
      error?.localizedDescription == "The URL is not valid: the scheme is \(scheme), not http or https.")
  }

  struct Closed: LocalizedError { var errorDescription: String? { "The shop is closed." } }
  // MARK: Files

  @Test func describesAFullDisk() throws {
    let full = NetworkError.generalError(TransferError.fileSystem(CocoaError(.fileWriteOutOfSpace)))
    #expect(full.localizedDescription == "There is not enough space for the file.")
    let other = NetworkError.generalError(TransferError.fileSystem(CocoaError(.fileWriteNoPermission)))
    #expect(other.localizedDescription == "The file could not be read or written.")
    #expect("\(other)".hasPrefix("The request failed: file system error: "))
  }

  @Test func describesFailedTransfers() async throws {
    let folder = try Folder()
    try Data("old".utf8).write(to: folder.file("old.txt"))
    let missing = folder.file("none").appending(path: "a.txt")
    let path = folder.url.path
    let cut = NetworkScript.Step.chunks(
      200, headers: ["Content-Length": "18"], [Data(Self.secret.utf8.prefix(9))], isCut: true)
    func download(
      _ step: NetworkScript.Step, to file: URL, _ validate: (@Sendable (URL) throws -> Void)? = nil
    ) async -> NetworkError? {
      await Self.error {
        try await NetworkScript([step]).performNetworkDownload(
          try Self.request(), to: file, policy: RetryPolicy(maxRetries: 1), validate: validate)
      }
    }
    try Self.check(
      await download(cut, to: folder.file()), "a download that is cut",
      person: "The connection was lost. Please try again later.",
      log: "The connection was lost. (URLError -1005, \(Self.place)); gave up on GET after attempt 2: maxRetries")
    try Self.check(
      await download(.ok("x"), to: missing), "a folder that is missing",
      person: "“a.txt” cannot be used: its folder does not exist.",
      log: "The request failed: \(path)/none/a.txt: its folder does not exist")
    try Self.check(
      await download(.ok("x"), to: folder.file("old.txt")), "a file that exists",
      person: "“old.txt” already exists.", log: "The request failed: \(path)/old.txt exists")
    try Self.check(
      await download(.status(204), to: folder.file()), "a response that is not the file",
      person: "The server did not send the requested file.",
      log: "The request failed: unexpected response: status 204")
    try Self.check(
      await download(.ok("x"), to: folder.file(), { _ in throw Closed() }),
      "a file that is not valid", person: "The shop is closed.",
      log: "The request failed: invalid file: Closed")
    let upload = await Self.error {
      try await NetworkScript([.ok("x")]).performNetworkUpload(try Self.request(), from: .file(missing))
    }
    let part = await Self.error {
      try await NetworkScript([.ok("x")])
        .performNetworkUpload(try Self.request(), from: .multipart([.file("a", missing)]))
    }
    try Self.check(
      part, "a file of a multipart body that is missing",
      person: "“a.txt” cannot be used: not a file that can be read.",
      log: "The request failed: \(path)/none/a.txt: not a file that can be read")
    try Self.check(
      upload, "a file to upload that is missing", person: "“a.txt” cannot be used: not a file that can be read.",
      log: "The request failed: \(path)/none/a.txt: not a file that can be read")
  }

  // MARK: Helpers

  static func request(_ method: String = "GET") throws -> URLRequest {
    var request = URLRequest(
      url: try #require(URL(string: "https://u:S3CRET@a.example/orders?q=S3CRET")), method: method)
    request.setValue("S3CRET", forHTTPHeaderField: "Authorization")
    if method == "POST" { request.httpBody = Data(secret.utf8) }
    return request
  }

  static func error(_ call: () async throws -> some Any) async -> NetworkError? {
    do { _ = try await call() } catch { return error as? NetworkError }
    return nil
  }

  /// `mayNameURL`: URLSession's own errors name the URL, which the log repeats without the values of its query.
  static func check(
    _ error: NetworkError?, _ name: String, person: String, log: String, mayNameURL: Bool = false
  ) throws {
    let error = try #require(error, "\(name) succeeds")
    #expect(error.localizedDescription == person, "\(name)")
    var line = "\(error)"
    if mayNameURL { line.replace(/, [a-z]+:[^)]*/, with: "") }
    #expect(line == log, "\(name)")
    for text in [error.localizedDescription, "\(error)", error.debugDescription] {
      #expect(!text.contains("S3CRET") && !text.contains("\u{1b}"), "\(name): \(text)")
    }
  }

  @Test func describesInvalidRequests() async throws {
    let script = NetworkScript([.ok("x")])
    let rows: [(String, NetworkClient, AdHocEndpoint<Data>, String)] = [
      (
        "no host", NetworkClient(on: script), .get("/users", as: Data.self),
        "the call names no host, and the base URL is nil"
      ),
      (
        "a line break in a header field", NetworkClient(baseURL: URL(string: "https://a.example"), on: script),
        .get("/users", headers: ["X-One": "S3CRET\r\nX-Two: 2"], as: Data.self),
        "the header field X-One holds a line break or NUL"
      ),
    ]
    for (name, client, call, reason) in rows {
      try Self.check(
        await Self.error { try await client.load(call) }, name,
        person: "The request is invalid, and was not sent: \(reason).", log: "invalid request: \(reason)")
    }
    #expect(script.requests.isEmpty)
  }
}
