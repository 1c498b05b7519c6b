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
