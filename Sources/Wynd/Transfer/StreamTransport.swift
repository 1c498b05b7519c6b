import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Ends the transfer when nobody can read it any more.
nonisolated final class StreamStorage: Sendable {
  let buffer: ChunkBuffer
  let progress: Progress
  private let flight: any NetworkRequestHandle
  init(_ buffer: ChunkBuffer, _ flight: any NetworkRequestHandle, _ progress: Progress) {
    self.buffer = buffer
    self.flight = flight
    self.progress = progress
    progress.cancellationHandler = { [weak self] in self?.cancel() }
  }
  deinit { flight.cancel() }

  func next() async throws(NetworkError) -> Data? {
    do throws(NetworkError) { return try await buffer.next() } catch {
      flight.cancel()
      throw error
    }
  }
  func cancel() {
    buffer.finish(.failure(.cancelled))
    flight.cancel()
  }
}

/// The attempts until one has begun to give.
nonisolated final class StreamTransport: NetworkTransport, @unchecked Sendable {
  private let base: any NetworkTransport
  private let startsWithHead: Bool
  private let progress = Progress(totalUnitCount: -1)
  private let teller: ProgressTeller
  private let lock = NSLock()
  private var last: StreamStorage?

  init(base: any NetworkTransport, startsWithHead: Bool, onProgress: (@Sendable (TransferProgress) -> Void)?) {
    self.base = base
    self.startsWithHead = startsWithHead
    teller = ProgressTeller(progress, onProgress)
  }

  /// That of the last attempt, which from now on lives as long as its reader.
  func takeStorage() -> StreamStorage? {
    lock.withLock {
      defer { last = nil }
      return last
    }
  }

  var isInvalidated: Bool { base.isInvalidated }
  func validationError(for request: URLRequest) -> String? { base.validationError(for: request) }

  func prepare(
    _ request: URLRequest, _: NetworkTransferBody?, completion: @escaping Completion
  ) -> any NetworkRequestHandle {
    let attempt = StreamAttempt(base, request, startsWithHead: startsWithHead, teller, completion)
    let storage = StreamStorage(attempt.buffer, attempt, progress)
    lock.withLock { last = storage }
    return attempt
  }
}

nonisolated final class StreamAttempt: NetworkBodyReceiver, NetworkRequestHandle, @unchecked Sendable {
  private let base: any NetworkTransport
  private let request: URLRequest
  private let startsWithHead: Bool
  private let teller: ProgressTeller
  private let completion: @Sendable (NetworkOutcome) -> Void
  private let flight = TransferFlight()
  let buffer: ChunkBuffer
  // By the sink's calls, one after the other.
  private var head: HTTPURLResponse?
  private var length: Int64?
  private var count = Int64(0)
  private var errorBody = Data()
  private var isHandedOver = false

  init(
    _ base: any NetworkTransport, _ request: URLRequest, startsWithHead: Bool, _ teller: ProgressTeller,
    _ completion: @escaping @Sendable (NetworkOutcome) -> Void
  ) {
    self.base = base
    self.request = request
    self.startsWithHead = startsWithHead
    self.teller = teller
    self.completion = completion
    #if canImport(FoundationNetworking)
      buffer = ChunkBuffer()
    #else
      buffer = ChunkBuffer { [flight] isUnderPressure in
        guard let task = flight.current as? URLSessionTask else { return }
        if isUnderPressure { task.suspend() } else { task.resume() }
      }
    #endif
  }

  func resume() {
    if flight.wasCancelled { return }
    flight.start { base.prepare(request, NetworkTransferBody(to: self)) { [self] in finished($0) } }
  }

  func cancel() { flight.cancel() }

  func receive(_ head: HTTPURLResponse) throws(NetworkError) {
    self.head = head
    length = DownloadStep.length(head.value(forHTTPHeaderField:))
    if startsWithHead { handOver() }
  }

  func receive(_ data: Data) throws(NetworkError) {
    guard let head else { return }
    if head.statusCode >= 400 {
      errorBody += data.prefix(max(0, 1_048_576 - errorBody.count))
      return
    }
    try buffer.append(data)
    count += Int64(data.count)
    teller.tell(count, of: length)
    handOver()
  }

  func sent(_ bytes: Int64) {}

  private func handOver() {
    guard !isHandedOver, let head, head.statusCode < 400 else { return }
    isHandedOver = true
    completion(NetworkOutcome(data: Data(), response: head, isAccepted: true))
  }

  private func finished(_ outcome: NetworkOutcome) {
    flight.end()
    if isHandedOver {
      if case .failure(let error) = outcome.result(isHead: false, allowEmptyData: true) {
        return buffer.finish(.failure(error))
      }
      teller.finish(count)
      // What is told of the end is told before it.
      return teller.queue.async { [buffer] in buffer.finish(.success(())) }
    }
    var outcome = outcome
    outcome.data = errorBody
    buffer.finish(.success(()))
    completion(outcome)
  }
}
