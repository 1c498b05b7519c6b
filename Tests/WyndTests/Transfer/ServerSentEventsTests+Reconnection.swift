import Foundation
import WyndLoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension ServerSentEventsTests {
  // MARK: Reconnection

  /// Body of the first connection, body of the second, the events of both, and the Last-Event-ID of the second.
  static let reconnections: [(String, String, [Event], String?)] = [
    ("id: 1\ndata: a\n\n", "data: b\n\n", [event("a", id: "1"), event("b", id: "1")], "1"),
    // An id counts with the blank line behind it, whether or not there is data.
    (
      "id: 1\ndata: a\n\nid: 2\ndata: unfinished\n", "data: b\n\n", [event("a", id: "1"), event("b", id: "1")], "1"
    ),
    ("id: 1\ndata: a\n\nid\n\n", "data: b\n\n", [event("a", id: "1"), event("b")], nil),
    // The incomplete event is discarded: its line, its data and its type.
    ("data: a\n\nda", "ta: x\n\ndata: b\n\n", [event("a"), event("b")], nil),
    ("data: a\n\nevent: x\n", "data: b\n\n", [event("a"), event("b")], nil),
    ("data: a\n\n", "\u{FEFF}data: b\n\n", [event("a"), event("b")], nil),
  ]

  @Test(arguments: reconnections) func reconnectsAfterTheLastCompleteEvent(
    _ first: String, _ second: String, _ expected: [Event], _ lastID: String?
  ) async throws {
    let server = try LoopbackServer(
      script: Self.stream("retry: 1\n" + first), Self.stream(second), .status(204))
    let got = try await events(URLRequest(url: server.url())).map { Self.event($0.data, $0.event, id: $0.id) }
    #expect(got == expected)
    #expect(server.requests.count == 3 && server.requests[0].value("Last-Event-ID") == nil)
    #expect(server.requests[1].value("Last-Event-ID") == lastID)
  }

  /// It is sent once, like a POST.
  @Test func aGETThatChangesSomethingDoesNotReconnect() async throws {
    let server = try LoopbackServer(script: Self.stream("data: a\n\n"), .status(204))
    var got: [String] = []
    let request = URLRequest(url: server.url()).declared(isReadOnly: false)
    for try await event in session.serverSentEvents(for: request) { got.append(event.data) }
    #expect(got == ["a"] && server.requests.count == 1)
  }

  /// The request may resume an earlier stream.
  @Test func startsAfterTheLastEventIDOfTheRequest() async throws {
    let server = try LoopbackServer(
      script: Self.stream("retry: 1\ndata: a\n\n"), Self.stream("id\ndata: b\n\n"), .status(204))
    var request = URLRequest(url: server.url())
    request.setValue("5", forHTTPHeaderField: "Last-Event-ID")
    #expect(try await events(request).map(\.id) == ["5", ""])
    #expect(server.values(of: "Last-Event-ID") == ["5", "5", nil])
  }

  /// Repeating the POST could deliver the same events again, so it needs the consent of the caller.
  @Test(arguments: [nil, true]) func aPOSTWithAnIdempotencyKeyReconnectsOnlyOnRequest(_ reconnects: Bool?) async throws
  {
    let server = try LoopbackServer(
      script: Self.stream("retry: 1\nid: 1\ndata: a\n\n"), Self.stream("data: b\n\n"), .status(204))
    var request = URLRequest(url: server.url(), method: "POST")
    request.setValue("\"1\"", forHTTPHeaderField: "Idempotency-Key")
    var got: [String] = []
    for try await event in session.serverSentEvents(for: request, reconnects: reconnects) {
      got.append(event.data)
    }
    #expect(got == (reconnects == true ? ["a", "b"] : ["a"]))
    let keys = server.values(of: "Idempotency-Key")
    #expect(keys == Array(repeating: "\"1\"", count: reconnects == true ? 3 : 1))
  }

  @Test func everyConnectionRequestsAnUncachedEventStream() async throws {
    let server = try LoopbackServer(script: Self.stream("retry: 1\ndata: a\n\n"), .status(204))
    var request = URLRequest(url: server.url("/events?topic=1"))
    request.setValue("Bearer 1", forHTTPHeaderField: "Authorization")
    _ = try await events(request)
    #expect(server.requests.count == 2)
    for request in server.requests {
      #expect(request.value("Accept") == "text/event-stream" && request.value("Cache-Control") == "no-cache")
      #expect(request.value("Authorization") == "Bearer 1" && request.target == "/events?topic=1")
      #expect(request.method == "GET")
    }
  }

  /// The waits, in the time of a script, between streams of one event each.
  func waits(_ retry: String, streams: Int = 1) async throws -> Duration {
    let script = NetworkScript { _, number in
      number < streams ? .ok(retry + "data: a\n\n", headers: ["Content-Type": "text/event-stream"]) : .status(204)
    }
    var count = 0
    let url = try #require(URL(string: "https://example.com/events"))
    for try await _ in script.serverSentEvents(for: url) { count += 1 }
    #expect(count == streams)
    return script.elapsed
  }

  /// 3 s unless the server says otherwise; never less than 0.1 s.
  @Test func waitsThreeSecondsOrTheRetryFieldBeforeReconnecting() async throws {
    #expect(try await waits("") == .seconds(3))
    #expect(try await waits("retry: 0\n") == .milliseconds(100))
    #expect(try await waits("retry: 4000\n") == .seconds(4))
  }

  @Test func doesNotReconnectIfDisabled() async throws {
    for more in [ScriptedResponse.Step.close, .reset] {
      let server = try LoopbackServer { _ in Self.stream("retry: 1\ndata: a\n\n", [.pause(milliseconds: 20), more]) }
      var iterator = session.serverSentEvents(for: server.url(), reconnects: false, policy: .never).makeAsyncIterator()
      #expect(iterator.response == nil)
      #expect(try await iterator.next()?.data == "a" && iterator.response?.statusCode == 200)
      _ = try? await iterator.next()
      #expect(server.requests.count == 1)
    }
  }

  @Test func throwsWhenReconnectingFails() async throws {
    let server = try LoopbackServer(script: Self.stream("retry: 1\ndata: a\n\n"), .status(404))
    var iterator = session.serverSentEvents(for: server.url()).makeAsyncIterator()
    #expect(try await iterator.next()?.data == "a")
    let error = await #expect(throws: NetworkError.self) { try await iterator.next() }
    #expect(error?.statusCode == 404 && server.requests.count == 2)
  }

  /// No line is too long, but the event never ends. The stream itself has no limit.
  @Test(arguments: [true, false]) func failsForAnEventOverTheLimit(isOne: Bool) async throws {
    let line =
      Array("data: ".utf8) + [UInt8](repeating: 65, count: 4 * 1_048_576) + Array(isOne ? "\n".utf8 : "\n\n".utf8)
    let server = try LoopbackServer { _ in
      ScriptedResponse([
        .send(ScriptedResponse.head(200, [("Content-Type", "text/event-stream")]) + line + line + line + line), .close,
      ])
    }
    if isOne {
      let error = await #expect(throws: NetworkError.self) { try await events(Self.once(server.url())) }
      guard case .generalError(TransferError.responseTooLarge)? = error else {
        Issue.record("\(String(describing: error))"); return
      }
    } else {
      #expect(try await events(Self.once(server.url())).count == 4)
    }
  }

  // MARK: The response

  @Test(arguments: [
    nil, "text/plain", "application/json", "text/event-streams", "text/event-stream-x;text/event-stream",
  ])
  func rejectsOtherContentTypes(_ type: String?) async throws {
    let fields = type.map { [("Content-Type", $0)] } ?? []
    let server = try LoopbackServer { _ in .pieces(Array("data: a\n\n".utf8), of: 99, fields) }
    await #expect(throws: NetworkError.self) { try await events(URLRequest(url: server.url())) }
    #expect(server.requests.count == 1)
  }

  @Test func errorForAnotherContentTypeHasTheResponse() async throws {
    let body = "{\"error\":\"quota\"}"
    let server = try LoopbackServer { _ in .status(200, [("Content-Type", "application/json")], body: body) }
    let error = await #expect(throws: NetworkError.self) { try await events(URLRequest(url: server.url())) }
    #expect(error?.statusCode == 200 && error?.data == Data(body.utf8))
    #expect(error?.response?.value(forHTTPHeaderField: "Content-Type") == "application/json")
    #expect(error.map { !"\($0.localizedDescription)".contains("file") && !"\($0)".contains("file") } == true)
  }

  /// Only consecutive connections without an event make the wait longer.
  @Test func eventsResetTheReconnectionWait() async throws {
    #expect(try await waits("retry: 1\n", streams: 6) == .milliseconds(600))
  }

  /// The reader ends the loop itself, and is not told of a wrong response meanwhile.
  @Test func cancellationInAWrongResponseIsACancellation() async throws {
    let head = ScriptedResponse.head(200, [("Content-Type", "text/plain"), ("Content-Length", "9")])
    let server = try LoopbackServer { _ in ScriptedResponse([.send(head), ScriptedResponse.text("part"), .hang]) }
    let log = EventLog()
    let task = Task {
      for try await _ in URLSession.shared.serverSentEvents(
        for: server.url(), policy: RetryPolicy(budget: .unlimited, onEvent: log.add))
      {}
    }
    await until { log.isOver }
    task.cancel()
    let error = await #expect(throws: NetworkError.self) { try await task.value }
    #expect(error?.isCancelled == true)
  }
}
