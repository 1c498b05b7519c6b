public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

nonisolated extension NetworkPerformer {
  /// Sends the request, and returns the body as it arrives, in chunks.
  ///
  /// ```swift
  /// let bytes = try await session.networkBytes(for: request)
  /// for try await chunk in bytes { parser.feed(chunk) }
  /// ```
  ///
  /// It returns with the head of the response, and the request is retried like any other until then. After that, a lost
  /// connection is an error, which the sequence throws after the data that arrived before it.
  ///
  /// The reader may be 64 MB behind. Further data is ``TransferError/responseTooLarge(limit:)``, which the sequence
  /// throws after the data that arrived before it. On Apple's platforms, the task is suspended earlier, so that the
  /// server waits. On Linux, it cannot be suspended, and a download is the way to receive a large response slowly.
  ///
  /// On Apple's platforms, a chunked body that is cut off between two chunks ends without an error (FB24495140). A
  /// download detects that, if the server supports ranges and sends a strong validator.
  ///
  /// - Parameters:
  ///   - request: What to send: a `URL`, a `URLRequest`, or an endpoint. The body of an endpoint has to be in memory.
  ///     The response is not parsed.
  ///   - acceptsAnyStatus: Whether a status of 400 and up is a response too, after the retries that the policy allows.
  ///     Its body has then arrived, up to 1 MB of it.
  ///   - policy: The retry policy. Its deadline applies until the head of the response.
  /// - Returns: The response, with its body as a sequence that can be iterated once.
  /// - Throws: ``NetworkError``, if the call fails before the body.
  public func networkBytes(
    for request: some NetworkRequestConvertible, acceptsAnyStatus: Bool = false, policy: RetryPolicy = .default
  ) async throws(NetworkError) -> NetworkBytes {
    try await networkStream(transferPlan(for: request, policy, defaults), acceptsAnyStatus)
  }

  func networkStream(_ plan: NetworkCallPlan, _ acceptsAnyStatus: Bool = false) async throws(NetworkError)
    -> NetworkBytes
  {
    let started = NetworkLock<NetworkBytes?>(nil)
    var plan = plan
    plan.transfer = { send in
      { outgoing in await NetworkByteStream.attempt(outgoing, started, send) }
    }
    let result = await perform(plan.started(on: self, defaults))
    // From here on, only the sequence and its iterators hold what arrives. The request is canceled without them.
    let bytes = started.withLock { $0.take() }
    let response = try (acceptsAnyStatus ? result.acceptingAnyStatus : result).get()
    // An error response, or one that a middleware has returned without sending the request.
    guard let bytes, response.statusCode < 400 else {
      return NetworkByteStream.ofArrived(response)
    }
    return NetworkBytes(response: response.response, chunks: bytes.chunks, stream: bytes.stream)
  }
}

/// The body of a response as it arrives. It can be iterated once. The transfer is canceled when the sequence and its
/// iterator are released.
nonisolated public struct NetworkBytes: AsyncSequence, Sendable, CustomStringConvertible {
  /// A chunk of the body. It is never empty.
  public typealias Element = Data

  /// The status code and header fields of the response.
  public let response: HTTPURLResponse
  let chunks: NetworkByteStream.Chunks
  let stream: NetworkByteStream
  /// The status code.
  public var statusCode: Int { response.statusCode }
  /// The header fields.
  public var headers: NetworkHeaders { NetworkHeaders(response.allHeaderFields) }
  /// Status and URL: no query value, no header and nothing of the body.
  public var description: String { response.redactedForLog }

  /// The size of the body in bytes; nil if it is compressed, or the response does not state it.
  public var total: Int64? { NetworkDownloadDecision.length(response.networkValue(of:)) }

  /// Iterates over the chunks.
  nonisolated public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
    let bytes: NetworkBytes

    /// The next chunk, or nil at the end of the body.
    ///
    /// - Returns: Bytes as they arrived together.
    /// - Throws: ``NetworkError``, if the connection is lost; `.cancelled` if the task is canceled.
    public mutating func next() async throws -> Data? {
      if _Concurrency.Task.isCancelled { throw NetworkError.cancelled }
      // It has no state of its own, and would not be `Sendable`.
      var chunks = bytes.chunks.makeAsyncIterator()
      let chunk = try await chunks.next()?.get()
      // The end of the stream is not that of the body then.
      if chunk == nil, _Concurrency.Task.isCancelled { throw NetworkError.cancelled }
      if let chunk { bytes.stream.noteRead(chunk.count) }
      return chunk
    }
  }

  /// Makes an iterator.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes: self) }

  /// The lines of the body, including empty ones, without their line endings (LF, CRLF or CR). Bytes that are not UTF-8
  /// become U+FFFD.
  public var lines: NetworkLines { NetworkLines(bytes: self) }
}
