extension LoopbackServer {
  /// A request, as the server received it.
  public struct Request: Sendable {
    /// The method in the request line.
    public var method: String
    /// Path and query in the request line.
    public var target: String
    /// The headers in order, with their names as they were sent.
    public var headers: [(name: String, value: String)]
    /// The body, decoded if it was chunked.
    public var body: [UInt8]
    /// The number of its connection, counted from 0.
    public var connection: Int
    /// Its number among all requests to the server, counted from 0.
    public var index: Int
    /// Its number among the requests of its connection, counted from 0.
    public var indexOnConnection: Int
    /// Whether the whole body was received. The server does not act on an incomplete request.
    public var isComplete = false

    /// The value of a header, by its name in any case; nil if it was not sent.
    public func value(_ name: String) -> String? {
      headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
    /// The body as UTF-8.
    public var text: String { String(decoding: body, as: UTF8.self) }
  }
}
