// Transfer: downloads to a file, uploads, bodies that are read as they arrive, and server-sent events.
// It needs Core and Body.
// Start with NetworkPerformer+performNetworkDownload.swift.

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One attempt of a streamed call, and then the buffer between the connection and the reader. The attempt succeeds with
/// the first byte of the body, or, with `startsWithHead`, with the header fields. A stream without a reader is
/// canceled.
///
/// On Apple's platforms, the task is suspended while more than half a megabyte is unread; URLSession treats that as a
/// hint, and may deliver more. On Linux, a suspended task would lose its connection, and a blocked delegate queue would
/// block all other transfers of the session, possibly the one that the reader is waiting for. So the stream fails when
/// its reader is 64 MB behind.
nonisolated final class NetworkByteStream: Sendable {
  static let blockSize = 1_048_576
  static let maxUnread = 67_108_864

  fileprivate struct State: Sendable {
    /// Sends the request. It continues after the attempt has succeeded, until the stream ends or is released.
    var sending: _Concurrency.Task<Void, Never>?
    var head: HTTPURLResponse?
    /// Is set to the stream when the attempt succeeds; nil afterwards.
    var started: NetworkLock<NetworkByteStream?>?
    /// Data that has not been read yet, in blocks of a megabyte, or the start of the body of an error.
    var unread: [Data] = []
    var unreadCount = 0
    /// On Apple's platforms, the task of the request, and whether it is suspended.
    var task: URLSessionTask?
    var isSuspended = false
    var end: Swift.Result<Void, NetworkError>?

    var isError: Bool { (head?.statusCode ?? 0) >= 400 }
  }
  private let state: NetworkLock<State>
  /// Wakes a waiting reader, so that it checks the state.
  private let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  private let startsWithHead: Bool
  /// Ends the attempt.
  private let completion = NetworkAttemptCompletion()

  /// `started` is set to the stream when the attempt succeeds.
  init(startsWithHead: Bool, _ started: NetworkLock<NetworkByteStream?>) {
    state = NetworkLock(State(started: started))
    self.startsWithHead = startsWithHead
    // Canceling the task of a waiting reader ends `changes`.
    change.onTermination = { [weak self] end in if case .cancelled = end { self?.cancel() } }
  }

  deinit { cancel() }

  // MARK: Attempt

  /// Returns with the first byte, or earlier with the header fields or a failure.
  func attempt(_ outgoing: NetworkOutgoing, _ send: @escaping NetworkSend) async -> NetworkOutcome {
    var outgoing = outgoing
    // Weak, so that the transfer does not keep the stream alive when it has no reader left.
    outgoing.bodies = NetworkBodies(
      onHead: { [weak self] in self?.receive($0) },
      onData: { [weak self] in try self?.receive($0) },
      onTask: { [weak self] task in self?.state.withLock { $0.task = task } })
    completion.onCancel { [weak self] in self?.cancel() }
    let sending = _Concurrency.Task { [weak self, outgoing] in
      let outcome = await send(outgoing)
      self?.finished(outcome)
    }
    let hasEnded = state.withLock { state in
      if state.end == nil { state.sending = sending }
      return state.end != nil
    }
    if hasEnded { sending.cancel() }
    return await completion.outcome()
  }

  func cancel() { end(.failure(.cancelled)) }

  private func receive(_ head: HTTPURLResponse) {
    state.withLock { state in
      // On Linux, a 401 has headers and a body too if the request is sent again with a credential.
      if state.isError { state.discard() }
      state.head = head
    }
    if startsWithHead { start(head) }
  }

  private func receive(_ data: Data) throws {
    if data.isEmpty { return }
    let head = try state.withLock { state in
      if state.isError {
        try state.append(data.prefix(max(0, Self.blockSize - state.unreadCount)))
      } else if state.end == nil {
        try state.append(data)
        state.suspendOrResume()
      }
      return state.head
    }
    change.yield()
    if let head { start(head) }
  }

  /// Completes the call successfully. The body that follows is read from the stream.
  private func start(_ head: HTTPURLResponse) {
    if head.statusCode >= 400 { return }
    guard let started = state.withLock({ $0.started.take() }) else { return }
    // The stream of an earlier attempt is released outside the lock: that can cancel it.
    var stream: NetworkByteStream? = self
    started.withLock { swap(&$0, &stream) }
    completion.end(NetworkOutcome(response: head, accepted: NetworkResponse(data: Data(), response: head)))
  }

  private func finished(_ outcome: NetworkOutcome) {
    let result = outcome.result(isHead: false, allowEmptyData: true)
    end(result.map { _ in })
    // A body without a byte.
    if case .success(let response) = result { return start(response.response) }
    var outcome = outcome
    outcome.data = state.withLock { $0.unread.first ?? Data() }
    // Has no effect after the start.
    completion.end(outcome)
  }

  /// Ends the stream, and cancels the request after a failure. Data that arrived before can still be read, unless the
  /// stream was canceled.
  private func end(_ result: Swift.Result<Void, NetworkError>) {
    let sending = state.withLock { state in
      // What arrived before a cancellation is not read any more, even if the body is complete.
      if case .failure(.cancelled) = result, !state.unread.isEmpty { state.end = result }
      state.end = state.end ?? result
      state.task = nil
      return state.sending.take()
    }
    change.finish()
    if case .failure = result { sending?.cancel() }
  }

  // MARK: Reading

  /// Returns unread data, and waits for it if there is none; nil at the end. An error is thrown after the data that
  /// arrived before it.
  func next() async throws(NetworkError) -> Data? {
    while true {
      if _Concurrency.Task.isCancelled { cancel() }
      if let next = state.withLock({ $0.takeNext() }) { return try next.get() }
      for await _ in changes { break }
    }
  }
}

nonisolated extension NetworkByteStream.State {
  fileprivate mutating func append(_ data: Data) throws(NetworkError) {
    let limit = NetworkByteStream.maxUnread
    if unreadCount + data.count > limit { throw .generalError(TransferError.responseTooLarge(limit: limit)) }
    unreadCount += data.count
    let last = unread.indices.last
    if let last, unread[last].count + data.count <= NetworkByteStream.blockSize {
      unread[last].append(data)
    } else {
      unread.append(data)
    }
  }

  fileprivate mutating func discard() {
    unread = []
    unreadCount = 0
  }

  /// Nil if there is no data yet.
  fileprivate mutating func takeNext() -> Swift.Result<Data?, NetworkError>? {
    if case .failure(let error)? = end, error.isCancellation { return .failure(error) }
    if unread.isEmpty { return end.map { $0.map { nil } } }
    let next = unread.removeFirst()
    unreadCount -= next.count
    suspendOrResume()
    return .success(next)
  }

  fileprivate mutating func suspendOrResume() {
    let mustWait = unreadCount > NetworkByteStream.blockSize / 2
    guard let task, mustWait != isSuspended else { return }
    isSuspended = mustWait
    if mustWait { task.suspend() } else { task.resume() }
  }
}
