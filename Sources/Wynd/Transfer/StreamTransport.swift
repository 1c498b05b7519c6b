import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Ends the transfer when nobody can read it any more.
nonisolated final class StreamStorage: Sendable {
  let buffer: ChunkBuffer
  let progress: Progress
  private let flight: any NetworkFlight
  init(_ buffer: ChunkBuffer, _ flight: any NetworkFlight, _ progress: Progress) {
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
  private let session: URLSession
  private let startsWithHead: Bool
  private let progress = Progress(totalUnitCount: -1)
  private let teller: ProgressTeller
  private let lock = NSLock()
  private var last: StreamStorage?

  init(session: URLSession, startsWithHead: Bool, onProgress: (@Sendable (TransferProgress) -> Void)?) {
    self.session = session
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

  var isOver: Bool { session.isKnownToBeInvalidated }
  func refusal(of request: URLRequest) -> String? { SessionTransport(session: session).refusal(of: request) }

  func send(_ request: URLRequest, completion: @escaping @Sendable (NetworkOutcome) -> Void) -> any NetworkFlight {
    let attempt = StreamAttempt(startsWithHead: startsWithHead, teller, completion)
    // Before it starts: it may have ended, and the next one begun, before `start` comes back.
    let storage = StreamStorage(attempt.buffer, attempt, progress)
    lock.withLock { last = storage }
    attempt.start(session, SessionTransport(session: session).withUsableTimeout(request))
    return attempt
  }
}

nonisolated final class StreamAttempt: NetworkSink, NetworkFlight, @unchecked Sendable {
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
    startsWithHead: Bool, _ teller: ProgressTeller, _ completion: @escaping @Sendable (NetworkOutcome) -> Void
  ) {
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

  func start(_ session: URLSession, _ request: URLRequest) {
    flight.start { session.startNetworkTransfer(request, NetworkCargo(sink: self)) { [self] in finished($0) } }
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
      let failure = outcome.failure(isHead: false, allowEmptyData: true)
      if let failure { return buffer.finish(.failure(failure)) }
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
