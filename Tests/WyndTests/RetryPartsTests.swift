import Foundation
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Small rules on which the retries of a call rest.
@Suite struct RetryPartsTests {
  private func response(_ status: Int, _ fields: [String: String] = [:]) throws -> HTTPURLResponse {
    let url = try #require(URL(string: "https://a.example/"))
    return try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: fields))
  }

  @Test func aDateIsNeverSoonerThanTheServerAsked() throws {
    let now = Date(timeIntervalSince1970: 1_445_412_480.5)
    let response = try response(503, ["Retry-After": "Wed, 21 Oct 2015 07:28:02 GMT"])
    #expect(RetryAfter.wait(asked: response, now: now)?.wait == .seconds(2))
  }

  @Test func anInvalidRetryAfterLetsNoOtherFieldCount() throws {
    let fields = ["Retry-After": "soon", "RateLimit-Reset": "7"]
    #expect(RetryAfter.wait(asked: try response(429, fields), now: Date()) == nil)
  }

  @Test func realCallsHaveJitter() {
    let values = Set((0..<100).map { _ in ContinuousRetryClock().random() })
    #expect(values.count > 90 && values.allSatisfy { 0..<1 ~= $0 })
  }

  @Test func anOriginHasThePortOfItsScheme() {
    func origin(_ text: String) -> NetworkOrigin { NetworkOrigin(URL(string: text)) }
    #expect(origin("https://a.example/x") == origin("HTTPS://A.example:443"))
    #expect(origin("http://a.example/x") == origin("http://a.example:80"))
    #expect(origin("https://a.example:80") != origin("http://a.example"))
  }

  @Test func aSecretMayBeNamedWithCapitalLetters() {
    for name in ["userKey", "requestSig", "XSRFKey"] { #expect(SensitiveHeader.matches(name), "\(name)") }
    for name in ["monkey", "design"] { #expect(!SensitiveHeader.matches(name), "\(name)") }
  }

  @Test func aMiddlewaresErrorHasTheResponseItRefused() throws {
    let inner = NetworkError.endpointError(try response(402), Data("no".utf8))
    #expect(NetworkError.middlewareError(inner).statusCode == 402)
    #expect(NetworkError.middlewareError(inner).data == Data("no".utf8))
  }

  @Test func aRequestThatCameToTheWrongServerIsNoOverload() throws {
    for status in [421, 425] { #expect(!NetworkError.endpointError(try response(status), nil).indicatesOverload) }
    for status in [408, 429, 503] { #expect(NetworkError.endpointError(try response(status), nil).indicatesOverload) }
  }

  @Test func errorsOfTheSystemAreKnown() {
    for code in [ECONNABORTED, ECONNRESET, ENOTCONN, EPIPE] {
      let error = NSError(domain: NSPOSIXErrorDomain, code: Int(code))
      #expect(NetworkOutcome.urlError(error)?.code == .networkConnectionLost)
    }
  }

  @Test func fieldsThatFrameABodyAreTheSessionsOwn() throws {
    let transport = NetworkSessionTransport(session: URLSession(configuration: .ephemeral))
    var request = URLRequest(url: try #require(URL(string: "https://a.example/")), method: "POST")
    request.httpBody = Data("abc".utf8)
    for (name, value, isValid) in [
      ("Content-Length", "3", true), ("Content-Length", "2", false), ("Content-Length", "4", false),
      ("Transfer-Encoding", "chunked", false),
    ] {
      var sent = request
      sent.setValue(value, forHTTPHeaderField: name)
      #expect((transport.validationError(for: sent) == nil) == isValid, "\(name): \(value)")
    }
    // The server would wait for a body that never comes.
    var empty = URLRequest(url: try #require(URL(string: "https://a.example/")), method: "POST")
    for (length, isValid) in [("0", true), ("5", false)] {
      empty.setValue(length, forHTTPHeaderField: "Content-Length")
      #expect((transport.validationError(for: empty) == nil) == isValid, "\(length)")
    }
    let configuration = URLSessionConfiguration.ephemeral
    for fields in [["X-A": "1\r\nX-B: 2"], ["content-length": "3"], ["Transfer-Encoding": "chunked"]] {
      configuration.httpAdditionalHeaders = fields
      let session = NetworkSessionTransport(session: URLSession(configuration: configuration))
      #expect(session.validationError(for: request) != nil, "\(fields)")
    }
    configuration.httpAdditionalHeaders = nil
    configuration.timeoutIntervalForRequest = -1
    let negative = NetworkSessionTransport(session: URLSession(configuration: configuration))
    // A crash on Linux only.
    #expect((negative.validationError(for: request) == nil) == isOnApplePlatforms)
    #if canImport(FoundationNetworking)
      // On Apple's platforms, that of a background session; on Linux it has no meaning.
      configuration.timeoutIntervalForRequest = 60
      configuration.identifier = "a"
      let named = NetworkSessionTransport(session: URLSession(configuration: configuration))
      #expect(named.validationError(for: request) == nil)
    #endif
  }

  // MARK: An attempt that ends at once

  /// Ends each attempt before `begin` returns.
  struct Hasty: NetworkTransport {
    func validationError(for request: URLRequest) -> String? { nil }
    func begin(_ outgoing: NetworkOutgoing, _ reply: NetworkReply) {
      guard let url = URL(string: "https://a.example/") else { return }
      let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil)
      reply.end(NetworkOutcome(data: Data("x".utf8), response: response))
    }
  }

  @Test func anAttemptThatEndsAtOnceIsReportedInOrderOnTheQueue() async throws {
    let queue = OperationQueue()
    let log = EventLog()
    let request = URLRequest(url: try #require(URL(string: "https://a.example/")))
    let plan = NetworkCallPlan(request, policy: RetryPolicy(onEvent: log.add))
    let isOnQueue = await withCheckedContinuation { continuation in
      _ = RetryLoop(plan, on: Hasty()).start(on: queue) { result in
        continuation.resume(returning: OperationQueue.current === queue && (try? result.get()) != nil)
      }
    }
    #expect(isOnQueue)
    #expect(try await RetryLoop(plan, on: Hasty()).run().get().data == Data("x".utf8))
    let names = log.events.map { "\($0.kind)".prefix(9) }
    #expect(names == ["attemptSt", "succeeded", "attemptSt", "succeeded"])
    let plain = NetworkCallPlan(request)
    await withCheckedContinuation { continuation in
      _ = RetryLoop(plain, on: Hasty()).start(on: queue) { _ in
        #expect(OperationQueue.current === queue)
        continuation.resume()
      }
    }
  }

  @Test func anAttemptThatWasCanceledBeforeItStartsEndsAndSendsNothing() async throws {
    let request = URLRequest(url: try #require(URL(string: "https://a.example/")))
    let outgoing = NetworkOutgoing(request: request, clock: ContinuousRetryClock())
    let outcome = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await Hasty().send(outgoing)
    }.value
    #expect(outcome.end == .cancelled && outcome.response == nil)
  }

  // MARK: A call that is canceled

  /// Gives each attempt the next outcome, and counts the attempts that are prepared.
  struct Scripted: NetworkTransport {
    let outcomes: [NetworkOutcome]
    let prepared = Counter()
    func validationError(for request: URLRequest) -> String? { nil }
    func begin(_ outgoing: NetworkOutgoing, _ reply: NetworkReply) {
      reply.end(outcomes[min(prepared.add(), outcomes.count) - 1])
    }
  }

  /// On Apple's platforms a prepared attempt is a task, and a session that was invalidated meanwhile cannot create one.
  @Test func aCanceledCallPreparesNoAttempt() async throws {
    let transport = Scripted(outcomes: [NetworkOutcome(error: URLError(.networkConnectionLost))])
    let request = URLRequest(url: try #require(URL(string: "https://a.example/")))
    let (mayStart, isAsked, mayAnswer) = (Gate(), Gate(), DispatchSemaphore(value: 0))
    let early = Task {
      await mayStart.wait()
      return await RetryLoop(NetworkCallPlan(request), on: transport).run()
    }
    early.cancel()
    mayStart.open()
    guard case .failure(.cancelled) = await early.value else { Issue.record("not canceled"); return }
    #expect(transport.prepared.value == 0)
    let policy = RetryPolicy(shouldRetry: { _ in
      isAsked.open()
      mayAnswer.wait()
      return true
    })
    let late = Task { await RetryLoop(NetworkCallPlan(request, policy: policy), on: transport).run() }
    await isAsked.wait()
    late.cancel()
    mayAnswer.signal()
    guard case .failure(.cancelled) = await late.value else { Issue.record("not canceled"); return }
    #expect(transport.prepared.value == 1)
  }

  @Test func theTaskOfACanceledCallIsCanceled() async {
    for _ in 0..<2000 {
      let task = NetworkTask(waitingFor: NetworkReply())
      task.cancel()
      let isCanceled = await withCheckedContinuation { continuation in
        task.run { continuation.resume(returning: Task.isCancelled) }
      }
      #expect(isCanceled)
    }
  }

  /// A conflict is that of an earlier attempt, if that one may have reached the server despite its error.
  @Test(arguments: [true, false], [true, false])
  func aRefusedAttemptMayHaveCausedAConflict(mayHaveSent: Bool, hasFollowedRedirect: Bool) async throws {
    var refused = NetworkOutcome(error: URLError(.cannotConnectToHost))
    (refused.mayHaveSent, refused.hasFollowedRedirect) = (mayHaveSent, hasFollowedRedirect)
    let conflict = NetworkOutcome(data: Data(), response: try response(409))
    let transport = Scripted(outcomes: [refused, conflict, NetworkOutcome(data: Data(), response: try response(200))])
    var request = URLRequest(url: try #require(URL(string: "https://a.example/")), method: "POST")
    request.setValue("k", forHTTPHeaderField: "Idempotency-Key")
    let plan = NetworkCallPlan(request, policy: RetryPolicy(backoff: .none, budget: nil))
    let result = await RetryLoop(plan, on: transport).run()
    #expect((try? result.get())?.response.statusCode == (mayHaveSent || hasFollowedRedirect ? 200 : nil))
    #expect(transport.prepared.value == (mayHaveSent || hasFollowedRedirect ? 3 : 2))
  }

  /// The end of one call may have to wait for URLSession.
  @Test func aTimerThatIsHeldUpDelaysNoOther() async {
    let (clock, mayEnd, isHeldUp) = (ContinuousRetryClock(), DispatchSemaphore(value: 0), Gate())
    let fires = Gate()
    let first = clock.timer(after: .zero) {
      isHeldUp.open()
      mayEnd.wait()
    }
    await isHeldUp.wait()
    let second = clock.timer(after: .zero) { fires.open() }
    await fires.wait()
    mayEnd.signal()
    first()
    second()
  }

  #if canImport(FoundationNetworking)
    /// Cancels an attempt, on another thread, while it creates its task.
    private final class Interrupting: URLSession, @unchecked Sendable {
      let reply = NetworkReply()
      let endedFirst = Box(false)

      override func dataTask(
        with request: URLRequest, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
      ) -> URLSessionDataTask {
        let hasEnded = DispatchSemaphore(value: 0)
        DispatchQueue.global().async { [reply] in
          reply.cancel()
          hasEnded.signal()
        }
        endedFirst.value = hasEnded.wait(timeout: .now() + .milliseconds(200)) == .success
        return super.dataTask(with: request, completionHandler: completionHandler)
      }
    }

    /// Whoever canceled it may invalidate the session at once.
    @Test func aCancellationWaitsForTheTaskThatIsBeingCreated() async throws {
      let session = Interrupting(configuration: .ephemeral)
      let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:9/")))
      let outgoing = NetworkOutgoing(request: request, isInsideCall: true, clock: ContinuousRetryClock())
      NetworkSessionTransport(session: session).begin(outgoing, session.reply)
      let outcome = await session.reply.outcome()
      #expect(outcome.end == .cancelled && session.endedFirst.value == false)
    }

    /// A task cannot be created on a session that was invalidated: URLSession would crash.
    @Test func anAttemptThatWasCanceledCreatesNoTask() async throws {
      let session = URLSession(configuration: .ephemeral)
      let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:9/")))
      let reply = NetworkReply()
      reply.cancel()
      session.invalidateAndCancel()
      let outgoing = NetworkOutgoing(request: request, isInsideCall: true, clock: ContinuousRetryClock())
      NetworkSessionTransport(session: session).begin(outgoing, reply)
      #expect(await reply.outcome().end == .cancelled)
    }
  #endif
}
