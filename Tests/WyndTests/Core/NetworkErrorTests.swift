import Foundation
import Testing
import WyndLoopbackServer

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct NetworkErrorTests {
  static let secrets = ["S3CRET", "pa55", "T0KEN", "C00KIE"]

  struct Chatty: Error, CustomStringConvertible, LocalizedError {
    var description: String { "https://u:pa55@h/?token=S3CRET" }
    var errorDescription: String? { "T0KEN" }
  }

  static func all() throws -> [NetworkError] {
    let url = try #require(URL(string: "https://user:pa55@example.com:8443/items?token=S3CRET&page=2&S3CRET#T0KEN"))
    let response = try HTTPURLResponse.made(503, ["Set-Cookie": "C00KIE", "X-Token": "T0KEN"], url: url)
    let body = Data(#"{"token":"T0KEN","jwt":"T0KEN"}"#.utf8)
    let urlError = URLError(
      .timedOut,
      userInfo: [
        NSURLErrorFailingURLErrorKey: url, "NSErrorFailingURLStringKey": url.absoluteString,
        NSLocalizedDescriptionKey: "S3CRET",
      ])
    let simple: [NetworkError] = [
      .urlError(urlError), .generalError(Chatty()), .noResponse, .invalidResponseType(response),
      .noResponseData(response),
      .endpointError(response, body), .cancelled, .invalidRequest(reason: "it has no URL"),
      .undecodable(Chatty(), response, body), .generalError(TransferError.responseTooLarge(limit: 10)),
      .middlewareError(Chatty(), .endpointError(response, body)), .middlewareError(Chatty(), .urlError(urlError)),
    ]
    return simple
      + simple.map { error in
        let attempt = NetworkAttempt(
          number: 1, startedAt: .zero, duration: .milliseconds(20), error: error, delay: .seconds(1))
        return .inaccessible(
          RetryFailure(lastError: error, attempts: [attempt, attempt], stopReason: .retryAfterTooLong(.seconds(90))))
      }
  }

  static let asked: [(NetworkError, isUnreachable: Bool, isTimeout: Bool)] = [
    (.urlError(URLError(.notConnectedToInternet)), true, false), (.urlError(URLError(.cannotFindHost)), true, false),
    (.urlError(URLError(.cannotConnectToHost)), true, false), (.urlError(URLError(.timedOut)), false, true),
    (.urlError(URLError(.networkConnectionLost)), false, false), (.cancelled, false, false),
    (.noResponse, false, false),
  ]

  @Test(arguments: asked) func saysWhetherAServerWasReachedAndWhetherTimeRanOut(
    _ error: NetworkError, _ isUnreachable: Bool, _ isTimeout: Bool
  ) async throws {
    #expect(error.isUnreachable == isUnreachable && error.isTimeout == isTimeout)
  }

  @Test func wrappedErrorIsUnderlying() throws {
    let response = try HTTPURLResponse.made(503, ["Retry-After": "90"])
    let lost = NetworkError.urlError(URLError(.networkConnectionLost))
    let refused = NetworkError.endpointError(response, nil)
    let last = RetryFailure(lastError: lost, attempts: [], stopReason: .maxRetries)
    #expect((NetworkError.inaccessible(last).underlying as? URLError)?.code == .networkConnectionLost)
    #expect(NetworkError.generalError(Chatty()).underlying is Chatty)
    #expect(NetworkError.middlewareError(Chatty(), refused).underlying is Chatty)
    // That in place of which it was thrown is not it.
    #expect(NetworkError.middlewareError(Chatty(), lost).underlying is Chatty)
    #expect(NetworkError.undecodable(Chatty(), response, Data()).underlying is Chatty)
    #expect(refused.underlying == nil && NetworkError.cancelled.underlying == nil)
  }

  /// The rows of the waits themselves are in the tests of the header fields.
  static let waits: [(Int, String, Double?)] = [
    (503, "90", 90), (429, "0.5", 0.5), (503, "soon", nil), (200, "90", nil),
  ]

  @Test(arguments: waits)
  func saysHowLongTheServerAsksToWait(_ status: Int, _ field: String, _ seconds: Double?) throws {
    let response = try HTTPURLResponse.made(status, ["Retry-After": field])
    let error: NetworkError = status == 200 ? .noResponseData(response) : .endpointError(response, nil)
    let wait = seconds.map { Swift.Duration.seconds($0) }
    #expect(error.retryAfter == wait)
    let failure = RetryFailure(lastError: error, attempts: [], stopReason: .retryAfterTooLong(.seconds(90)))
    #expect(NetworkError.inaccessible(failure).retryAfter == wait)
  }

  @Test func timeOutNamesTheURLOfItsRequest() async throws {
    let server = try LoopbackServer { _ in .hang }
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    var request = URLRequest(url: server.url("/slow?token=S3CRET"))
    request.timeoutInterval = 0.2
    for policy in [RetryPolicy.never, RetryPolicy(maxRetries: 0, attemptTimeout: .milliseconds(50))] {
      let error = await ErrorTextTests.error { try await session.performNetworkRequest(request, policy: policy) }
      #expect(error?.urlError?.failingURL == request.url && error?.isTimeout == true)
      #expect("\(try #require(error))".contains("/slow?token=*"))
    }
  }

  /// Not an argument of the test above: LeakSanitizer does not find a box that only a tagged pointer of an enum refers to.
  @Test func errorOfAnotherTypeSaysThatTimeRanOut() {
    let error = NetworkError.generalError(URLError(.timedOut))
    #expect(error.isTimeout && !error.isUnreachable)
  }

  /// After retries, and at the deadline of a call whose attempts fail in another way.
  @Test func endedCallSaysWhetherAServerWasReachedAndWhetherTimeRanOut() async throws {
    let url = URL.example
    func error(_ step: NetworkScript.Step, _ policy: RetryPolicy = .default) async -> NetworkError? {
      await #expect(throws: NetworkError.self) {
        try await NetworkScript([step]).performNetworkRequest(url, policy: policy)
      }
    }
    let offline = await error(.failure(.notConnectedToInternet))
    #expect(offline?.isUnreachable == true && offline?.isTimeout == false)
    let silent = await error(.silence)
    #expect(silent?.isUnreachable == false && silent?.isTimeout == true)
    let busy = await error(.status(503), .interactive)
    #expect(busy?.stopReason == .deadline && busy?.isTimeout == true && busy?.isUnreachable == false)
    #expect(try #require(busy?.attempts.last).startedAt < .seconds(15))
    let late = await error(.silence, .interactive)
    #expect(late?.isTimeout == true && late?.attempts.count == 1)
    #expect(try #require(late?.attempts.first).duration == .seconds(15))
  }

  @Test func hidesCredentialsAndQueryValues() throws {
    for error in try Self.all() {
      var texts = ["\(error)", error.debugDescription, String(reflecting: error)]
      // `localizedDescription` is the app's own text, unchanged, or on Apple's platforms that of the system.
      let last = error.failure?.lastError ?? error
      let isOwnText = if case .undecodable(is Chatty, _, _) = last { true } else { last.thrown != nil }
      let isSystemText = isOnApplePlatforms && error.urlError?.userInfo[NSLocalizedDescriptionKey] != nil
      if !isOwnText, !isSystemText {
        texts += [
          error.localizedDescription, error.errorDescription ?? "", (error as NSError).localizedDescription,
        ]
      }
      for text in texts { for secret in Self.secrets { #expect(!text.contains(secret), "\(text)") } }
      #expect(!error.description.contains("\n"))
      #expect(!(error.errorDescription ?? "").isEmpty)
    }
  }

  @Test func printsURLsWithoutQueryValues() throws {
    let url = try #require(URL(string: "https://user:pa55@example.com:8443/items?token=S3CRET&page=2&S3CRET#T0KEN"))
    #expect(url.redactedForLog == "https://example.com:8443/items?token=*&page=*&*=*")
    #expect(try #require(URL(string: "http://h/a%20b")).redactedForLog == "http://h/a%20b")
    #expect(try #require(URL(string: "/items?token=x#SECRET")).redactedForLog == "/items?token=*")
    #expect(try #require(URL(string: "items?x")).redactedForLog == "items?*=*")
    #expect(try #require(URL(string: "https:///items?token=x")).redactedForLog == "https:///items?token=*")
    #expect(try #require(URL(string: "ann:SECRET@h/x")).redactedForLog == "ann:…")
    #expect(try #require(URL(string: "data:text/plain,SECRET")).redactedForLog == "data:…")
  }

  @Test func accessorsReadTheLastErrorOfARetryFailure() throws {
    let error = try #require(Self.all().first { $0.stopReason != nil && $0.statusCode == 503 && $0.data != nil })
    #expect(error.response?.value(forHTTPHeaderField: "X-Token") == "T0KEN")
    #expect(error.data?.isEmpty == false)
    #expect(error.attempts.count == 2)
    #expect(error.stopReason == .retryAfterTooLong(.seconds(90)))
    #expect(error.shouldRetry)
    #expect(NetworkError.cancelled.attempts.isEmpty)
    #expect(NetworkError.cancelled.stopReason == nil)
  }

  @Test func debugDescriptionHasALineForEachAttempt() async throws {
    let server = try LoopbackServer(script: .reset, .status(503), .status(502))
    let url = server.url("/items?token=S3CRET")
    let policy = RetryPolicy(maxRetries: 2, backoff: .constant(.milliseconds(10)))
    let session = URLSession(configuration: .ephemeral)
    let error = try #require(await session.result(of: url, policy: policy).error)
    let lines = error.debugDescription.split(separator: "\n")
    #expect(lines.count == 4)
    #expect(
      lines[0].hasPrefix("NetworkError: 502") && lines[0].hasSuffix("; gave up on GET after attempt 3: maxRetries"))
    #expect(
      lines[1].contains("#1") && lines[1].contains("URLError -1005")
        && lines[1].contains("then waited 0.01 s"))
    #expect(lines[2].contains("#2") && lines[2].contains("503"))
    #expect(lines[3].contains("#3") && !lines[3].contains("waited"))
  }
  // MARK: Errors of other domains, as they come on Apple's platforms

  static let domains: [(String, Int, URLError.Code?)] = [
    ("kCFErrorDomainCFNetwork", 303, .cannotParseResponse), ("kCFErrorDomainCFNetwork", -1005, .networkConnectionLost),
    ("kCFErrorDomainCFNetwork", 1, nil),
    (NSPOSIXErrorDomain, Int(POSIXErrorCode.ECONNABORTED.rawValue), .networkConnectionLost),
    (NSPOSIXErrorDomain, Int(POSIXErrorCode.ECONNRESET.rawValue), .networkConnectionLost),
    (NSPOSIXErrorDomain, Int(POSIXErrorCode.ENOTCONN.rawValue), .networkConnectionLost),
    (NSPOSIXErrorDomain, Int(POSIXErrorCode.EPIPE.rawValue), .networkConnectionLost),
    (NSPOSIXErrorDomain, Int(POSIXErrorCode.ETIMEDOUT.rawValue), .timedOut),
    (NSPOSIXErrorDomain, Int(POSIXErrorCode.EPROTO.rawValue), .cannotParseResponse),
    (NSPOSIXErrorDomain, Int(POSIXErrorCode.ENOSPC.rawValue), nil), (NSPOSIXErrorDomain, Int.max, nil),
    ("Mine", -1005, nil),
  ]

  @Test(arguments: domains) func mapsErrorsOfOtherDomains(_ domain: String, _ code: Int, _ expected: URLError.Code?) {
    let failure = NetworkOutcome(error: NSError(domain: domain, code: code))
      .result(isHead: false, allowEmptyData: false).error
    switch failure {
    case .urlError(let error):
      #expect(error.code == expected)
      #expect((error.userInfo[NSUnderlyingErrorKey] as? NSError)?.domain == domain)
    case .generalError: #expect(expected == nil)
    default: Issue.record("\(String(describing: failure))")
    }
  }

  @Test func failsForAResponseThatIsNotHTTP() throws {
    let url = try #require(URL(string: "data:,x"))
    let response = URLResponse(url: url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil)
    let notHTTP = NetworkOutcome(data: Data(), response: response).result(isHead: false, allowEmptyData: true).error
    guard case .invalidResponseType = notHTTP else { Issue.record("\(String(describing: notHTTP))"); return }
    let nothing = NetworkOutcome().result(isHead: false, allowEmptyData: true).error
    guard case .noResponse = nothing else { Issue.record("\(String(describing: nothing))"); return }
  }

  // MARK: Texts of custom coders

  @Test func hidesTheTextOfACustomDecoder() throws {
    let context = DecodingError.Context(codingPath: [], debugDescription: "tok_4711 is no token")
    let response = try #require(Self.status(200).response)
    let text = "\(NetworkError.undecodable(DecodingError.dataCorrupted(context), response, Data()))"
    #expect(text.hasPrefix("the body: is not valid: 200 "), "\(text)")
  }

  struct Unencodable: Encodable {
    func encode(to encoder: any Encoder) throws {
      let text = "line\r\nforged \u{1b}[31m" + String(repeating: "x", count: 100_000)
      throw EncodingError.invalidValue(0, .init(codingPath: [], debugDescription: text))
    }
  }
  struct Order: Endpoint {
    typealias Response = Data
    var host: String { "a.example" }
    var path: String { "/orders" }
    var method: NetworkMethod { .post }
    var body: RequestBody { .json(Unencodable()) }
  }

  @Test func shortensTheTextOfACustomEncoder() throws {
    let error = #expect(throws: NetworkError.self) { try Order().request }
    let text = "\(try #require(error))"
    #expect(text.contains("line") && text.utf8.count < 300, "\(text.prefix(300))")
    #expect(text.unicodeScalars.allSatisfy { $0.value >= 32 })
  }

  /// The error may be that of another request.
  @Test func middlewareErrorHasNoResponseOfItsCause() throws {
    let error = NetworkError.generalError(try Self.status(402))
    #expect(error.statusCode == nil && error.data == nil)
    #expect(Self.ended(error, .maxRetries).statusCode == nil)
    let urlError = NetworkError.middlewareError(NetworkError.urlError(URLError(.timedOut)), try Self.status(401))
    #expect(urlError.statusCode == 401 && urlError.urlError?.code == .timedOut)
    let mapped = NetworkError.middlewareError(NetworkError.generalError(Closed()), try Self.status(401))
    #expect(mapped.statusCode == 401 && mapped.serviceError(as: Closed.self) != nil)
    #expect(mapped.errorDescription == "The shop is closed.")
  }

  @Test func mappedErrorHasStatusURLErrorAndStopReasonOfItsCause() throws {
    let cause = try Self.status(503)
    let mapped = NetworkError.middlewareError(Chatty(), cause)
    #expect(mapped.statusCode == 503 && mapped.response === cause.response && mapped.shouldRetry)
    #expect(NetworkError.middlewareError(Chatty(), .urlError(URLError(.timedOut))).urlError?.code == .timedOut)
    #expect(!NetworkError.middlewareError(Chatty(), try Self.status(404)).shouldRetry)
    #expect(!NetworkError.middlewareError(Self.Mute(shouldRetry: false), cause).shouldRetry)
    let ended = NetworkError.middlewareError(Chatty(), Self.ended(cause, .maxRetries))
    #expect(ended.stopReason == .maxRetries && ended.attempts.count == ended.failure?.attempts.count)
    #expect(ended.serviceError(as: Chatty.self) != nil)
  }

  @Test func doesNotCount421And425AsOverload() throws {
    for status in [421, 425] { #expect(try !Self.status(status).indicatesOverload) }
    for status in [408, 429, 503] { #expect(try Self.status(status).indicatesOverload) }
  }
}
