import Foundation
import LoopbackServer
import Testing

@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5)), .fewAtOnce) struct ServerSentEventsTests {
  let session = URLSession(configuration: .ephemeral)

  static func event(
    _ data: String, _ event: String = "message", id: String = "", retry: Duration? = nil
  ) -> ServerSentEvent {
    ServerSentEvent(id: id, event: event, data: data, retry: retry)
  }

  /// The examples of WHATWG HTML §9.2.6, and what its text says beside them.
  static let rows: [(String, [ServerSentEvent])] = [
    ("data: YHOO\ndata: +2\ndata: 10\n\n", [event("YHOO\n+2\n10")]),
    (
      ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
      [event("first event", id: "1"), event("second event"), event(" third event")]
    ),
    ("data\n\ndata\ndata\n\ndata:", [event(""), event("\n")]),
    ("data:test\n\ndata: test\n\n", [event("test"), event("test")]),
    (
      "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\nevent: add\ndata: 113411\n\n",
      [event("73857293", "add"), event("2153", "remove"), event("113411", "add")]
    ),
    ("\u{FEFF}data: a\n\n", [event("a")]),
    ("\u{FEFF}\u{FEFF}data: a\n\n", []),
    ("data: a\r\ndata: b\r\n\r\ndata: c\r\rdata: d\n\n", [event("a\nb"), event("c"), event("d")]),
    ("event: only a type\n\ndata: a\n\n", [event("a")]),
    ("id: 1\n\ndata: a\n\n", [event("a", id: "1")]),
    ("id: 1\ndata: a\n\nid: 2\u{0}\ndata: b\n\n", [event("a", id: "1"), event("b", id: "1")]),
    ("retry: 250\ndata: a\n\n", [event("a", retry: .milliseconds(250))]),
    ("retry: 2s\nretry: -1\nretry:\nretry: 1 0\ndata: a\n\n", [event("a")]),
    ("retry: 99999999999\ndata: a\n\n", [event("a", retry: .seconds(86_400))]),
    ("retry: 99999999999999999999\ndata: a\n\n", [event("a")]),
    ("Data: a\n\ndata : a\n\nunknown: x\ndata: b\n\n", [event("b")]),
    (":\n:::\ndata:: a:b\n\n", [event(": a:b")]),
    ("data: never finished", []),
  ]

  @Test(arguments: rows.indices) func theTextOfTheStandard(_ row: Int) throws {
    let (text, expected) = Self.rows[row]
    let bytes = Array(text.utf8)
    for size in [1, 2, 3, 7, bytes.count] {
      var parser = ServerSentEventParser()
      var events: [ServerSentEvent] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        events += try parser.feed(bytes[start..<min(start + size, bytes.count)])
      }
      #expect(events == expected)
    }
  }

  static func stream(_ text: String, _ more: [Answer.Step] = [.close]) -> Answer {
    Answer([.send(Answer.head(200, [("Content-Type", "text/event-stream; charset=utf-8")])), Answer.text(text)] + more)
  }

  @Test func itConnectsAgainAndSaysWhereItWas() async throws {
    let server = try LoopbackServer(
      script: Self.stream("retry: 20\nid: 7\ndata: a\n\ndata: unfinished\n"), .status(503), .reset,
      Self.stream("data: b\n\n"), Self.stream("id: 9\ndata: c\n\n", [.reset]), Self.stream(""),
      Self.stream("data: d\n\n"), .status(204))
    let waits = Box<[Duration]>([])
    var events = session.serverSentEvents(
      for: URLRequest(url: server.url()), policy: RetryPolicy(backoff: .none, budget: nil))
    events.sleep = { time in waits.update { $0.append(time) } }
    var got: [ServerSentEvent] = []
    for try await event in events { got.append(event) }
    #expect(got.map(\.data) == ["a", "b", "c", "d"] && got.map(\.id) == ["7", "7", "9", "9"])
    #expect(server.requests.map { $0.value("Last-Event-ID") } == [nil, "7", "7", "7", "7", "9", "9", "9"])
    #expect(server.requests.allSatisfy { $0.value("Accept") == "text/event-stream" })
    // After a connection without an event it waits longer.
    #expect(waits.value == [20, 20, 20, 1_000, 20].map { .milliseconds($0) })
  }

  /// The POST of a chat: its answer is its end, and a drop an error; a key makes it repeatable.
  @Test func aPOSTIsSentOnce() async throws {
    for (more, isError) in [([Answer.Step.close], false), ([.pause(milliseconds: 20), .reset], true)] {
      let server = try LoopbackServer { _ in Self.stream("retry: 1\ndata: a\n\n", more) }
      var request = URLRequest(url: server.url())
      request.httpMethod = "POST"
      var iterator = session.serverSentEvents(for: request).makeAsyncIterator()
      #expect(try await iterator.next()?.data == "a")
      if isError {
        await #expect(throws: NetworkError.self) { try await iterator.next() }
      } else {
        #expect(try await iterator.next() == nil)
      }
      #expect(server.requests.count == 1)
      request.setValue("1", forHTTPHeaderField: "Idempotency-Key")
      iterator = session.serverSentEvents(for: request).makeAsyncIterator()
      _ = try await iterator.next()
      #expect(try await iterator.next()?.data == "a" && server.requests.count == 3)
    }
  }

  @Test func whatIsNoEventStreamIsAnError() async throws {
    for answer in [Answer.ok("data: a\n\n"), .status(404), .status(206, [("Content-Type", "text/event-stream")])] {
      let server = try LoopbackServer(script: answer)
      var iterator = session.serverSentEvents(for: URLRequest(url: server.url())).makeAsyncIterator()
      await #expect(throws: NetworkError.self) { try await iterator.next() }
      #expect(server.requests.count == 1)
    }
  }

  @Test func cancellingEndsItWhereverItIs() async throws {
    let server = try LoopbackServer { _ in Self.stream("data: a\n\n", [.hang]) }
    let begun = Gate()
    let (events, url) = (session, server.url())
    let reader = Task {
      for try await _ in events.serverSentEvents(for: URLRequest(url: url)) { begun.open() }
    }
    await begun.wait()
    reader.cancel()
    guard case .failure(NetworkError.cancelled) = await reader.result else { Issue.record("not cancelled"); return }
    // And while it waits.
    let other = try LoopbackServer { _ in Self.stream("retry: 86400000\ndata: a\n\n") }
    let waiting = Gate()
    var slow = session.serverSentEvents(for: URLRequest(url: other.url()))
    slow.sleep = { time in
      waiting.open()
      try await Task.sleep(for: time)
    }
    let second = Task { [slow] in for try await _ in slow {} }
    await waiting.wait()
    second.cancel()
    guard case .failure(NetworkError.cancelled) = await second.result else { Issue.record("not cancelled"); return }
  }
}
