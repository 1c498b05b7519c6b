public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

nonisolated extension NetworkPerformer {
  /// The body as it comes, piece by piece.
  ///
  /// ```swift
  /// let bytes = try await session.networkBytes(for: request)
  /// for try await chunk in bytes { parser.feed(chunk) }
  /// ```
  ///
  /// Until the first byte has come, it is retried like any call; after that a drop is an error at its place in the
  /// sequence, behind everything that came before it.
  ///
  /// What has come and was not read yet takes 1 MB of memory at most. Beyond that a slow reader makes the server wait on
  /// Apple's platforms, where the task is suspended; on Linux, where URLSession cannot be suspended, the rest lies in a
  /// temporary file without a name.
  ///
  /// - Parameters:
  ///   - urlRequest: What to send.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - onProgress: Is told how much has come, read or not, on an internal thread: it must return quickly.
  ///   - policy: Which failures are tried again, how often, how soon, for how long. Its deadline ends with the first byte.
  /// - Returns: The head of the answer, and its body as a sequence that can be iterated once.
  /// - Throws: ``NetworkError``, what went wrong before the first byte.
  public func networkBytes(
    for urlRequest: URLRequest, maxRetries: Int? = nil, onProgress: (@Sendable (TransferProgress) -> Void)? = nil,
    policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> NetworkBytes {
    try await networkStream(for: urlRequest, maxRetries, policy, startsWithHead: false, onProgress)
  }

  /// `startsWithHead`: an answer is a success before its first byte.
  func networkStream(
    for urlRequest: URLRequest, _ maxRetries: Int?, _ policy: RetryPolicy?, startsWithHead: Bool,
    _ onProgress: (@Sendable (TransferProgress) -> Void)? = nil
  ) async throws(NetworkError) -> NetworkBytes {
    let last = NetworkLock<StreamTransport?>(nil)
    let call = NetworkCallPlan(
      request: urlRequest, policy: policy, maxRetries: maxRetries,
      transfer: { base in
        let stream = StreamTransport(base: base, startsWithHead: startsWithHead, onProgress: onProgress)
        last.withLock { $0 = stream }
        return stream
      })
    let answer = await networkCaller.run(call)
    let storage = last.withLock { $0 }?.takeStorage()
    do throws(NetworkError) {
      let response = try answer.get().response
      guard let storage else { throw .noResponse }
      return NetworkBytes(response: response, storage: storage)
    } catch {
      storage?.cancel()
      throw error
    }
  }
}

/// The body of an answer as it comes. It can be iterated once; dropping it ends the transfer.
nonisolated public struct NetworkBytes: AsyncSequence, Sendable {
  /// The next bytes: as many as came at once.
  public typealias Element = Data

  /// Status code and header fields of the answer.
  public let response: HTTPURLResponse
  /// How many bytes have come, read or not; its `totalUnitCount` is -1 while the length is unknown. Cancelling it ends the
  /// transfer.
  public var progress: Progress { storage.progress }
  let storage: StreamStorage

  /// Gives what has come.
  nonisolated public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
    let storage: StreamStorage
    /// The next bytes, nil at the end.
    ///
    /// - Returns: What came at once.
    /// - Throws: ``NetworkError``, where the answer broke off; `.cancelled` if the task was cancelled.
    public mutating func next() async throws -> Data? { try await storage.next() }
  }

  /// Iterates.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(storage: storage) }

  /// The lines of the body, without their ends (LF, CRLF or CR), empty ones included. Bytes that are no UTF-8 become
  /// U+FFFD.
  public var lines: NetworkLines { NetworkLines(bytes: self) }
}

/// The lines of an answer as they come.
nonisolated public struct NetworkLines: AsyncSequence, Sendable {
  /// A line.
  public typealias Element = String
  let bytes: NetworkBytes

  /// Gives line after line.
  nonisolated public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
    var bytes: NetworkBytes.AsyncIterator
    var splitter = LineSplitter()
    var lines: [String] = []
    var position = 0
    var isAtEnd = false

    /// The next line, nil at the end.
    ///
    /// - Returns: A line without its end.
    /// - Throws: ``NetworkError``; `.responseTooLarge` for a line of more than 16 MB.
    public mutating func next() async throws -> String? {
      while position == lines.count {
        if isAtEnd { return nil }
        position = 0
        if let data = try await bytes.next() {
          lines = try splitter.feed(data)
        } else {
          isAtEnd = true
          lines = splitter.finish().map { [$0] } ?? []
        }
      }
      defer { position += 1 }
      return lines[position]
    }
  }

  /// Iterates.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes: bytes.makeAsyncIterator()) }
}

/// Cuts bytes into lines, wherever the pieces end.
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
  mutating func finish() -> String? {
    defer { line = [] }
    return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
  }
}
