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
  /// The events that a server sends (`text/event-stream`).
  ///
  /// ```swift
  /// for try await event in session.serverSentEvents(for: URLRequest(url: url)) {
  ///   print(event.event, event.data)
  /// }
  /// ```
  ///
  /// When the connection of a GET ends, it connects again, after the time that the server asked for (at least 0.1 s) or
  /// 3 s, with `Last-Event-ID`, so that the server can continue from there. The events of any other request, such as the
  /// POST of a chat, end with their response, and a lost connection is an error.
  ///
  /// It ends when the server responds with 204, when the policy gives up connecting, when the loop is left, or when the
  /// iterating task is cancelled. Each connection is made like any call, so Retry-After is respected, and a 404 is final. A
  /// response that is no event stream is ``NetworkError/undecodable(_:_:_:)``, with its status and up to 1 MB of its body.
  ///
  /// Some systems deliver nothing before 512 bytes have come; a server can send a comment of that length first.
  ///
  /// - Parameters:
  ///   - urlRequest: What to send; `Accept` and `Last-Event-ID` are added. With a `Last-Event-ID` of its own, the first
  ///     connection starts there.
  ///   - reconnects: Whether to connect again. `nil`: after a GET.
  ///   - maxRetries: Retries of each connection. `nil` is the policy's number.
  ///   - policy: Which failures to connect are retried, how often, how soon, for how long.
  /// - Returns: A sequence; each iteration is a connection of its own.
  public func serverSentEvents(
    for urlRequest: URLRequest, reconnects: Bool? = nil, maxRetries: Int? = nil, policy: RetryPolicy? = nil
  ) -> ServerSentEvents {
    ServerSentEvents(
      performer: self, request: urlRequest, reconnects: reconnects, maxRetries: maxRetries, policy: policy)
  }
}

/// The events of a server, over reconnections.
nonisolated public struct ServerSentEvents: AsyncSequence, Sendable {
  /// An event.
  public typealias Element = ServerSentEvent
  let performer: any NetworkPerformer
  let request: URLRequest
  let reconnects: Bool?
  let maxRetries: Int?
  let policy: RetryPolicy?

  private var mayReconnect: Bool {
    // A stream can be read only once.
    request.httpBodyStream == nil && reconnects ?? (request.httpMethod ?? "GET" == "GET")
  }

  /// Gives event after event.
  nonisolated public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
    /// Status code and header fields of the current connection; nil before the first.
    public private(set) var response: HTTPURLResponse?
    private let events: ServerSentEvents
    private var parser: ServerSentEventParser
    private var bytes: NetworkBytes.AsyncIterator?
    private var pending: ArraySlice<ServerSentEvent> = []
    /// Connections in a row that brought no event.
    private var fruitless = 0
    private var isAtEnd = false

    init(_ events: ServerSentEvents) {
      self.events = events
      parser = ServerSentEventParser(lastID: events.request.value(forHTTPHeaderField: "Last-Event-ID") ?? "")
    }

    /// The next event.
    ///
    /// - Returns: An event; nil when there will be no more.
    /// - Throws: ``NetworkError``, when it cannot connect, or the response is no event stream.
    public mutating func next() async throws -> ServerSentEvent? {
      while pending.isEmpty, !isAtEnd {
        if bytes == nil { try await connect() }
        do {
          if let data = try await bytes?.next() {
            pending = try parser.feed(data)[...]
            if !pending.isEmpty { fruitless = 0 }
          } else {
            bytes = nil
            isAtEnd = isAtEnd || !events.mayReconnect
          }
        } catch let error as NetworkError {
          bytes = nil
          if error.isCancellation || !error.shouldRetry || !events.mayReconnect { throw error }
        }
      }
      return pending.popFirst()
    }

    private mutating func connect() async throws(NetworkError) {
      if response != nil {
        // Never without a wait, and longer and longer for a server that ends each connection without an event.
        let least = fruitless > 0 ? RetryPolicy.default.backoff.delay(retry: fruitless, random: 1) : .milliseconds(100)
        fruitless += 1
        let wait = Swift.max(parser.retry ?? .seconds(3), least)
        // In the time of its calls: that of a script is virtual.
        let clock = events.performer.networkCaller.source.loop(for: NetworkCallPlan(request: events.request)).clock
        do { try await clock.sleep(for: wait) } catch { throw .cancelled }
      }
      parser.reconnect()
      var request = events.request
      request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
      request.setValue("no-cache", forHTTPHeaderField: "Cache-Control")
      // Not the one that the request came with, if the server has reset it.
      request.setValue(parser.lastID.isEmpty ? nil : parser.lastID, forHTTPHeaderField: "Last-Event-ID")
      let stream = try await events.performer.networkStream(
        for: request, events.maxRetries, events.policy, startsWithHead: true)
      response = stream.response
      isAtEnd = stream.response.statusCode == 204
      if isAtEnd { return }
      let type = stream.response.value(forHTTPHeaderField: "Content-Type") ?? ""
      guard stream.response.statusCode == 200,
        type.split(separator: ";").first?.trimmingCharacters(in: .whitespaces).lowercased() == "text/event-stream"
      else {
        // The server's text may be long, and hold control characters.
        let text = String(String.UnicodeScalarView(type.unicodeScalars.filter { 32...126 ~= $0.value }.prefix(80)))
        let error = TransferError.invalidResponse(reason: "no event stream, but \"\(text)\"")
        throw .undecodable(error, stream.response, await stream.start())
      }
      bytes = stream.makeAsyncIterator()
    }
  }

  /// Iterates.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

nonisolated extension NetworkBytes {
  /// Up to 1 MB.
  fileprivate func start() async -> Data {
    var data = Data()
    var iterator = makeAsyncIterator()
    while data.count < ByteStream.limit, let chunk = try? await iterator.next() { data += chunk }
    return data.prefix(ByteStream.limit)
  }
}

/// Bytes → events, wherever the chunks end (WHATWG HTML §9.2.6).
nonisolated struct ServerSentEventParser: Sendable {
  private(set) var lastID: String
  private(set) var retry: Duration?
  private var splitter = LineSplitter()
  private var id: String
  private var type = ""
  private var data = ""
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
    (id, type, data, isAtStart) = (lastID, "", "", true)
  }

  private mutating func take(_ line: Substring.UTF8View) throws(NetworkError) -> ServerSentEvent? {
    if line.isEmpty { return dispatch() }
    let parts = line.split(separator: 58, maxSplits: 1, omittingEmptySubsequences: false)
    var value = parts.count > 1 ? parts[1] : line.suffix(0)
    if value.first == 32 { value = value.dropFirst() }
    let text = String(Substring(value))
    switch String(Substring(parts[0])) {
    case "event": type = text
    case "data":
      data += text + "\n"
      if data.utf8.count > LineSplitter.limit { throw .responseTooLarge(limit: LineSplitter.limit) }
    case "id" where !value.contains(0): id = text
    case "retry":
      // Digits only; a server cannot put the client to sleep for years.
      if let milliseconds = ContentRange.number(text) { retry = .milliseconds(min(milliseconds, 86_400_000)) }
    default: break
    }
    return nil
  }

  private mutating func dispatch() -> ServerSentEvent? {
    lastID = id
    defer { (type, data) = ("", "") }
    if data.isEmpty { return nil }
    return ServerSentEvent(
      id: lastID, event: type.isEmpty ? "message" : type, data: String(data.dropLast()), retry: retry)
  }
}
