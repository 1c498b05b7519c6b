import Foundation
import WyndLoopbackServer
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Requests with an invalid method or invalid header fields are not sent.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct RequestValidationTests {
  let session = URLSession(configuration: .ephemeral)
  /// RFC 9110 §5.6.2.
  static let token = Set("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

  @Test func acceptsOnlyTokenCharactersInHeaderNames() async throws {
    let server = try LoopbackServer(script: .ok())
    var sent = 0
    for byte in UInt8(0)..<128 {
      let character = Character(UnicodeScalar(byte))
      var request = URLRequest(url: server.url())
      request.setValue("1", forHTTPHeaderField: "X\(character)Y")
      let error = await session.result(of: request).error
      if Self.token.contains(character) {
        sent += 1
        #expect(error == nil, "\(byte)")
        #expect(
          server.requests.last?.headers.contains { $0.name.lowercased() == "x\(character)y".lowercased() } == true)
      } else {
        guard case .invalidRequest? = error else { Issue.record("\(byte): \(String(describing: error))"); continue }
      }
    }
    #expect(server.requests.count == sent)
    var request = URLRequest(url: server.url())
    request.setValue("1", forHTTPHeaderField: "X-Ä")
    guard case .invalidRequest? = await session.result(of: request).error else { Issue.record("sent"); return }
    #expect(server.requests.count == sent)
  }

  #if canImport(FoundationNetworking)
    /// libcurl sends no head above 1 MB.
    @Test func rejectsAHeadAboveAMegabyte() async throws {
      let server = try LoopbackServer(script: .ok())
      let text = String(repeating: "x", count: 1_060_000)
      var ofField = URLRequest(url: server.url())
      ofField.setValue(text, forHTTPHeaderField: "X-A")
      var ofFields = URLRequest(url: server.url(), method: "POST")
      for index in 0..<20 { ofFields.setValue(String(text.prefix(53_000)), forHTTPHeaderField: "X-\(index)") }
      for request in [
        URLRequest(url: server.url("/?q=\(text)")), URLRequest(url: server.url("/\(text)")), ofField, ofFields,
      ] {
        let error = await session.result(of: request).error
        guard case .invalidRequest? = error else { Issue.record("\(error as Any)"); continue }
      }
      #expect(server.requests.isEmpty)
      ofField.setValue(String(text.prefix(990_000)), forHTTPHeaderField: "X-A")
      #expect(await session.result(of: ofField, allowEmptyData: true).error == nil)
    }
  #endif

  /// Nothing listens there, so an attempt would be repeated for ten seconds.
  @Test(arguments: ["ftp", "FTP", "ftps", "ws", "wss"]) func rejectsAURLOfAnotherProtocol(_ scheme: String) async throws
  {
    let server = try LoopbackServer(isListening: false) { _ in .ok() }
    let url = try #require(URL(string: "\(scheme)://127.0.0.1:\(server.port)/x?token=SECRET"))
    let folder = try Folder()
    let errors = [
      await session.result(of: url, policy: .never).error,
      await #expect(throws: NetworkError.self) { try await session.load(.get(url, as: Void.self), policy: .never) },
      await #expect(throws: NetworkError.self) {
        try await session.performNetworkDownload(url, to: folder.file(), policy: .never)
      },
      await #expect(throws: NetworkError.self) {
        try await session.networkBytes(for: url, policy: .never)
      },
    ]
    for error in errors {
      guard case .invalidRequest(let reason)? = error else { Issue.record("\(String(describing: error))"); continue }
      #expect(reason.contains("http") && !reason.contains("SECRET"), "\(reason)")
      #expect(error?.localizedDescription.contains(reason) == true)
    }
  }

  @Test func acceptsOnlyTokenCharactersInMethods() async throws {
    let script = NetworkScript([.ok("x")])
    let client = NetworkClient(on: script)
    let url = URL.example
    for byte in UInt8(0)..<128 {
      let character = Character(UnicodeScalar(byte))
      let before = script.requests.count
      let request = URLRequest(url: url, method: "X\(character)Y")
      _ = try? await client.performNetworkRequest(request)
      #expect(script.requests.count - before == (Self.token.contains(character) ? 1 : 0), "\(byte)")
    }
  }

  static let forged = ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rX-Evil: 1", "a\u{0}b", "\n", "a\r", "\u{0}"]

  /// Foundation on Linux drops such a value from a `URLRequest`; elsewhere the call ends before anything is sent.
  @Test(arguments: forged) func doesNotSendAHeaderValueWithALineBreakOrNUL(_ value: String) async throws {
    let server = try LoopbackServer(script: .ok())
    var request = URLRequest(url: server.url())
    request.setValue(value, forHTTPHeaderField: "X-Value")
    let isKept = request.value(forHTTPHeaderField: "X-Value") != nil
    let error = await session.result(of: request).error
    if isKept {
      guard case .invalidRequest? = error else { Issue.record("\(String(describing: error))"); return }
    }
    #expect(server.requests.count == (isKept ? 0 : 1))
    #expect(!server.requests.contains { $0.value("X-Evil") != nil })
  }

  /// The same for the fields of an endpoint and a client, which no `URLRequest` has seen.
  @Test(arguments: forged) func refusesAHeaderValueOfAnEndpointWithALineBreakOrNUL(_ value: String) async throws {
    let script = NetworkScript([.ok("x")])
    let client = NetworkClient(
      baseURL: URL(string: "https://a.example"), on: script, headers: ["X-Value": value])
    let errors: [NetworkError?] = [
      await Self.error { () async throws(NetworkError) in
        try await script.load(.get("/", headers: ["X-Value": value]))
      },
      await Self.error { () async throws(NetworkError) in try await client.load(.get("/")) },
    ]
    for error in errors {
      guard case .invalidRequest(let reason)? = error else { Issue.record("\(error as Any)"); continue }
      #expect(reason == "the header field X-Value holds a line break or NUL")
    }
    #expect(script.requests.isEmpty)
  }

  static func error(_ call: () async throws(NetworkError) -> Void) async -> NetworkError? {
    do throws(NetworkError) { try await call() } catch { return error }
    return nil
  }

  /// Even if the app retries every error, because the next request would be the same.
  @Test func invalidRequestIsOneAttemptThatSendsNothing() async throws {
    let server = try LoopbackServer(script: .ok())
    let log = EventLog()
    let questions = Counter()
    let request = URLRequest(url: server.url(), method: "GE T")
    let policy = RetryPolicy(
      shouldRetry: { _ in
        questions.add()
        return true
      }, onEvent: log.add)
    let error = await session.result(of: request, policy: policy).error
    #expect(error?.shouldRetry == false)
    #expect(error?.attempts.isEmpty == true)
    #expect(log.events.map(\.attempt) == [1, 1, 1])
    #expect(log.safeties == [.nothingSent])
    #expect(log.gaveUp == .notRetryable)
    #expect(questions.value == 0)
    #expect(server.requests.isEmpty)
  }

  @Test(arguments: ["tab\tinside", "comma, semicolon; \"quotes\" {}()", "caf\u{E9}", ""])
  func sendsOtherHeaderValuesUnchanged(_ value: String) async throws {
    let server = try LoopbackServer(script: .ok())
    var request = URLRequest(url: server.url())
    request.setValue(value, forHTTPHeaderField: "X-Value")
    #expect(await session.result(of: request).error == nil)
    #expect(server.requests.first?.value("X-Value") ?? "" == value)
  }

  @Test func rejectsContentLengthAndTransferEncodingHeadersThatDoNotFit() throws {
    let transport = NetworkSessionTransport(session: URLSession(configuration: .ephemeral))
    let request = URLRequest(url: .example, method: "POST", body: "abc")
    for (name, value, isValid) in [
      ("Content-Length", "3", true), ("Content-Length", "2", false), ("Content-Length", "4", false),
      ("Content-Length", "+3", false), ("Content-Length", "-3", false), ("Content-Length", "3 3", false),
      ("Transfer-Encoding", "chunked", false),
    ] {
      var sent = request
      sent.setValue(value, forHTTPHeaderField: name)
      #expect((transport.invalidReason(of: sent) == nil) == isValid, "\(name): \(value)")
    }
    // The server would wait for a body that never comes.
    var empty = URLRequest(url: .example, method: "POST")
    for (length, isValid) in [("0", true), ("5", false)] {
      empty.setValue(length, forHTTPHeaderField: "Content-Length")
      #expect((transport.invalidReason(of: empty) == nil) == isValid, "\(length)")
    }
    let configuration = URLSessionConfiguration.ephemeral
    for fields in [["X-A": "1\r\nX-B: 2"], ["content-length": "3"], ["Transfer-Encoding": "chunked"]] {
      configuration.httpAdditionalHeaders = fields
      let session = NetworkSessionTransport(session: URLSession(configuration: configuration))
      #expect(session.invalidReason(of: request) != nil, "\(fields)")
    }
    configuration.httpAdditionalHeaders = nil
    configuration.timeoutIntervalForRequest = -1
    let negative = NetworkSessionTransport(session: URLSession(configuration: configuration))
    // A crash on Linux only.
    #expect((negative.invalidReason(of: request) == nil) == isOnApplePlatforms)
    #if canImport(FoundationNetworking)
      // On Apple's platforms, that of a background session; on Linux it has no meaning.
      configuration.timeoutIntervalForRequest = 60
      configuration.identifier = "a"
      let named = NetworkSessionTransport(session: URLSession(configuration: configuration))
      #expect(named.invalidReason(of: request) == nil)
    #endif
  }

  /// The rest of the body would be the next request.
  @Test(arguments: [
    ("Content-Length", "2"), ("Content-Length", "40"), ("content-length", "three"), ("Content-Length", "3, 3"),
    ("Transfer-Encoding", "chunked"), ("transfer-encoding", "identity"),
  ])
  func sendsNothingWithAWrongLength(_ name: String, _ value: String) async throws {
    let server = try LoopbackServer(script: .ok())
    var request = URLRequest(url: server.url(), method: "POST", body: "abc")
    request.setValue(value, forHTTPHeaderField: name)
    let error = await session.result(of: request).error
    guard case .invalidRequest? = error else { Issue.record("\(error as Any)"); return }
    #expect(server.requests.isEmpty)
  }

  /// On Linux, changing a request without a URL stops the process.
  @Test(arguments: CallForm.all.filter { $0.takesRequest }) func refusesARequestWithoutAURL(_ form: CallForm)
    async throws
  {
    var arguments = CallArguments(folder: try Folder())
    arguments.request.url = nil
    for performer in [URLSession.shared, ResponseCache(), NetworkClient(on: ResponseCache())] as [any NetworkPerformer]
    {
      await #expect(throws: (any Error).self, "\(form.selector)") { try await form.call(performer, arguments) }
    }
  }

  @Test func refusesAnEndpointThatRemovesItsURL() async throws {
    struct Removing: Endpoint {
      typealias Response = Data
      let host = "a.example"
      let path = "/"
      let method = NetworkMethod.put
      let body: RequestBody
      func prepare(request: inout URLRequest) { request.url = nil }
    }
    let file = try Folder().file()
    for body in [.text("x"), .file(file)] as [RequestBody] {
      for performer in [URLSession.shared, NetworkClient(on: ResponseCache())] as [any NetworkPerformer] {
        let error = await #expect(throws: NetworkError.self) {
          try await performer.load(Removing(body: body), onProgress: { _ in })
        }
        guard case .invalidRequest? = error else { Issue.record("\(error as Any)"); continue }
      }
    }
  }
}
