import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The localized description and the description of errors in each situation.
///
/// Every URL has the query value S3CRET and every body has it, so that no text may contain it. On Apple's platforms the
/// sentence for a `URLError` is the system's own.
@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct ErrorTextTests {
  struct Situation {
    var name: String
    var steps: [NetworkScript.Step]
    var method = "GET"
    var policy = RetryPolicy.default
    var person: String
    var log: String

    init(
      _ name: String, _ steps: [NetworkScript.Step], _ method: String = "GET", _ policy: RetryPolicy = .default,
      person: String, log: String
    ) {
      (self.name, self.steps, self.method, self.policy) = (name, steps, method, policy)
      (self.person, self.log) = (person, log)
    }
  }

  private static let secret = #"{"token":"S3CRET"}"#
  private static let lost = " Please check before you send it again."

  // Not stored: the address sanitizer does not see what the cases of a stored enumeration hold, and takes it for leaked.
  static var situations: [Situation] {
    [
      Situation(
        "no network", [.failure(.notConnectedToInternet)],
        person: "There is no internet connection. Please try again later.",
        log: "There is no internet connection. (URLError -1009); gave up after attempt 7: maxUnreachableTime"),
      Situation(
        "wrong host", [.failure(.cannotFindHost)],
        person: "The host was not found. Please try again later.",
        log: "The host was not found. (URLError -1003); gave up after attempt 7: maxUnreachableTime"),
      Situation(
        "refused", [.failure(.cannotConnectToHost)],
        person: "The server did not accept the connection. Please try again later.",
        log:
          "The server did not accept the connection. (URLError -1004); gave up after attempt 7: maxUnreachableTime"
      ),
      Situation(
        "no TLS", [.failure(.secureConnectionFailed)],
        person: "A secure connection was not possible. Please try again later.",
        log: """
          A secure connection was not possible. (URLError -1200); gave up after attempt 3: \
          persistentFailure
          """),
      Situation(
        "expired certificate", [.failure(.serverCertificateHasBadDate)],
        person: "The certificate of the server is not trusted.",
        log: "The certificate of the server is not trusted. (URLError -1201)"),
      Situation(
        "400", [.status(400, secret)],
        person: "The server rejected the request.", log: "400 from https://a.example/orders?q=*, 18 bytes"),
      Situation(
        "401", [.status(401, secret)],
        person: "The server requires a valid sign-in.",
        log: "401 from https://a.example/orders?q=*, 18 bytes"),
      Situation(
        "403", [.status(403, secret)],
        person: "The server denied access.", log: "403 from https://a.example/orders?q=*, 18 bytes"),
      Situation(
        "404 with a JSON error", [.status(404, secret, headers: ["Content-Type": "application/json"])],
        person: "The server could not find the requested item.",
        log: "404 from https://a.example/orders?q=*, 18 bytes"),
      Situation(
        "409", [.status(409, secret)],
        person: "The server rejected the request.", log: "409 from https://a.example/orders?q=*, 18 bytes"),
      Situation(
        "413", [.status(413, secret)], "POST",
        person: "The server does not accept this much data.",
        log: "413 from https://a.example/orders?q=*, 18 bytes"),
      Situation(
        "429 with a Retry-After that is too long", [.status(429, secret, headers: ["Retry-After": "90"])],
        person: "The server is busy or not available. Please try again later.",
        log: """
          429 from https://a.example/orders?q=*, 18 bytes; gave up after attempt 1: \
          retryAfterTooLong(90.0 seconds)
          """),
      Situation(
        "500 after retries", [.status(500, secret)],
        person: "The server could not process the request. Please try again later.",
        log: """
          500 from https://a.example/orders?q=*, 18 bytes; gave up after attempt 3: \
          persistentFailure
          """),
      Situation(
        "503 after retries", [.status(503, secret)],
        person: "The server is busy or not available. Please try again later.",
        log: """
          503 from https://a.example/orders?q=*, 18 bytes; gave up after attempt 11: \
          maxRetries
          """),
      Situation(
        "a POST that may have been applied", [.dropped], "POST",
        person: "The connection was lost." + lost,
        log: """
          The connection was lost. (URLError -1005); gave up after attempt 1: notSafeToRepeat(method: "POST")
          """),
      Situation(
        "a POST that the server failed to process", [.status(502)], "POST",
        person: "The server is busy or not available." + lost,
        log: """
          502 from https://a.example/orders?q=*, 0 bytes; gave up after attempt 1: \
          notSafeToRepeat(method: "POST")
          """),
      Situation(
        "timeout", [.silence],
        person: "The request timed out. Please try again later.",
        log: "The request timed out. (URLError -1001); gave up after attempt 2: maxRetryTime"),
      Situation(
        "timeout without retries", [.silence], "GET", .never,
        person: "The request timed out. Please try again later.", log: "The request timed out. (URLError -1001)"),
      Situation(
        "deadline", [.silence], "POST", RetryPolicy(deadline: .seconds(10)),
        person: "The request timed out.",
        log:
          "The request timed out. (URLError -1001); gave up after attempt 1: deadline"
      ),
      Situation(
        "an empty body", [.ok("")],
        person: "The server sent a response that cannot be used.",
        log: "no body: 200 from https://a.example/orders?q=*, 0 bytes"),
      Situation(
        "There were too many redirects.", [.failure(.httpTooManyRedirects)],
        person: "There were too many redirects.", log: "There were too many redirects. (URLError -1007)"),
      Situation(
        "an error that has no name", [.failure(.resourceUnavailable)], person: "The request failed.",
        log: "The request failed. (URLError -1008)"),
    ]
  }

  @Test(arguments: situations.indices) func describesFailedRequests(_ row: Int) async throws {
    let situation = Self.situations[row]
    let script = NetworkScript(situation.steps)
    let error = await Self.error {
      try await script.performNetworkRequest(try Self.request(situation.method), policy: situation.policy)
    }
    try Self.check(error, situation.name, person: situation.person, log: situation.log)
  }

  // MARK: Parsing

  struct User: Decodable { var email: String }
  struct ShopError: Decodable, Error { var token: String }

  @Test func describesResponsesThatCannotBeParsed() async throws {
    let rows: [(String, String, String)] = [
      ("a wrong type", #"{"users":[{"email":"S3CRET"},{"email":7}]}"#, "users[1].email: expected String, found number"),
      ("a missing key", #"{"users":[{"mail":"S3CRET"}]}"#, "users[0].email: is missing"),
      ("null", #"{"users":[{"email":null}]}"#, "users[0].email: expected String, found null"),
      ("not JSON", #"{"S3CRET":tru}"#, "the body: is not valid"),
    ]
    for (name, body, reason) in rows {
      struct Users: Decodable { var users: [User] }
      let client = NetworkClient(baseURL: URL(string: "https://a.example"), on: NetworkScript([.ok(body)]))
      let error = await Self.error { try await client.load(.get("/users", query: ["q": "S3CRET"], as: Users.self)) }
      try Self.check(
        error, name, person: "The server sent a response that cannot be used.",
        log: "\(reason): 200 from https://a.example/users?q=*, \(body.utf8.count) bytes")
    }
  }

  struct Purchase: Endpoint {
    typealias Response = Data
    typealias ServiceError = ShopError
    var path: String { "/purchase" }
    var queryItems: [URLQueryItem] { [URLQueryItem(name: "q", value: "S3CRET")] }
  }

  @Test func describesServiceErrors() async throws {
    let client = NetworkClient(
      baseURL: URL(string: "https://a.example"), on: NetworkScript([.status(422, Self.secret)]))
    try Self.check(
      await Self.error { try await client.load(Purchase()) }, "a service's own error",
      person: "The server rejected the request.",
      log: "ShopError, WyndTests.ErrorTextTests.ShopError 1: 422"
        + " from https://a.example/purchase?q=*, 18 bytes")
  }

  // MARK: Invalid requests

  @Test func describesInvalidRequests() async throws {
    let script = NetworkScript([.ok("x")])
    let rows: [(String, NetworkClient, AdHocEndpoint<Data>, String)] = [
      (
        "no host", NetworkClient(on: script), .get("/users", as: Data.self),
        "the call names no host, and the base URL is nil"
      ),
      (
        "a line break in a header field", NetworkClient(baseURL: URL(string: "https://a.example"), on: script),
        .get("/users", headers: [.init("X-One", "S3CRET\r\nX-Two: 2")], as: Data.self),
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

  @Test func describesCancellation() async throws {
    let task = Task { () -> NetworkError? in
      await Self.error { try await NetworkScript([.ok("x")]).performNetworkRequest(try Self.request()) }
    }
    task.cancel()
    let error = await task.value
    // The script may respond before.
    if let error { try Self.check(error, "cancelled", person: "The request was canceled.", log: "canceled") }
    try Self.check(NetworkError.cancelled, "cancelled", person: "The request was canceled.", log: "canceled")
  }

  // MARK: Middleware

  struct Closed: LocalizedError { var errorDescription: String? { "The shop is closed." } }
  struct Mute: Error {}
  struct Failing: NetworkMiddleware {
    let error: any Error
    func respond(
      to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
    ) async throws -> NetworkResponse<Data> { throw error }
  }

  @Test func describesErrorsOfMiddleware() async throws {
    let rows: [(String, any Error, String, String)] = [
      (
        "a middleware's LocalizedError", Closed(), "The shop is closed.",
        "The request failed: Closed, WyndTests.ErrorTextTests.Closed 1"
      ),
      (
        "a middleware's other error", Mute(), "The request failed.",
        "The request failed: Mute, WyndTests.ErrorTextTests.Mute 1"
      ),
    ]
    for (name, error, person, log) in rows {
      let client = NetworkClient(on: NetworkScript([.ok("x")]), middleware: [Failing(error: error)])
      let result = await Self.error { try await client.performNetworkRequest(try Self.request()) }
      try Self.check(result, name, person: person, log: log)
    }
  }

  // MARK: Files

  @Test func describesFailedTransfers() async throws {
    let folder = try Folder()
    try Data("old".utf8).write(to: folder.file("old.txt"))
    let missing = folder.file("none").appending(path: "a.txt")
    let path = folder.url.path
    let cut = NetworkScript.Step.chunks(
      200, headers: ["Content-Length": "18"], [Data(Self.secret.utf8.prefix(9))], isCut: true)
    func download(_ step: NetworkScript.Step, to file: URL, _ options: DownloadOptions = DownloadOptions()) async
      -> NetworkError?
    {
      await Self.error {
        try await NetworkScript([step]).performNetworkDownload(
          try Self.request(), to: file, options: options, policy: RetryPolicy(maxRetries: 1))
      }
    }
    try Self.check(
      await download(cut, to: folder.file()), "a download that is cut",
      person: "The connection was lost. Please try again later.",
      log: "The connection was lost. (URLError -1005); gave up after attempt 2: maxRetries")
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
      await download(.ok("x"), to: folder.file(), DownloadOptions(validate: { _ in throw Closed() })),
      "a file that is not valid", person: "The shop is closed.",
      log: "The request failed: invalid file: Closed")
    let upload = await Self.error {
      try await NetworkScript([.ok("x")]).performNetworkUpload(try Self.request(), from: .file(missing))
    }
    let part = await Self.error {
      try await NetworkScript([.ok("x")])
        .performNetworkUpload(try Self.request(), from: .multipart([.init(name: "a", file: missing)]))
    }
    try Self.check(
      part, "a file of a multipart body that is missing",
      person: "“a.txt” cannot be used: not a file that can be read.",
      log: "The request failed: \(path)/none/a.txt: not a file that can be read")
    try Self.check(
      upload, "a file to upload that is missing", person: "“a.txt” cannot be used: not a file that can be read.",
      log: "The request failed: \(path)/none/a.txt: not a file that can be read")
  }

  @Test func describesAFullDisk() throws {
    let full = NetworkError.transferFailed(TransferError.fileSystem(CocoaError(.fileWriteOutOfSpace)))
    #expect(full.localizedDescription == "There is not enough space for the file.")
    let other = NetworkError.transferFailed(TransferError.fileSystem(CocoaError(.fileWriteNoPermission)))
    #expect(other.localizedDescription == "The file could not be read or written.")
    #expect("\(other)".hasPrefix("The request failed: file system error: "))
  }

  // MARK: On a socket

  @Test func describesARedirectLoop() async throws {
    let server = try LoopbackServer { .redirect(to: $0.target) }
    let error = await URLSession(configuration: .ephemeral).result(of: URLRequest(url: server.url("/a?q=S3CRET"))).error
    try Self.check(
      error, "a redirect loop", person: "There were too many redirects.",
      log: "There were too many redirects. (URLError -1007)",
      mayNameURL: true)
  }

  @Test func describesAnInvalidURL() async throws {
    var request = URLRequest(url: try #require(URL(string: "foo://a.example/?q=S3CRET")))
    request.timeoutInterval = 10
    let error = await URLSession(configuration: .ephemeral).result(of: request).error
    try Self.check(
      error, "an invalid URL", person: "The URL is not valid.", log: "The URL is not valid. (URLError -1002)",
      mayNameURL: true)
  }

  // MARK: Helpers

  static func request(_ method: String = "GET") throws -> URLRequest {
    var request = URLRequest(url: try #require(URL(string: "https://u:S3CRET@a.example/orders?q=S3CRET")))
    request.httpMethod = method
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
    var person = person
    if isOnApplePlatforms, let system = error.urlError?.localizedDescription {
      person = system + (person.firstRange(of: ". ").map { " " + person[$0.upperBound...] } ?? "")
    }
    #expect(error.localizedDescription == person, "\(name)")
    var line = "\(error)"
    if mayNameURL { line.replace(/, [a-z]+:[^)]*/, with: "") }
    #expect(line == log, "\(name)")
    for text in [error.localizedDescription, "\(error)", error.debugDescription] {
      #expect(!text.contains("S3CRET") && !text.contains("\u{1b}"), "\(name): \(text)")
    }
  }
}
