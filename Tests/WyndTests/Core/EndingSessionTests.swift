import Dispatch
import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An app may invalidate its session at any moment of a call. Nothing crashes, and no call is lost.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct EndingSessionTests {
  enum Moment: String, CaseIterable, Sendable {
    case afterTheStart = "right after the start"
    case inFlight = "in flight"
    case inRedirect = "during a redirect"
    case inChallenge = "during a challenge"
    case inWait = "during a wait"
    case betweenRequests = "between two requests"
    case inOnEvent = "in onEvent"
    case inShouldRetry = "in shouldRetry"
    case inMiddleware = "in a middleware"
    case inDeinit = "in deinit"
  }
  enum Method: String, CaseIterable, Sendable { case finishTasksAndInvalidate, invalidateAndCancel }
  enum Kind: String, CaseIterable, Sendable { case handler, await, client, transfer }

  /// Ends a session once, at its moment.
  final class Ending: Sendable {
    private let session = Box<URLSession>()
    private let method: Method
    let moment: Moment
    /// Of the session, which may have ended.
    let id = Box<ObjectIdentifier>()
    init(_ moment: Moment, _ method: Method) {
      self.moment = moment
      self.method = method
    }

    var hasEnded: Bool { session.value == nil }

    func begin(_ session: URLSession) {
      self.session.value = session
      id.value = ObjectIdentifier(session)
    }

    func at(_ moment: Moment) {
      if moment == self.moment { end() }
    }

    func end() {
      let session = session.take()
      switch method {
      case .finishTasksAndInvalidate: session?.finishTasksAndInvalidate()
      case .invalidateAndCancel: session?.invalidateAndCancel()
      }
    }
  }

  /// Retained by the closures of a call.
  final class Owner: Sendable {
    let ending: Ending
    init(_ ending: Ending) { self.ending = ending }
    deinit { ending.at(.inDeinit) }
  }

  static func delegate(_ ending: Ending) -> RecordingDelegate {
    RecordingDelegate(
      redirect: { _, _, request in
        ending.at(.inRedirect)
        return request
      },
      challenge: { _, _ in
        ending.at(.inChallenge)
        return RecordingDelegate.signIn()
      })
  }

  /// What the server sends before the file, which takes two attempts.
  enum Order: String, CaseIterable, Sendable {
    case errorFirst = "503, redirect, challenge"
    case errorLast = "redirect, challenge, 503"
  }

  /// `hangs`: no response is sent after the session has been ended, and none before if that happens on another thread.
  static func server(_ ending: Ending, _ order: Order, hangs: Bool) throws -> LoopbackServer {
    let errors = Counter()
    let parts = Counter()
    let file = Array("the response, which is cut".utf8)
    return try LoopbackServer { request in
      if request.index == 0 { ending.at(.inFlight) }
      if hangs, ending.hasEnded || [.afterTheStart, .inOnEvent].contains(ending.moment) { return .hang }
      if order == .errorFirst, errors.value == 0 {
        errors.add()
        return .status(503)
      }
      if request.target == "/" { return .redirect(307, to: "/there") }
      if request.value("Authorization") == nil { return .challenge() }
      if errors.value == 0 {
        errors.add()
        return .status(503)
      }
      if parts.add() == 1 {
        let head = ScriptedResponse.head(200, [("Content-Length", "\(file.count)"), ("ETag", "\"1\"")])
        ending.at(.betweenRequests)
        return ScriptedResponse([.send(head + file.prefix(12)), .pause(milliseconds: 20), .close])
      }
      guard request.value("Range") != nil else { return .ok(file, [("ETag", "\"1\"")]) }
      let fields = [("Content-Range", "bytes 12-25/26"), ("Content-Length", "14"), ("ETag", "\"1\"")]
      return ScriptedResponse([.send(ScriptedResponse.head(206, fields) + file.dropFirst(12))])
    }
  }

  /// Makes a session for one call, and ends it.
  static func result(
    _ kind: Kind, _ ending: Ending, _ server: LoopbackServer, _ delegate: RecordingDelegate
  ) async -> NetworkResult {
    let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
    ending.begin(session)
    let request = URLRequest(url: server.url())
    // A call that is lost ends then. The others take milliseconds, or seconds on a busy machine.
    var policy = RetryPolicy(backoff: .constant(.milliseconds(5)), deadline: .seconds(120), budget: .unlimited)
    do {
      let owner = Owner(ending)
      policy.onEvent = { event in
        if case .willRetry = event.kind { owner.ending.at(.inWait) }
        if case .attemptStarted = event.kind { owner.ending.at(.inOnEvent) }
      }
      policy.shouldRetry = { error in
        owner.ending.at(.inShouldRetry)
        return error.shouldRetry
      }
    }
    let performer: any NetworkPerformer
    if kind == .client || ending.moment == .inMiddleware {
      performer = NetworkClient(
        on: session,
        middleware: [
          .around { request, next in
            ending.at(.inMiddleware)
            return try await next(request)
          }
        ])
    } else {
      performer = session
    }
    if kind == .await {
      let task = Task { [policy] () -> NetworkResult in
        do throws(NetworkError) {
          return .success(try await performer.performNetworkRequest(request, policy: policy))
        } catch { return .failure(error) }
      }
      if ending.moment == .afterTheStart {
        // The task starts later. Before it does, the call has not begun.
        await until { !server.requests.isEmpty }
        ending.end()
      }
      return await task.value
    }
    let folder = try? Folder()
    let file = folder?.file() ?? URL(fileURLWithPath: "/")
    return await handlerValue { [policy] end in
      if kind == .transfer {
        performer.performNetworkDownload(request, to: file, policy: policy) { result in
          end(result.map { (try? Data(contentsOf: $0.value)) ?? Data() })
        }
      } else {
        performer.performNetworkRequest(request, policy: policy, completionHandler: end)
      }
      ending.at(.afterTheStart)
    }
  }

  /// `invalidateAndCancel()` ends the tasks of the app's session. On Apple's platforms, the first attempt of a plain call is
  /// one of them.
  static func isCancelled(_ kind: Kind, at moment: Moment, _ order: Order) -> Bool {
    #if canImport(FoundationNetworking)
      return false
    #else
      if [.client, .transfer].contains(kind) { return false }
      switch moment {
      case .afterTheStart, .inFlight, .inOnEvent: return true
      case .inRedirect, .inChallenge: return order == .errorLast
      case .inMiddleware, .inWait, .inShouldRetry, .betweenRequests, .inDeinit: return false
      }
    #endif
  }

  struct Cell: Sendable, CustomTestStringConvertible {
    let moment: Moment
    let kind: Kind
    let order: Order
    var testDescription: String { "\(kind) \(moment.rawValue), \(order.rawValue)" }

    static let all = Moment.allCases.flatMap { moment in
      Kind.allCases.flatMap { kind in Order.allCases.map { Cell(moment: moment, kind: kind, order: $0) } }
    }
  }

  @Test(arguments: Cell.all) func finishTasksAndInvalidateLetsACallEnd(_ cell: Cell) async throws {
    let ending = Ending(cell.moment, .finishTasksAndInvalidate)
    let server = try Self.server(ending, cell.order, hangs: false)
    let delegate = Self.delegate(ending)
    let result = await Self.result(cell.kind, ending, server, delegate)
    #expect(try result.get() == Data("the response, which is cut".utf8))
    let redirected = cell.order == .errorFirst ? 2 : 3
    #expect(delegate.calls.value == Array(repeating: ["redirect", "challenge"], count: redirected).flatMap { $0 })
    #expect(delegate.sessions.value == [try #require(ending.id.value)])
    ending.end()
  }

  @Test(arguments: Cell.all) func invalidateAndCancelEndsARequestOnTheSession(_ cell: Cell) async throws {
    let isCancelled = Self.isCancelled(cell.kind, at: cell.moment, cell.order)
    let ending = Ending(cell.moment, .invalidateAndCancel)
    let server = try Self.server(ending, cell.order, hangs: isCancelled)
    let result = await Self.result(cell.kind, ending, server, Self.delegate(ending))
    if isCancelled {
      #expect(result.error?.urlError?.code == .cancelled, "\(result)")
    } else {
      #expect(try result.get() == Data("the response, which is cut".utf8))
    }
    ending.end()
  }

  /// The same for the calls of a client, whose first request is sent later. The delegate is released meanwhile.
  @Test(arguments: [true, false], [true, false])
  func sessionCanBeFinishedRightAfterTheStartOfAnEndpointOfAClient(isUpload: Bool, hasMiddleware: Bool) async throws {
    let server = try LoopbackServer { $0.value("Authorization") == nil ? .challenge() : .ok("x") }
    let policy = RetryPolicy.quick()
    let passing: any NetworkMiddleware = .around { request, next in try await next(request) }
    for number in 0..<100 {
      let endpoint: AdHocEndpoint<String> = .post("/\(number)", body: .text("order"), as: String.self)
      let result = await handlerValue { end in
        let session = URLSession(configuration: .ephemeral, delegate: RecordingDelegate(), delegateQueue: nil)
        let client = NetworkClient(
          baseURL: server.url(), on: session, policy: policy, middleware: hasMiddleware ? [passing] : [])
        if isUpload {
          client.loadResponse(endpoint, onProgress: { _ in }) { end($0.map(\.value)) }
        } else {
          client.load(endpoint, completionHandler: end)
        }
        session.finishTasksAndInvalidate()
      }
      #expect(try result.get() == "x")
    }
  }

  /// A call belongs to the user who was signed in when it was made, not when its task runs.
  @Test func handlerFormOfAClientTakesItsUserAtOnce() async throws {
    for _ in 0..<50 {
      let authentication = Authentication(for: .example, BearerToken("first"))
      let script = NetworkScript([.ok("x")])
      let client = NetworkClient(on: script, middleware: [authentication])
      _ = await handlerValue { end in
        _ = client.load(.get(URL.example, as: String.self), completionHandler: end)
        authentication.signIn(BearerToken("second"))
      }
      #expect(!script.values(of: "Authorization").contains("Bearer second"))
    }
  }
}
