#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// An event that a server has sent (WHATWG HTML §9.2).
nonisolated public struct ServerSentEvent: Sendable, Equatable {
  /// The last id that the server gave, with this event or before.
  public var id: String
  /// Its type; `message` where the server names none.
  public var event: String
  /// Its lines, joined by line feeds.
  public var data: String
  /// How long the server asked to wait before a reconnection, with this event or before.
  public var retry: Duration?
}

nonisolated extension NetworkPerformer {
  /// The events that a server sends (`text/event-stream`). When the connection ends, it connects again, after the time
  /// that the server asked for (at least 0.1 s) or 3 s, with `Last-Event-ID`, so that the server can go on from there.
  ///
  /// ```swift
  /// for try await event in session.serverSentEvents(for: URLRequest(url: url)) {
  ///   print(event.event, event.data)
  /// }
  /// ```
  ///
  /// A request that is not safe to repeat (<doc:SafeToRepeat>), such as the POST of a chat, is sent once: its sequence ends with
  /// its answer, and a drop is an error.
  ///
  /// It ends when the server answers 204, when the policy gives up connecting, or when the iterating task is cancelled.
  /// Each connection is made as any call, so a 503 with Retry-After is heeded and a 404 is final.
  ///
  /// - Parameters:
  ///   - urlRequest: What to send; `Accept` and `Last-Event-ID` are added. A `Last-Event-ID` of its own is
  ///     where the first connection begins.
  ///   - maxRetries: Retries of each connection. `nil` is the policy's number.
  ///   - policy: Which failures to connect are tried again, how often, how soon, for how long.
  /// - Returns: A sequence; each iteration is a connection of its own.
  public func serverSentEvents(
    for urlRequest: URLRequest, maxRetries: Int? = nil, policy: RetryPolicy? = nil
  ) -> ServerSentEvents {
    ServerSentEvents(performer: self, request: urlRequest, maxRetries: maxRetries, policy: policy)
  }
}

/// The events of a server, over reconnections.
nonisolated public struct ServerSentEvents: AsyncSequence, Sendable {
  /// An event.
  public typealias Element = ServerSentEvent
  let performer: any NetworkPerformer
  let request: URLRequest
  let maxRetries: Int?
  let policy: RetryPolicy?
  var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

  /// A POST that was answered is not sent again.
  var isRepeatable: Bool {
    request.httpBodyStream == nil
      && (policy ?? .default).safety(.noResponse, RetryRequestFacts(request), RetryCallState()).isSafe
  }

  /// Gives event after event.
  nonisolated public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
    let events: ServerSentEvents
    var parser: ServerSentEventParser
    var bytes: NetworkBytes.AsyncIterator?
    var pending: [ServerSentEvent] = []
    var position = 0
    var hasBeenConnected = false
    var fruitless = 0
    var isAtEnd = false

    /// The next event.
    ///
    /// - Returns: An event; nil when the server said that there will be no more (204).
    /// - Throws: ``NetworkError``, when it cannot connect, or the answer is no event stream.
    public mutating func next() async throws -> ServerSentEvent? {
      while position == pending.count {
        if isAtEnd { return nil }
        (pending, position) = ([], 0)
        if bytes == nil, try await !connect() {
          isAtEnd = true
          return nil
        }
        do {
          if let data = try await bytes?.next() {
            pending = try parser.feed(data)
            if !pending.isEmpty { fruitless = 0 }
          } else {
            bytes = nil
            isAtEnd = !events.isRepeatable
          }
        } catch let error as NetworkError {
          bytes = nil
          if error.isCancellation || !error.shouldRetry || !events.isRepeatable { throw error }
        }
      }
      defer { position += 1 }
      return pending[position]
    }

    private mutating func connect() async throws(NetworkError) -> Bool {
      if hasBeenConnected {
        // A server that ends each connection without an event is not asked at the speed of the line.
        let least = RetryPolicy.default.backoff.delay(retry: fruitless, random: 1)
        // Nor one that asks for no wait at all.
        let wait = Swift.max(parser.retry ?? .seconds(3), fruitless > 0 ? least : .milliseconds(100))
        fruitless += 1
        do { try await events.sleep(wait) } catch { throw .cancelled }
      }
      var request = events.request
      request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
      request.setValue("no-cache", forHTTPHeaderField: "Cache-Control")
      parser.reconnect()
      // Also where the server took back the id that the request came with.
      request.setValue(parser.lastID.isEmpty ? nil : parser.lastID, forHTTPHeaderField: "Last-Event-ID")
      let stream = try await events.performer.networkStream(
        for: request, events.maxRetries, events.policy, startsWithHead: true)
      hasBeenConnected = true
      if stream.response.statusCode == 204 { return false }
      let type = stream.response.value(forHTTPHeaderField: "Content-Type") ?? ""
      guard stream.response.statusCode == 200,
        type.split(separator: ";").first?.trimmingCharacters(in: .whitespaces).lowercased() == "text/event-stream"
      else {
        throw .transferFailed(
          TransferError.invalidAnswer(reason: "no event stream, but \(stream.response.statusCode) \(type)"))
      }
      bytes = stream.makeAsyncIterator()
      return true
    }
  }

  /// Iterates.
  public func makeAsyncIterator() -> AsyncIterator {
    let lastID = request.value(forHTTPHeaderField: "Last-Event-ID") ?? ""
    return AsyncIterator(events: self, parser: ServerSentEventParser(lastID: lastID))
  }
}

/// Bytes → events, wherever the pieces end (WHATWG HTML §9.2.6).
nonisolated struct ServerSentEventParser: Sendable {
  private(set) var lastID: String
  private(set) var retry: Duration?
  private var splitter = LineSplitter()
  private var id: String
  private var type = ""
  private var data: [String] = []
  private var size = 0
  private var isAtStart = true

  /// `lastID`: of the last event that an earlier sequence has seen.
  init(lastID: String = "") { (self.lastID, id) = (lastID, lastID) }

  mutating func feed(_ bytes: some Sequence<UInt8>) throws(NetworkError) -> [ServerSentEvent] {
    var events: [ServerSentEvent] = []
    for line in try splitter.feed(bytes) {
      var text = Substring(line)
      // By scalars: a byte order mark is part of no other character's name.
      if isAtStart, line.unicodeScalars.first == "\u{FEFF}" { text = Substring(line.unicodeScalars.dropFirst()) }
      isAtStart = false
      if let event = try take(text.utf8) { events.append(event) }
    }
    return events
  }

  /// A new connection begins: what was not finished is dropped, ids and the time to wait stay.
  mutating func reconnect() {
    splitter = LineSplitter()
    (id, type, data, size, isAtStart) = (lastID, "", [], 0, true)
  }

  private mutating func take(_ line: Substring.UTF8View) throws(NetworkError) -> ServerSentEvent? {
    if line.isEmpty { return dispatch() }
    let colon = line.firstIndex(of: 58)
    let name = line[..<(colon ?? line.endIndex)]
    var value = colon.map { line[line.index(after: $0)...] } ?? line[line.endIndex...]
    if value.first == 32 { value = value.dropFirst() }
    let text = String(Substring(value))
    switch String(Substring(name)) {
    case "event": type = text
    case "data":
      size += value.count + 1
      if size > LineSplitter.limit { throw .responseTooLarge(limit: LineSplitter.limit) }
      data.append(text)
    case "id" where !value.contains(0): id = text
    case "retry":
      // Digits only; a server cannot put the client to sleep for years.
      if let milliseconds = ContentRange.number(value), !value.contains(where: { $0 == 32 || $0 == 9 }) {
        retry = .milliseconds(min(milliseconds, 86_400_000))
      }
    default: break
    }
    return nil
  }

  private mutating func dispatch() -> ServerSentEvent? {
    lastID = id
    defer { (type, data, size) = ("", [], 0) }
    if data.isEmpty { return nil }
    return ServerSentEvent(
      id: lastID, event: type.isEmpty ? "message" : type, data: data.joined(separator: "\n"), retry: retry)
  }
}
