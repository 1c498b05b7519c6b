import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One download over all its attempts: each asks for what is still missing.
nonisolated final class Download: NetworkTransport, @unchecked Sendable {
  let session: URLSession
  private let destination: URL
  private let options: DownloadOptions
  private let teller: ProgressTeller

  private let lock = NSLock()
  // Under the lock:
  private var partial: PartialFile?
  private var current: DownloadAttempt?
  private var isClosed = false
  private var best = Int64(0)
  private var isPieced = false
  private var file: URL?

  init(_ session: URLSession, to destination: URL, _ options: DownloadOptions, _ progress: Progress?) {
    self.session = session
    self.destination = destination
    self.options = options
    teller = ProgressTeller(progress, options.onProgress)
  }

  func refusal(of request: URLRequest) -> String? {
    if request.value(forHTTPHeaderField: "Range") != nil { return "a download makes its own Range" }
    if request.httpMethod == "HEAD" { return "an answer to HEAD has no body" }
    return SessionTransport(session: session).refusal(of: request)
  }

  var isOver: Bool { session.isKnownToBeInvalidated }

  func send(_ request: URLRequest, completion: @escaping @Sendable (NetworkOutcome) -> Void) -> any NetworkFlight {
    let attempt = DownloadAttempt(self, request, completion)
    attempt.start()
    return attempt
  }

  /// What to ask for next; the attempt is the one whose pieces count.
  func begin(_ attempt: DownloadAttempt, _ request: URLRequest) throws(TransferError) -> (URLRequest, offset: Int64) {
    let asked: Result<(URLRequest, Int64), TransferError> = lock.withLock {
      do throws(TransferError) {
        let partial = try openPartial(request.url)
        current = attempt
        var request = request
        // Of a body that is compressed on the way, nobody can ask for a part.
        request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        guard partial.size > 0, let validator = partial.state.validator, request.httpMethod ?? "GET" == "GET" else {
          return .success((request, 0))
        }
        best = max(best, partial.size)
        request.setValue("bytes=\(partial.size)-", forHTTPHeaderField: "Range")
        request.setValue(validator, forHTTPHeaderField: "If-Range")
        return .success((request, partial.size))
      } catch {
        return .failure(error)
      }
    }
    return try asked.get()
  }

  private func openPartial(_ url: URL?) throws(TransferError) -> PartialFile {
    if let partial { return partial }
    // Without query and user: those change, or are secret.
    let source = RedirectGuard.origin(url) + (url?.path ?? "")
    let opened = try PartialFile(
      for: destination, source: source, token: options.resumeToken, ifExists: options.ifExists)
    partial = opened
    return opened
  }

  /// The head of an answer: what its body is.
  func step(_ attempt: DownloadAttempt, _ head: HTTPURLResponse, offset: Int64) throws(TransferError) -> DownloadStep {
    try whileCurrent(attempt) { partial throws(TransferError) in
      let step = DownloadStep(status: head.statusCode, offset: offset, known: partial.state) {
        head.value(forHTTPHeaderField: $0)
      }
      switch step {
      case .fromStart(let state): try partial.begin(state)
      case .append(_, let state):
        isPieced = isPieced || offset > 0
        try partial.save(state)
      default: break
      }
      return step
    } ?? .failed
  }

  /// `upTo`: the last byte of the part.
  func append(_ attempt: DownloadAttempt, _ data: Data, upTo last: Int64?) throws(TransferError) {
    let progress = try whileCurrent(attempt) { partial throws(TransferError) -> (Int64, Int64?) in
      let limit = last.map { $0 + 1 } ?? partial.state.total
      if let limit, partial.size + Int64(data.count) > limit { throw .invalidAnswer(reason: "it is too long") }
      try partial.append(data)
      return (partial.size, partial.state.total)
    }
    if let progress { teller.tell(progress.0, of: progress.1) }
  }

  /// No more pieces of this answer. Whether there is more of the file than before, and what is missing.
  func end(_ attempt: DownloadAttempt) -> (hasProgressed: Bool, size: Int64, total: Int64?) {
    lock.withLock {
      guard let partial, current === attempt else { return (false, 0, nil) }
      current = nil
      defer { best = max(best, partial.size) }
      // A piece of at least this size: what comes byte by byte is no progress that retries could live on.
      return (partial.size - best >= 16_384, partial.size, partial.state.total)
    }
  }

  func startOver() throws(TransferError) {
    let result: Result<Void, TransferError> = lock.withLock {
      isPieced = false
      best = 0
      do throws(TransferError) {
        guard let partial, !isClosed else { return .success(()) }
        return .success(try partial.begin(DownloadState(source: partial.state.source)))
      } catch {
        return .failure(error)
      }
    }
    try result.get()
    teller.tell(0, of: nil)
  }

  /// Checks it and puts it where it belongs. False: it was put together from pieces that are no whole, ask again.
  func finish() throws(TransferError) -> Bool {
    guard let partial = lock.withLock({ isClosed ? nil : self.partial }) else { return true }
    teller.tell(partial.size, of: partial.size)
    if let expected = options.sha256 {
      var digest = SHA256Digest()
      try partial.read { digest.update($0) }
      let actual = digest.finish()
      if actual != expected.lowercased() {
        if lock.withLock({ isPieced }) { return false }
        throw .checksumMismatch(actual: actual)
      }
    }
    let moved: Result<Void, TransferError> = lock.withLock {
      do throws(TransferError) {
        // A download that was cancelled leaves no file.
        if !isClosed { file = try partial.move(options.ifExists) }
        return .success(())
      } catch {
        return .failure(error)
      }
    }
    try moved.get()
    return true
  }

  /// The call has ended.
  func close(_ answer: RetryLoop.Answer) -> Result<NetworkDownload, NetworkError> {
    let file = lock.withLock {
      isClosed = true
      current = nil
      partial?.close(isDone: self.file != nil)
      partial = nil
      return self.file
    }
    return answer.flatMap { response in
      guard let file else { return .failure(.transfer(.invalidAnswer(reason: "no file"))) }
      return .success(NetworkDownload(file: file, response: response.response, attempts: response.attempts))
    }
  }

  private func whileCurrent<Value>(
    _ attempt: DownloadAttempt, _ work: (PartialFile) throws(TransferError) -> Value
  ) throws(TransferError) -> Value? {
    let result: Result<Value?, TransferError> = lock.withLock {
      guard let partial, current === attempt else { return .success(nil) }
      do throws(TransferError) { return .success(try work(partial)) } catch { return .failure(error) }
    }
    return try result.get()
  }
}

/// One attempt of a download: one request, or two, if the first answer was no part of the file.
nonisolated final class DownloadAttempt: NetworkSink, NetworkFlight, @unchecked Sendable {
  private let download: Download
  private let request: URLRequest
  private let completion: @Sendable (NetworkOutcome) -> Void

  private let flight = TransferFlight()
  // Set before the request is sent, then by the sink's calls, which come one after the other.
  private var offset = Int64(0)
  private var step: DownloadStep?
  private var errorBody = Data()
  private var hasStartedOver = false

  init(
    _ download: Download, _ request: URLRequest, _ completion: @escaping @Sendable (NetworkOutcome) -> Void
  ) {
    self.download = download
    self.request = request
    self.completion = completion
  }

  func start() {
    do throws(TransferError) {
      step = nil
      errorBody = Data()
      let (asked, offset) = try download.begin(self, request)
      self.offset = offset
      let session = download.session
      let usable = SessionTransport(session: session).withUsableTimeout(asked)
      flight.start { session.startNetworkTransfer(usable, NetworkCargo(sink: self)) { [self] in finished($0) } }
    } catch {
      completion(NetworkOutcome(error: NetworkError.transfer(error)))
    }
  }

  func cancel() { flight.cancel() }

  func receive(_ head: HTTPURLResponse) throws(NetworkError) {
    do throws(TransferError) {
      let step = try download.step(self, head, offset: offset)
      self.step = step
      switch step {
      case .startOver: throw .invalidAnswer(reason: "a part of another version")
      case .invalid(let reason): throw .invalidAnswer(reason: reason)
      default: break
      }
    } catch {
      throw .transfer(error)
    }
  }

  func receive(_ data: Data) throws(NetworkError) {
    do throws(TransferError) {
      switch step {
      case .fromStart: try download.append(self, data, upTo: nil)
      case .append(let last, _): try download.append(self, data, upTo: last)
      case .failed: errorBody += data.prefix(max(0, 1_048_576 - errorBody.count))
      default: break
      }
    } catch {
      throw .transfer(error)
    }
  }

  func sent(_ bytes: Int64) {}

  private func finished(_ outcome: NetworkOutcome) {
    flight.end()
    var outcome = outcome
    let (hasProgressed, size, total) = download.end(self)
    outcome.hasProgressed = hasProgressed
    switch step {
    case .startOver:
      return again(fromStart: true)
    case .failed, .invalid, nil:
      outcome.data = errorBody
    case .complete:
      return complete(outcome)
    case .fromStart, .append:
      guard outcome.error == nil else { break }
      if case .append(let last, _) = step, size == last + 1, size < total ?? .max,
        size - offset >= 65_536 || hasProgressed
      {
        // The server gives parts of a size that it likes.
        return again(fromStart: false)
      }
      if size == total ?? size { return complete(outcome) }
      outcome.error = URLError(.networkConnectionLost)
    }
    completion(outcome)
  }

  private func again(fromStart: Bool) {
    do throws(TransferError) {
      if fromStart { try download.startOver() }
      // A server that changes its mind each time is asked again as any other that fails.
      if fromStart && hasStartedOver || flight.wasCancelled {
        return completion(NetworkOutcome(error: URLError(.networkConnectionLost)))
      }
      hasStartedOver = hasStartedOver || fromStart
      start()
    } catch {
      completion(NetworkOutcome(error: NetworkError.transfer(error)))
    }
  }

  /// Not on a queue that others wait for: a large file takes time to read.
  private func complete(_ outcome: NetworkOutcome) {
    DispatchQueue.global(qos: .utility).async { [self] in
      do throws(TransferError) {
        if try !download.finish() { return again(fromStart: true) }
        completion(NetworkOutcome(data: Data(), response: outcome.response, isAccepted: true))
      } catch {
        completion(NetworkOutcome(error: NetworkError.transfer(error)))
      }
    }
  }
}
