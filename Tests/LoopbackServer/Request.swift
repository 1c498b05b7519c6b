extension LoopbackServer {
  /// One request, as it came over the wire.
  public struct Request: Sendable {
    /// As in the request line.
    public var method: String
    /// Path and query, as in the request line.
    public var target: String
    /// In order, names as they were sent.
    public var headers: [(name: String, value: String)]
    /// Decoded if it was chunked.
    public var body: [UInt8]
    /// The connection it came on, counted from 0.
    public var connection: Int
    /// Which request of the server it is, counted from 0.
    public var index: Int
    /// Which request of its connection it is, counted from 0.
    public var indexOnConnection: Int
    /// The whole body has come. A request that stays incomplete cannot have been acted on.
    public var isComplete = false

    /// The value of a field, whatever the case of its name; nil if it was not sent.
    public func value(_ name: String) -> String? {
      headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
    /// The body as UTF-8.
    public var text: String { String(decoding: body, as: UTF8.self) }
  }
}
