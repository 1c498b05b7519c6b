import Foundation

/// A server-sent event (WHATWG HTML §9.2).
nonisolated public struct ServerSentEvent: Sendable, Equatable, CustomStringConvertible {
  /// The last event ID that the server sent, with this event or an earlier one.
  public var id: String
  /// The event type; `message` if the server sent none.
  public var type: String
  /// The lines of the data, joined by line feeds.
  public var data: String
  /// The reconnection time that the server sent, with this event or an earlier one.
  public var retry: Swift.Duration?
  /// The size of its data, and nothing of its content.
  public var description: String { "an event, \(data.utf8.count) bytes" }
}

/// Parses the lines of one connection (WHATWG HTML §9.2.6).
nonisolated struct NetworkServerSentEventParser: Sendable {
  private(set) var lastID: String
  private(set) var retry: Swift.Duration?
  private var id: String
  private var type = "message"
  private var data = ""
  private var isAtStart = true

  /// `lastID` and `retry`: what the server sent on an earlier connection.
  init(lastID: String = "", retry: Swift.Duration? = nil) {
    self.lastID = lastID
    self.retry = retry
    id = lastID
  }

  /// Returns the event that ends with this line, if it has data.
  mutating func take(_ line: String) throws(NetworkError) -> ServerSentEvent? {
    // A byte order mark is removed by its bytes, because a character may consist of it and what follows.
    let mark = "\u{FEFF}".utf8
    let hasMark = isAtStart && Array(line.utf8.prefix(mark.count)) == Array(mark)
    let line = line.utf8.dropFirst(hasMark ? mark.count : 0)
    isAtStart = false
    if line.isEmpty {
      lastID = id
      defer {
        type = "message"
        data = ""
      }
      if data.isEmpty { return nil }
      return ServerSentEvent(id: id, type: type, data: String(data.dropLast()), retry: retry)
    }
    let name = line.prefix { $0 != UInt8(ascii: ":") }
    var value = line.dropFirst(name.count + 1)
    if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
    let text = String(Substring(value))
    switch String(Substring(name)) {
    case "event": type = text.isEmpty ? "message" : text
    case "data":
      data += text + "\n"
      if data.utf8.count > NetworkLineSplitter.limit {
        throw .generalError(TransferError.responseTooLarge(limit: NetworkLineSplitter.limit))
      }
    case "id" where !value.contains(0): id = text
    case "retry":
      // Digits only, and at most a day, so that a server cannot make the client wait for years.
      if let milliseconds = NetworkDigits.number(text) { retry = .milliseconds(min(milliseconds, 86_400_000)) }
    default: break
    }
    return nil
  }
}
