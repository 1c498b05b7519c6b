import Foundation
import WyndLoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct ServerSentEventsTests {
  let session = URLSession(configuration: .ephemeral)

  struct Event: Equatable, Sendable {
    var id: String, event: String, data: String, retry: Duration?
  }
  static func event(_ data: String, _ event: String = "message", id: String = "", retry: Duration? = nil) -> Event {
    Event(id: id, event: event, data: data, retry: retry)
  }

  /// All events until the sequence ends.
  func events(_ request: URLRequest, policy: RetryPolicy = .quick())
    async throws
    -> [Event]
  {
    var events: [Event] = []
    for try await event in session.serverSentEvents(for: request, policy: policy) {
      events.append(Event(id: event.id, event: event.type, data: event.data, retry: event.retry))
    }
    return events
  }

  /// A request whose response is the end: nothing reconnects.
  static func once(_ url: URL) -> URLRequest {
    URLRequest(url: url, method: "POST")
  }

  /// The examples and rules of WHATWG HTML §9.2.6.
  static let rows: [(String, [Event])] = [
    ("data: YHOO\ndata: +2\ndata: 10\n\n", [event("YHOO\n+2\n10")]),
    (
      ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
      [event("first event", id: "1"), event("second event"), event(" third event")]
    ),
    ("data\n\ndata\ndata\n\ndata:", [event(""), event("\n")]),
    ("\u{FEFF}data: a\n\n", [event("a")]),
    ("data: a\r\ndata: b\r\n\r\ndata: c\r\rdata: d\n\n", [event("a\nb"), event("c"), event("d")]),
    ("event: only a type\n\ndata: a\n\n", [event("a")]),
    ("id: 1\n\ndata: a\n\n", [event("a", id: "1")]),
    ("id: 1\ndata: a\n\nid: 2\u{0}\ndata: b\n\n", [event("a", id: "1"), event("b", id: "1")]),
    ("retry: 250\ndata: a\n\n", [event("a", retry: .milliseconds(250))]),
    ("retry: 2s\nretry: -1\nretry:\nretry: 1 0\ndata: a\n\n", [event("a")]),
    ("retry: 99999999999999999999\ndata: a\n\n", [event("a")]),
    ("Data: a\n\ndata : a\n\nunknown: x\ndata: b\n\n", [event("b")]),
    (":\n:::\ndata:: a:b\n\n", [event(": a:b")]),
    ("data: never finished", []), ("data: a\n\ndata: b\n", [event("a")]),
    ("", []), ("data: a\n\n\n\n", [event("a")]),
    // An empty data field is data, a type or an id alone is none.
    ("data:\n\n", [event("")]), ("id: 1\n\n", []),
    // `event` applies to its event alone, `id` to all later ones; the last of several is used.
    ("event: x\ndata: a\n\ndata: b\n\n", [event("a", "x"), event("b")]),
    ("event: x\nevent: y\ndata: a\n\n", [event("a", "y")]),
    ("id: 1\nid: 2\ndata: a\n\ndata: b\n\n", [event("a", id: "2"), event("b", id: "2")]),
    ("id: \u{0}\ndata: a\n\n", [event("a")]), ("id: \u{FEFF}ä 1 \ndata: a\n\n", [event("a", id: "\u{FEFF}ä 1 ")]),
    // Of the blanks after the colon one is dropped, of those before the end none; a tab is no blank.
    ("data:  a \n\n", [event(" a ")]), ("data:\ta\n\n", [event("\ta")]), (" data: a\n\n", []),
    // A byte order mark counts at the start only.
    ("data: a\n\n\u{FEFF}data: b\n\n", [event("a")]), ("data: \u{FEFF}a\n\n", [event("\u{FEFF}a")]),
    ("\u{FEFF}\n\ndata: a\n\n", [event("a")]),
    (
      "retry: 1\nretry: 2\ndata: a\n\nretry: x\ndata: b\n\n",
      [event("a", retry: .milliseconds(2)), event("b", retry: .milliseconds(2))]
    ),
    ("retry: 1.5\nretry: +1\nretry: 0x1\nretry:  1\nretry: 1 \nretry: ٣\ndata: a\n\n", [event("a")]),
    ("data: ä\u{2028}b\u{85}c\n\n", [event("ä\u{2028}b\u{85}c")]),
    ("data: a\r\n\ndata: b\r\n\n", [event("a"), event("b")]), ("data: a\r\r\ndata: b\r\r\n", [event("a"), event("b")]),
  ]

  @Test(arguments: rows) func parsesEventsAsTheStandardSays(_ text: String, _ expected: [Event]) async throws {
    let server = try LoopbackServer { request in
      .pieces(
        Array(text.utf8), of: Int(request.target.dropFirst()) ?? 1, [("Content-Type", "text/event-stream")])
    }
    for size in [1, 2, 3, 7, 1_000] {
      #expect(try await events(Self.once(server.url("/\(size)"))) == expected, "in pieces of \(size)")
    }
    #expect(server.requests.count == 5)
  }

  static func stream(_ text: String, _ more: [ScriptedResponse.Step] = [.close]) -> ScriptedResponse {
    ScriptedResponse(
      [
        .send(ScriptedResponse.head(200, [("Content-Type", "text/event-stream; charset=utf-8")])),
        ScriptedResponse.text(text),
      ] + more)
  }

  @Test func reconnectsWithLastEventID() async throws {
    let times = Box<[ContinuousClock.Instant]>([])
    let script = [
      Self.stream("retry: 150\nid: 7\ndata: a\n\ndata: unfinished\n"), .status(503), .reset,
      Self.stream("data: b\n\n"), Self.stream("id: 9\ndata: c\n\n", [.pause(milliseconds: 20), .reset]),
      Self.stream(""), Self.stream("data: d\n\n"), .status(204),
    ]
    let server = try LoopbackServer { request in
      times.append(.now)
      return script[min(request.index, script.count - 1)]
    }
    let got = try await events(URLRequest(url: server.url()))
    #expect(got.map(\.data) == ["a", "b", "c", "d"] && got.map(\.id) == ["7", "7", "9", "9"])
    #expect(got.map(\.retry) == [Duration?](repeating: .milliseconds(150), count: 4))
    #expect(server.values(of: "Last-Event-ID") == [nil, "7", "7", "7", "7", "9", "9", "9"])
    #expect(server.requests.allSatisfy { $0.value("Accept") == "text/event-stream" })
    // After a connection without an event it waits longer. The retries of one connection are the policy's.
    let all = try #require(times.value)
    let waits = zip(all, all.dropFirst()).map { $1 - $0 }
    for (index, least) in [(0, 150), (3, 150), (4, 150), (5, 950), (6, 150)] {
      #expect(waits[index] >= .milliseconds(least), "\(waits)")
    }
  }

  /// As for a chat completion: the stream ends with its response, and a lost connection is an error, unless
  /// `reconnects` is true.
  @Test func doesNotReconnectAPOSTByDefault() async throws {
    for (more, isError) in [([ScriptedResponse.Step.close], false), ([.pause(milliseconds: 20), .reset], true)] {
      let server = try LoopbackServer { _ in Self.stream("retry: 1\ndata: a\n\n", more) }
      let request = URLRequest(url: server.url(), method: "POST")
      var iterator = session.serverSentEvents(for: request).makeAsyncIterator()
      #expect(try await iterator.next()?.data == "a")
      if isError {
        await #expect(throws: NetworkError.self) { try await iterator.next() }
      } else {
        #expect(try await iterator.next() == nil)
      }
      #expect(server.requests.count == 1)
      iterator = session.serverSentEvents(for: request, reconnects: true).makeAsyncIterator()
      _ = try await iterator.next()
      #expect(try await iterator.next()?.data == "a" && server.requests.count == 3)
    }
  }

  @Test func failsForResponsesThatAreNoEventStream() async throws {
    for response in [
      ScriptedResponse.ok("data: a\n\n"), .status(404), .status(206, [("Content-Type", "text/event-stream")]),
    ] {
      let server = try LoopbackServer(script: response)
      var iterator = session.serverSentEvents(for: server.url()).makeAsyncIterator()
      await #expect(throws: NetworkError.self) { try await iterator.next() }
      #expect(server.requests.count == 1)
    }
  }

  @Test func cancelingEndsReadingAndWaiting() async throws {
    let server = try LoopbackServer { _ in Self.stream("data: a\n\n", [.hang]) }
    let begun = Gate()
    let (events, url) = (session, server.url())
    let reader = Task {
      for try await _ in events.serverSentEvents(for: url) { begun.open() }
    }
    await begun.wait()
    reader.cancel()
    #expect(await reader.result.isCancelled)
    // And while it waits.
    let other = try LoopbackServer { _ in Self.stream("retry: 86400000\ndata: a\n\n") }
    let waiting = Gate()
    let otherURL = other.url()
    let second = Task {
      for try await _ in events.serverSentEvents(for: URLRequest(url: otherURL)) { waiting.open() }
    }
    await waiting.wait()
    second.cancel()
    #expect(await second.result.isCancelled)
    #expect(other.requests.count == 1)
  }
}
