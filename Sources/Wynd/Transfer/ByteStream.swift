/// One attempt of a streamed call, and then the buffer between the connection and the reader. The attempt succeeds with
/// the first byte of the body, or, with `startsWithHead`, with the header fields. A stream without a reader is
/// canceled.
///
/// Up to a megabyte is kept in memory, and the rest in a temporary file. On Apple's platforms, the task is suspended
/// while more than half a megabyte is unread; URLSession treats that as a hint, and may deliver more. On Linux, a
/// suspended task would lose its connection, and a blocked delegate queue would block all other transfers of the
/// session, possibly the one that the reader is waiting for.
nonisolated final class ByteStream: NetworkRequestHandle {
  static let limit = 1_048_576

  fileprivate struct State: Sendable {
    var request: (any NetworkRequestHandle)?
    var head: HTTPURLResponse?
    /// Is set to the stream when the attempt succeeds; nil afterwards.
    var started: NetworkLock<ByteStream?>?
    /// Data that has not been read yet, or the start of the body of an error.
    var buffer = Data()
    /// What arrived after the buffer was full.
    var overflow: (file: TemporaryFile, reader: FileHandle)?
    /// The number of bytes that have not been read yet.
    var unread = 0
    var suspended: URLSessionTask?
    var end: Result<Void, NetworkError>?
  }
  private let state: NetworkLock<State>
  /// Wakes a waiting reader, so that it checks the state.
  private let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  private let completion: NetworkTransport.Completion

  /// `started` is set to the stream when the attempt succeeds.
  init(
    _ base: any NetworkTransport, _ request: URLRequest, startsWithHead: Bool, _ started: NetworkLock<ByteStream?>,
    _ completion: @escaping NetworkTransport.Completion
  ) {
    state = NetworkLock(State(started: started))
    self.completion = completion
    // Canceling the task of a waiting reader ends `changes`.
    change.onTermination = { [weak self] end in if case .cancelled = end { self?.cancel() } }
    // Weak, so that the transfer does not keep the stream alive when it has no reader left.
    let transfer = StreamedBodies(
      onHead: { [weak self] in self?.receive($0, startsWithHead) }, onData: { [weak self] in try self?.receive($0) },
      makeTask: TransferDelegate.makeTask)
    let handle = base.prepare(request, transfer) { [weak self] in self?.finished($0) }
    state.withLock { if $0.end == nil { $0.request = handle } }
  }

  deinit { cancel() }

  // MARK: Attempt

  func resume() { state.withLock { $0.request }?.resume() }

  func cancel() { end(.failure(.cancelled)) }

  private func receive(_ head: HTTPURLResponse, _ startsWithHead: Bool) {
    // On Linux, a 401 whose challenge is answered has a head and a body too.
    state.withLock { ($0.buffer, $0.head) = ($0.head?.statusCode ?? 0 < 400 ? $0.buffer : Data(), head) }
    if startsWithHead { start(head) }
  }

  private func receive(_ data: Data) throws {
    if data.isEmpty { return }
    let head = state.withLock { state in
      Result {
        let isError = state.head?.statusCode ?? 0 >= 400
        if isError { state.buffer += data.prefix(Self.limit - state.buffer.count) }
        if !isError, state.end == nil { try state.append(data) }
        return state.head
      }
    }
    change.yield()
    if let head = try head.mapError(NetworkError.init(transfer:)).get() { start(head) }
  }

  /// Completes the call successfully. The body that follows is read from the stream.
  private func start(_ head: HTTPURLResponse) {
    if head.statusCode >= 400 { return }
    guard let started = state.withLock({ $0.started.take() }) else { return }
    // The stream of an earlier attempt is released outside the lock: that can cancel it.
    var stream: ByteStream? = self
    started.withLock { swap(&$0, &stream) }
    completion(NetworkOutcome(data: Data(), response: head, isAccepted: true))
  }

  private func finished(_ outcome: NetworkOutcome) {
    let result = outcome.result(isHead: false, allowEmptyData: true)
    end(result.map { _ in })
    // A body without a byte.
    if case .success(let head) = result { return start(head) }
    // Without effect after the start: only the first completion counts.
    var outcome = outcome
    outcome.data = state.withLock { $0.buffer }
    completion(outcome)
  }

  /// Ends the stream, and cancels the request after a failure. Data that arrived before can still be read, unless the
  /// stream was canceled.
  private func end(_ result: Result<Void, NetworkError>) {
    let request = state.withLock { state in
      // What arrived before a cancellation is not read any more, even if the body is complete.
      if case .failure(.cancelled) = result, state.unread > 0 { state.end = result }
      state.end = state.end ?? result
      return state.request.take()
    }
    change.finish()
    if case .failure = result { request?.cancel() }
  }

  // MARK: Reading

  /// Returns unread data, and waits for it if there is none; nil at the end. An error is thrown after the data that
  /// arrived before it.
  func next() async throws(NetworkError) -> Data? {
    while true {
      if Task.isCancelled { cancel() }
      if let next = state.withLock({ $0.takeNext() }) { return try next.get() }
      for await _ in changes { break }
    }
  }
}

nonisolated extension ByteStream.State {
  fileprivate mutating func append(_ data: Data) throws {
    // To keep the order, data goes through the file until everything in it has been read.
    if overflow != nil || buffer.count + data.count > ByteStream.limit {
      if overflow == nil {
        let file = try TemporaryFile()
        overflow = (file, try FileHandle(forReadingFrom: file.url))
        // An open file can be used after its name is removed, and does not remain on the disk if the process crashes.
        try FileManager.default.removeItem(at: file.url)
      }
      try overflow?.file.handle.write(contentsOf: data)
    } else {
      buffer.append(data)
    }
    unread += data.count
    // The handle is a task only on Apple's platforms.
    if suspended == nil, unread > ByteStream.limit / 2, let task = request as? URLSessionTask {
      suspended = task
      task.suspend()
    }
  }

  /// Nil if there is no data yet.
  fileprivate mutating func takeNext() -> Result<Data?, NetworkError>? {
    if case .failure(let error)? = end, error.isCancellation { return .failure(error) }
    if unread == 0 { return end.map { $0.map { nil } } }
    return Result { () throws -> Data? in
      let next = try buffer.isEmpty ? overflow?.reader.read(upToCount: min(unread, 262_144)) ?? Data() : buffer
      if next.isEmpty { throw CocoaError(.fileReadCorruptFile) }
      buffer = Data()
      unread -= next.count
      if unread == 0 { overflow = nil }
      if unread <= ByteStream.limit / 2 { suspended.take()?.resume() }
      return next
    }.mapError(NetworkError.init(transfer:))
  }
}

/// A temporary file that only the current user can access. It is removed when this object is deallocated.
nonisolated final class TemporaryFile: Sendable {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent("wynd-\(UUID().uuidString)")
  let handle: FileHandle

  /// `write` passes the content to a closure in chunks.
  init(_ write: ((Data) throws -> Void) throws -> Void = { _ in }) throws {
    guard FileManager.default.createFile(atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600])
    else { throw CocoaError(.fileWriteUnknown) }
    handle = try FileHandle(forUpdating: url)
    try write { try handle.write(contentsOf: $0) }
  }

  deinit {
    try? handle.close()
    try? FileManager.default.removeItem(at: url)
  }
}
