import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One attempt of a streamed call, which succeeds with the head of the response, and then the way from the connection
/// to the reader.
///
/// On Apple's platforms, the task is suspended while more than half a megabyte is unread; URLSession treats that as a
/// hint, and may deliver more. On Linux, a suspended task would lose its connection, and a blocked delegate queue would
/// block all other transfers of the session, possibly the one that the reader is waiting for. So the stream fails when
/// its reader is 64 MB behind.
nonisolated final class NetworkByteStream: Sendable {
  /// What has arrived and was not read yet. When nobody holds it any more, the request is canceled.
  typealias Chunks = AsyncStream<Swift.Result<Data, NetworkError>>
  /// The most that is kept of the body of an error, also that of a download.
  static let longestErrorBody = 1_048_576
  static let maxUnread = 67_108_864
  /// What a chunk takes in memory beside its bytes. A server may send single bytes.
  static let sizeOfChunk = 64

  private struct State: Sendable {
    /// Sends the request. It continues after the attempt has succeeded, until the stream ends.
    var sending: _Concurrency.Task<Void, Never>?
    var hasEnded = false
    /// The head of an error response; nil for any other response.
    var error: HTTPURLResponse?
    /// The start of the body of an error.
    var errorBody = Data()
    /// The size of what has arrived and was not read yet, in bytes.
    var unread = 0
    /// On Apple's platforms, the task of the request, and whether it is suspended.
    var task: URLSessionTask?
    var isSuspended = false

    mutating func suspendOrResume() {
      let mustWait = unread > 524_288
      guard let task, mustWait != isSuspended else { return }
      isSuspended = mustWait
      if mustWait { task.suspend() } else { task.resume() }
    }
  }
  private let state = NetworkLock(State())
  private let arrived: Chunks.Continuation
  /// Ends the attempt.
  private let completion = NetworkAttemptCompletion()

  private init(_ arrived: Chunks.Continuation) { self.arrived = arrived }

  /// A response whose body has arrived.
  static func ofArrived(_ response: NetworkResponse<Data>) -> NetworkBytes {
    let (chunks, arrived) = Chunks.makeStream()
    if !response.data.isEmpty { arrived.yield(.success(response.data)) }
    arrived.finish()
    return NetworkBytes(response: response.response, chunks: chunks, stream: NetworkByteStream(arrived))
  }

  // MARK: The attempt

  /// Returns with the head of the response, or a failure. `started` is set if it succeeds.
  static func attempt(
    _ outgoing: NetworkOutgoing, _ started: NetworkLock<NetworkBytes?>, _ send: @escaping NetworkSend
  ) async -> NetworkOutcome {
    let (chunks, arrived) = Chunks.makeStream()
    let stream = NetworkByteStream(arrived)
    let outcome = await stream.outcome(of: outgoing, send)
    if let head = outcome.accepted?.value.response {
      // The bytes of an earlier attempt are released outside the lock: that cancels its request.
      var bytes: NetworkBytes? = NetworkBytes(response: head, chunks: chunks, stream: stream)
      started.withLock { swap(&$0, &bytes) }
    }
    return outcome
  }

  private func outcome(of outgoing: NetworkOutgoing, _ send: @escaping NetworkSend) async -> NetworkOutcome {
    var outgoing = outgoing
    outgoing.bodies = NetworkBodies(
      onHead: { self.receive($0) },
      onData: { try self.receive($0) },
      onTask: { task in self.state.withLock { $0.task = task } })
    completion.onCancel { self.cancelRequest() }
    arrived.onTermination = { _ in self.cancelRequest() }
    let sending = _Concurrency.Task { [outgoing] in self.finished(await send(outgoing)) }
    let hasEnded = state.withLock { state in
      state.sending = sending
      return state.hasEnded
    }
    if hasEnded { sending.cancel() }
    return await completion.outcome()
  }

  /// Cancels the request, unless it has finished.
  private func cancelRequest() {
    let sending = state.withLock { state in
      state.hasEnded = true
      state.task = nil
      return state.sending.take()
    }
    sending?.cancel()
  }

  private func receive(_ head: HTTPURLResponse) {
    let isError = head.statusCode >= 400
    state.withLock { state in
      state.error = isError ? head : nil
      // On Linux, a 401 has headers and a body too if the request is sent again with a credential.
      state.errorBody = Data()
    }
    if !isError { start(head) }
  }

  private func receive(_ data: Data) throws {
    if data.isEmpty { return }
    let failed = try state.withLock { state -> NetworkOutcome? in
      if let error = state.error {
        state.errorBody += data.prefix(max(0, Self.longestErrorBody - state.errorBody.count))
        return NetworkOutcome(data: state.errorBody, response: error)
      }
      state.unread += data.count + Self.sizeOfChunk
      if state.unread > Self.maxUnread { throw TransferError.responseTooLarge(limit: Self.maxUnread) }
      state.suspendOrResume()
      return nil
    }
    guard let failed else {
      arrived.yield(.success(data))
      return
    }
    // Nobody reads more of it.
    if failed.data?.count == Self.longestErrorBody {
      completion.end(failed)
      cancelRequest()
    }
  }

  /// Completes the call successfully. The body that follows is read from the stream.
  private func start(_ head: HTTPURLResponse) {
    completion.end(NetworkOutcome(response: head, accepted: NetworkBox(NetworkResponse(data: Data(), response: head))))
  }

  private func finished(_ outcome: NetworkOutcome) {
    switch outcome.result(isHead: false, allowEmptyData: true) {
    // A redirect that is not followed has no head of its own.
    case .success(let response): start(response.response)
    case .failure(let error): arrived.yield(.failure(error))
    }
    arrived.finish()
    var outcome = outcome
    outcome.data = state.withLock { $0.errorBody }
    // Has no effect after the start.
    completion.end(outcome)
  }

  // MARK: Reading

  /// Notes that a chunk with this number of bytes has been read.
  func noteRead(_ count: Int) {
    state.withLock { state in
      state.unread -= count + Self.sizeOfChunk
      state.suspendOrResume()
    }
  }
}
