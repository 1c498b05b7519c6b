import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The attempts of a stream.
nonisolated struct StreamTransport: NetworkTransport {
  let base: any NetworkTransport
  let startsWithHead: Bool
  /// The stream of the attempt that has succeeded.
  let started: NetworkLock<StreamReader?>

  var isInvalidated: Bool { base.isInvalidated }
  func validationError(for request: URLRequest) -> String? { base.validationError(for: request) }

  func prepare(
    _ request: URLRequest, _: NetworkTransferBody?, completion: @escaping Completion
  ) -> any NetworkRequestHandle {
    ByteStream(base, request, startsWithHead: startsWithHead, started, completion)
  }
}

/// What a reader holds: its stream is cancelled when nothing can read it any more.
nonisolated final class StreamReader: Sendable {
  let stream: ByteStream
  init(_ stream: ByteStream) { self.stream = stream }
  deinit { stream.cancel() }
}

/// One attempt of a stream, and then the buffer between it and its reader. An attempt has succeeded when the first byte has
/// come, or with the head of the response.
///
/// What bounds the memory: on Apple's platforms the task is suspended while more than half a megabyte waits for the reader.
/// URLSession calls that advisory, and may deliver some more. On Linux a suspended task would lose its connection, and
/// blocking the delegate queue would block every other transfer of the session, perhaps the one that the reader waits for.
/// There, what exceeds a megabyte goes through a temporary file.
nonisolated final class ByteStream: NetworkBodyReceiver, NetworkRequestHandle {
  static let limit = 1_048_576

  fileprivate struct State: Sendable {
    var request: (any NetworkRequestHandle)?
    var head: HTTPURLResponse?
    var hasStarted = false
    var errorBody = Data()
    /// What waits for the reader.
    var buffer = Data()
    #if canImport(FoundationNetworking)
      var overflow: OverflowFile?
    #else
      var isSuspended = false
    #endif
    var end: Result<Void, NetworkError>?
    var waiting: [CheckedContinuation<Void, Never>] = []
  }
  private let state = NetworkLock(State())
  private let startsWithHead: Bool
  private let started: NetworkLock<StreamReader?>
  private let completion: NetworkTransport.Completion

  init(
    _ base: any NetworkTransport, _ request: URLRequest, startsWithHead: Bool, _ started: NetworkLock<StreamReader?>,
    _ completion: @escaping NetworkTransport.Completion
  ) {
    self.startsWithHead = startsWithHead
    self.started = started
    self.completion = completion
    let handle = base.prepare(request, NetworkTransferBody(to: self)) { [self] in finished($0) }
    state.withLock { if $0.end == nil { $0.request = handle } }
  }

  // MARK: The attempt

  func resume() { state.withLock { $0.request }?.resume() }

  func cancel() { end(.failure(.cancelled)) }

  func receive(_ head: HTTPURLResponse) throws(NetworkError) {
    state.withLock { $0.head = head }
    if startsWithHead { start() }
  }

  func receive(_ data: Data) throws(NetworkError) {
    let isBody = state.withLock { state in
      guard let head = state.head, head.statusCode >= 400 else { return true }
      state.errorBody += data.prefix(max(0, 1_048_576 - state.errorBody.count))
      return false
    }
    if !isBody || data.isEmpty { return }
    try append(data)
    start()
  }

  func sent(_ bytes: Int64) {}

  /// The response is a success: the call ends, and the stream begins.
  private func start() {
    let head = state.withLock { state -> HTTPURLResponse? in
      guard !state.hasStarted, let head = state.head, head.statusCode < 400 else { return nil }
      state.hasStarted = true
      return head
    }
    guard let head else { return }
    started.hold(StreamReader(self))
    completion(NetworkOutcome(data: Data(), response: head, isAccepted: true))
  }

  private func finished(_ outcome: NetworkOutcome) {
    let (hasStarted, errorBody) = state.withLock { ($0.hasStarted, $0.errorBody) }
    let result = outcome.result(isHead: false, allowEmptyData: true)
    end(result.map { _ in })
    if hasStarted { return }
    if case .success = result { started.hold(StreamReader(self)) }
    var outcome = outcome
    outcome.data = errorBody
    completion(outcome)
  }

  /// Ends the stream, and what is still being received. What came before the end can still be read, unless the reader was
  /// cancelled.
  private func end(_ result: Result<Void, NetworkError>) {
    let (request, waiting) = state.withLock { state in
      if state.end == nil { state.end = result }
      defer { (state.request, state.waiting) = (nil, []) }
      return (state.request, state.waiting)
    }
    if case .failure = result { request?.cancel() }
    for reader in waiting { reader.resume() }
  }

  // MARK: The buffer

  private func append(_ data: Data) throws(NetworkError) {
    let (result, waiting) = state.withLock {
      state -> (Result<Void, NetworkError>, [CheckedContinuation<Void, Never>]) in
      if state.end != nil { return (.success(()), []) }
      let result = Result { try Self.append(data, to: &state) }.mapError {
        NetworkError.transferFailed(TransferError.fileSystem($0))
      }
      defer { state.waiting = [] }
      return (result, state.waiting)
    }
    for reader in waiting { reader.resume() }
    try result.get()
  }

  private static func append(_ data: Data, to state: inout State) throws {
    #if canImport(FoundationNetworking)
      // In order: once something is in the file, all that follows goes through it until it is empty.
      if state.overflow?.isEmpty == false || state.buffer.count + data.count > limit {
        var file = try state.overflow ?? OverflowFile()
        try file.append(data)
        state.overflow = file
        return
      }
    #endif
    if state.buffer.isEmpty { state.buffer = data } else { state.buffer.append(data) }
    #if !canImport(FoundationNetworking)
      if !state.isSuspended, state.buffer.count > limit / 2, let task = state.request as? URLSessionTask {
        state.isSuspended = true
        task.suspend()
      }
    #endif
  }

  /// All that waits for the reader; nil at the end. What came before an error is given first.
  func next() async throws(NetworkError) -> Data? {
    while true {
      if Task.isCancelled { cancel() }
      if let next = state.withLock({ $0.takeNext() }) { return try next.get() }
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let mustWait = state.withLock { state in
            if state.hasNext { return false }
            state.waiting.append(continuation)
            return true
          }
          if !mustWait { continuation.resume() }
        }
      } onCancel: {
        cancel()
      }
    }
  }
}

nonisolated extension ByteStream.State {
  fileprivate var isOverflowEmpty: Bool {
    #if canImport(FoundationNetworking)
      overflow?.isEmpty ?? true
    #else
      true
    #endif
  }

  fileprivate var hasNext: Bool { !buffer.isEmpty || end != nil || !isOverflowEmpty }

  /// Nil if there is nothing yet.
  fileprivate mutating func takeNext() -> Result<Data?, NetworkError>? {
    if case .failure(let error)? = end, error.isCancellation { return .failure(error) }
    if !buffer.isEmpty {
      defer { buffer = Data() }
      #if !canImport(FoundationNetworking)
        if isSuspended { (request as? URLSessionTask)?.resume() }
        isSuspended = false
      #endif
      return .success(buffer)
    }
    #if canImport(FoundationNetworking)
      if !isOverflowEmpty {
        return Result { try overflow?.next() }.mapError { .transferFailed(TransferError.fileSystem($0)) }
      }
    #endif
    return end.map { $0.map { nil } }
  }
}

nonisolated extension NetworkLock<StreamReader?> {
  /// What was held before is released without the lock: that cancels its stream.
  fileprivate func hold(_ reader: StreamReader) {
    _ = withLock { held in
      defer { held = reader }
      return held
    }
  }
}

#if canImport(FoundationNetworking)
  /// Data in a temporary file, first in, first out.
  nonisolated fileprivate struct OverflowFile: Sendable {
    private let file: TemporaryFile
    private var written = UInt64(0)
    private var read = UInt64(0)

    init() throws {
      file = try TemporaryFile()
      // An open file stays usable without its name, and is gone with the process, however that ends.
      try FileManager.default.removeItem(at: file.url)
    }

    var isEmpty: Bool { read == written }

    mutating func append(_ data: Data) throws {
      try file.handle.seek(toOffset: written)
      try file.handle.write(contentsOf: data)
      written += UInt64(data.count)
    }

    mutating func next() throws -> Data {
      try file.handle.seek(toOffset: read)
      guard let data = try file.handle.read(upToCount: 262_144), !data.isEmpty else {
        throw CocoaError(.fileReadCorruptFile)
      }
      read += UInt64(data.count)
      if isEmpty {
        (read, written) = (0, 0)
        try file.handle.truncate(atOffset: 0)
      }
      return data
    }
  }
#endif
