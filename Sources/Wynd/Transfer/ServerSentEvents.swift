#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

nonisolated extension NetworkPerformer {
  /// The events of a stream (`text/event-stream`).
  ///
  /// ```swift
  /// for try await event in session.serverSentEvents(for: url) {
  ///   print(event.type, event.data)
  /// }
  /// ```
  ///
  /// When the connection of a GET ends, the sequence waits for the time that the server asked for (at least 0.1 s), or
  /// for 3 s, and reconnects with `Last-Event-ID`, so that the server can continue from there. With any other method,
  /// such as the POST of a chat, the sequence ends with the response, and a lost connection is an error. An
  /// `Idempotency-Key` does not change that: it lets a server recognize a repetition, but does not say that it
  /// continues a stream.
  ///
  /// The sequence ends when the server responds with 204, when the loop is left, or when the iterating task is canceled,
  /// and fails when the policy stops retrying a connection. Each connection is made like any other call, with a
  /// ``NetworkEvent/callID`` of its own, so Retry-After is respected, and a 404 is final. When another user of an
  /// ``Authentication`` signs in, or the user signs out, the sequence does not reconnect, but fails with
  /// `URLError.userAuthenticationRequired`. A response that is not an event stream is
  /// ``NetworkError/undecodable(_:_:_:)``, with its status and up to 1 MB of its body.
  ///
  /// Some systems deliver nothing until 512 bytes have arrived. A server can send a comment of that length first.
  ///
  /// - Parameters:
  ///   - request: What to send: a `URL`, a `URLRequest`, or an endpoint, whose body has to be in memory. `Accept` and
  ///     `Last-Event-ID` are added. If it has a `Last-Event-ID`, the first connection starts from there.
  ///   - reconnects: Whether to reconnect. `nil` means only after a GET.
  ///   - policy: The retry policy of each connection.
  /// - Returns: A sequence. Each iteration opens its own connection.
  public func serverSentEvents(
    for request: some NetworkRequestConvertible, reconnects: Bool? = nil, policy: RetryPolicy = .default
  ) -> ServerSentEvents {
    ServerSentEvents(performer: self, reconnects: reconnects) { defaults throws(NetworkError) in
      try transferPlan(for: request, policy, defaults)
    }
  }
}

/// The events of a server, across reconnections.
nonisolated public struct ServerSentEvents: AsyncSequence, Sendable {
  /// An event.
  public typealias Element = ServerSentEvent
  let performer: any NetworkPerformer
  /// Nil means only after a GET.
  let reconnects: Bool?
  /// Makes a call for each iteration.
  let makeCall: @Sendable (NetworkDefaults) throws(NetworkError) -> NetworkCallPlan

  /// Iterates over the events.
  nonisolated public struct AsyncIterator: AsyncIteratorProtocol, Sendable, CustomStringConvertible {
    /// The status code and header fields of the current connection; nil before the first one.
    public private(set) var response: HTTPURLResponse?
    /// Status and URL: no query value, no header and nothing of an event.
    public var description: String { response?.redactedForLog ?? "not connected" }
    private let events: ServerSentEvents
    private let call: NetworkBox<Swift.Result<NetworkCallPlan, NetworkError>>
    private let mayReconnect: Bool
    private var parser: NetworkServerSentEventParser
    private var lines: NetworkLines.AsyncIterator?
    /// The number of consecutive connections without an event.
    private var fruitless = 0
    /// Whether the last connection has ended, and no further one is made.
    private var isAtEnd: Bool {
      guard lines == nil, let response else { return false }
      return response.statusCode == 204 || !mayReconnect
    }

    init(_ events: ServerSentEvents) {
      self.events = events
      let defaults = events.performer.defaults
      call = NetworkBox(
        Swift.Result { () throws(NetworkError) in
          try events.makeCall(defaults).started(on: events.performer, defaults)
        })
      let request = try? call.value.get().request
      // An Idempotency-Key is no reason to reconnect: the server would send the stored response from its beginning, or
      // reject the repetition. Only for GET does the specification of event streams say how to continue.
      let readsOnly = (try? call.value.get().isReadOnly) != false
      let isWanted = events.reconnects ?? (request?.networkMethod == "GET" && readsOnly)
      // A body stream can be read only once.
      mayReconnect = isWanted && request?.httpBodyStream == nil
      parser = NetworkServerSentEventParser(lastID: request?.value(forHTTPHeaderField: "Last-Event-ID") ?? "")
    }

    /// The next event.
    ///
    /// - Returns: An event, or nil at the end.
    /// - Throws: ``NetworkError``, if the connection fails, or the response is not an event stream.
    public mutating func next() async throws -> ServerSentEvent? {
      while !isAtEnd {
        if lines == nil { try await connect() }
        do {
          while let line = try await lines?.next() {
            guard let event = try parser.take(line) else { continue }
            fruitless = 0
            return event
          }
          lines = nil
        } catch let error as NetworkError {
          lines = nil
          let isWorthwhile = error.shouldRetry && mayReconnect
          if error.isCancellation || !isWorthwhile { throw error }
        }
      }
      return nil
    }

    private mutating func connect() async throws(NetworkError) {
      var call = try self.call.value.get()
      if response != nil {
        call = call.withNewID()
        // There is always a wait, which grows while the server ends each connection without an event.
        let least = fruitless > 0 ? RetryRule(.default).backoff.delay(retry: fruitless, random: 1) : .milliseconds(100)
        fruitless += 1
        try? await events.performer.defaults.clock.sleep(for: Swift.max(parser.retry ?? .seconds(3), least))
      }
      // Without the unfinished event of the previous connection.
      parser = NetworkServerSentEventParser(lastID: parser.lastID, retry: parser.retry)
      call.request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
      call.request.setValue("no-cache", forHTTPHeaderField: "Cache-Control")
      // Not the ID of the original request, because the server may have reset it.
      call.request.setValue(parser.lastID.isEmpty ? nil : parser.lastID, forHTTPHeaderField: "Last-Event-ID")
      let stream = try await events.performer.networkStream(call)
      response = stream.response
      if stream.response.statusCode == 204 { return }
      guard stream.response.statusCode == 200, stream.response.networkMediaType == "text/event-stream" else {
        // The field can be long.
        let type = stream.response.networkContentType.prefix(80)
        let error = TransferError.invalidResponse(reason: "no event stream, but \"\(type)\"")
        var body = Data()
        var chunks = stream.makeAsyncIterator()
        while body.count < NetworkByteStream.longestErrorBody, let chunk = try? await chunks.next() { body += chunk }
        // Otherwise the caller would not learn from the error that the loop ended because of its own cancellation.
        if _Concurrency.Task.isCancelled { throw .cancelled }
        throw .undecodable(error, stream.response, body.prefix(NetworkByteStream.longestErrorBody))
      }
      lines = NetworkLines.AsyncIterator(bytes: stream.makeAsyncIterator(), keepsLast: false)
    }
  }

  /// Makes an iterator, with a connection of its own.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}
