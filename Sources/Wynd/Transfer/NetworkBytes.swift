public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

nonisolated extension NetworkPerformer {
  /// The body as it arrives, in chunks.
  ///
  /// ```swift
  /// let bytes = try await session.networkBytes(for: request)
  /// for try await chunk in bytes { parser.feed(chunk) }
  /// ```
  ///
  /// Until the first byte has come, it is retried like any call; after that a lost connection is an error at its place in
  /// the sequence, behind everything that came before it.
  ///
  /// What waits for a slow reader takes 1 MB of memory, and the rest waits in a temporary file without a name. On Apple's
  /// platforms the task is suspended meanwhile, which URLSession treats as a hint.
  ///
  /// On Apple's platforms a chunked body that the server cuts off between two chunks ends like a whole one
  /// (FB24495140); a download notices.
  ///
  /// - Parameters:
  ///   - urlRequest: What to send.
  ///   - maxRetries: Replaces ``RetryPolicy/maxRetries`` of the policy.
  ///   - policy: The retry rule. Its deadline ends with the first byte.
  /// - Returns: The head of the response, and its body as a sequence that can be iterated once.
  /// - Throws: ``NetworkError``, what failed before the first byte.
  public func networkBytes(
    for urlRequest: URLRequest, maxRetries: Int? = nil, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> NetworkBytes {
    try await networkStream(for: urlRequest, maxRetries, policy, startsWithHead: false)
  }

  /// `startsWithHead`: the call ends with the head of the response, before its first byte.
  func networkStream(
    for urlRequest: URLRequest, _ maxRetries: Int?, _ policy: RetryPolicy?, startsWithHead: Bool
  ) async throws(NetworkError) -> NetworkBytes {
    let started = NetworkLock<ByteStream?>(nil)
    let call = NetworkCallPlan(request: urlRequest, policy: policy, maxRetries: maxRetries) { base in
      TransferTransport(base: base) { request, completion in
        ByteStream(base, request, startsWithHead: startsWithHead, started, completion)
      }
    }
    let result = await networkCaller.run(call)
    // Only the sequence and its iterators hold the stream from here on; without one, it is cancelled.
    let stream = started.exchange(nil)
    let response = try result.get().response
    // A middleware may have responded without sending anything.
    guard let stream else { throw .noResponse }
    return NetworkBytes(response: response, stream: stream)
  }
}

/// The body of a response as it arrives. It can be iterated once; dropping it ends the transfer.
nonisolated public struct NetworkBytes: AsyncSequence, Sendable {
  /// The next bytes: all that have come since the last ones.
  public typealias Element = Data

  /// Status code and header fields of the response.
  public let response: HTTPURLResponse
  let stream: ByteStream

  /// Bytes of the whole body; nil if the response does not say, or is compressed.
  public var total: Int64? { DownloadStep.length(response.value(forHTTPHeaderField:)) }

  /// Gives what has come.
  nonisolated public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
    let stream: ByteStream
    /// The next bytes, nil at the end.
    ///
    /// - Returns: All that have come since the last ones.
    /// - Throws: ``NetworkError``, where the response broke off; `.cancelled` if the task was cancelled.
    public mutating func next() async throws -> Data? { try await stream.next() }
  }

  /// Iterates.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(stream: stream) }

  /// The lines of the body, without their ends (LF, CRLF or CR), empty ones included. Bytes that are not UTF-8 become
  /// U+FFFD.
  public var lines: NetworkLines { NetworkLines(bytes: self) }
}

/// The lines of a response as they arrive.
nonisolated public struct NetworkLines: AsyncSequence, Sendable {
  /// A line.
  public typealias Element = String
  let bytes: NetworkBytes

  /// Gives line after line.
  nonisolated public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
    var bytes: NetworkBytes.AsyncIterator
    var splitter = LineSplitter()
    var lines: ArraySlice<String> = []
    var isAtEnd = false

    /// The next line, nil at the end.
    ///
    /// - Returns: A line without its end.
    /// - Throws: ``NetworkError``; `.responseTooLarge` for a line of more than 16 MB.
    public mutating func next() async throws -> String? {
      while lines.isEmpty, !isAtEnd {
        if let data = try await bytes.next() {
          lines = try splitter.feed(data)[...]
        } else {
          isAtEnd = true
          lines = splitter.finish()[...]
        }
      }
      return lines.popFirst()
    }
  }

  /// Iterates.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes: bytes.makeAsyncIterator()) }
}

/// Cuts bytes into lines, wherever the chunks end.
nonisolated struct LineSplitter: Sendable {
  private var line: [UInt8] = []
  private var hasSeenCR = false
  /// Bytes; a line without an end would fill the memory.
  static let limit = 16_777_216

  mutating func feed(_ data: some Sequence<UInt8>) throws(NetworkError) -> [String] {
    var lines: [String] = []
    for byte in data {
      defer { hasSeenCR = byte == 13 }
      switch byte {
      case 10 where hasSeenCR: continue
      case 10, 13:
        lines.append(String(decoding: line, as: UTF8.self))
        line.removeAll(keepingCapacity: true)
      default:
        if line.count >= Self.limit { throw .responseTooLarge(limit: Self.limit) }
        line.append(byte)
      }
    }
    return lines
  }

  /// The last line, if it has no end.
  mutating func finish() -> [String] {
    defer { line = [] }
    return line.isEmpty ? [] : [String(decoding: line, as: UTF8.self)]
  }
}
