import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The attempts of a download.
nonisolated struct DownloadTransport: NetworkTransport {
  let download: Download
  let base: any NetworkTransport

  func validationError(for request: URLRequest) -> String? {
    if request.value(forHTTPHeaderField: "Range") != nil { return "a download makes its own Range" }
    if request.httpMethod == "HEAD" { return "an answer to HEAD has no body" }
    return base.validationError(for: request)
  }

  var isInvalidated: Bool { base.isInvalidated }

  func prepare(
    _ request: URLRequest, _: NetworkTransferBody?, completion: @escaping Completion
  ) -> any NetworkRequestHandle {
    DownloadAttempt(download, base, request, completion)
  }
}

/// One download over all its attempts: each asks for what is still missing.
nonisolated final class Download: @unchecked Sendable {
  private let destination: URL
  private let options: DownloadOptions
  private let teller: ProgressTeller

  private let lock = NSLock()
  // Under the lock:
  private var partial: PartialFile?
  private var current: DownloadAttempt?
  private var isClosed = false
  private var hasStartedOver = false
  private var whole: URLResponse?
  private var best = Int64(0)
  private var isPieced = false
  private var file: URL?

  init(to destination: URL, _ options: DownloadOptions, _ progress: Progress?) {
    self.destination = destination
    self.options = options
    teller = ProgressTeller(progress, options.onProgress)
  }

  /// What to ask for next; the attempt is the one whose pieces count.
  func begin(_ attempt: DownloadAttempt, _ request: URLRequest) throws(TransferError) -> (URLRequest, offset: Int64) {
    try lock.whileLocked { () throws(TransferError) in
      // It may have been cancelled before it began.
      if isClosed { throw .invalidAnswer(reason: "cancelled") }
      let partial = try openPartial(request.url)
      current = attempt
      var request = request
      // Of a body that is compressed on the way, nobody can ask for a part.
      request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
      guard partial.size > 0, let validator = partial.state.validator, request.httpMethod ?? "GET" == "GET" else {
        return (request, 0)
      }
      request.setValue("bytes=\(partial.size)-", forHTTPHeaderField: "Range")
      request.setValue(validator, forHTTPHeaderField: "If-Range")
      return (request, partial.size)
    }
  }

  private func openPartial(_ url: URL?) throws(TransferError) -> PartialFile {
    if let partial { return partial }
    // Without query and user: those change, or are secret.
    let origin = NetworkOrigin(url)
    let source = origin.text + (url?.path ?? "")
    let opened = try PartialFile(
      for: destination, source: source, token: options.resumeToken, ifExists: options.ifExists)
    partial = opened
    isPieced = opened.size > 0
    best = opened.size
    return opened
  }

  /// The head of an answer: what its body is.
  func step(
    _ attempt: DownloadAttempt, _ head: HTTPURLResponse, offset: Int64, isGET: Bool
  ) throws(TransferError) -> DownloadStep {
    try whileCurrent(attempt) { partial throws(TransferError) in
      let step = DownloadStep(status: head.statusCode, offset: offset, known: partial.state) {
        head.value(forHTTPHeaderField: $0)
      }
      switch step {
      case .fromStart(let state): try partial.begin(state)
      case .append(_, let state):
        guard isGET else { return .invalid("a part, which was not asked for") }
        isPieced = isPieced || offset > 0
        if offset == 0 { try partial.begin(state) } else { try partial.save(state) }
      default: break
      }
      return step
    } ?? .failed
  }

  /// `from`, `upTo`: the first and the last byte of the part.
  func append(
    _ attempt: DownloadAttempt, _ data: Data, from first: Int64, upTo last: Int64?
  ) throws(TransferError) {
    let progress = try whileCurrent(attempt) { partial throws(TransferError) -> (Int64, Int64?) in
      let limit = last.map { $0 + 1 } ?? partial.state.total
      if let limit, partial.size + Int64(data.count) > limit {
        try partial.cut(to: first)
        throw .invalidAnswer(reason: "it is too long")
      }
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

  /// False: once was enough, and what failed has failed.
  func startOver() throws(TransferError) -> Bool {
    defer { teller.tell(0, of: nil) }
    return try lock.whileLocked { () throws(TransferError) in
      defer { (isPieced, hasStartedOver) = (false, true) }
      if let partial, !isClosed { try partial.begin(DownloadState(source: partial.state.source)) }
      return !hasStartedOver
    }
  }

  /// Checks it and puts it where it belongs. False: it was put together from pieces that are no whole, ask again.
  func finish(_ response: URLResponse?) throws(TransferError) -> Bool {
    guard let partial = lock.withLock({ isClosed ? nil : self.partial }) else { return true }
    if let expected = options.sha256 {
      var digest = SHA256Digest()
      try partial.read { digest.update($0) }
      let actual = digest.finish()
      if actual != expected.lowercased() {
        let isPieced = lock.withLock { self.isPieced }
        if try startOver(), isPieced { return false }
        throw .checksumMismatch(actual: actual)
      }
    }
    partial.synchronize()
    try lock.whileLocked { () throws(TransferError) in
      // A download that was cancelled leaves no file.
      if !isClosed { (file, whole) = (try partial.move(options.ifExists), response) }
    }
    teller.finish(partial.size)
    return true
  }

  func afterTelling(_ work: @escaping @Sendable () -> Void) { teller.queue.async(execute: work) }

  /// The call has ended.
  func close(_ answer: RetryLoop.CallResult) -> Result<NetworkDownload, NetworkError> {
    let (file, whole) = lock.withLock {
      isClosed = true
      current = nil
      partial?.close(isDone: self.file != nil)
      partial = nil
      return (self.file, self.whole as? HTTPURLResponse)
    }
    // Also where a cancellation came too late: the file is there.
    if let file, let whole {
      let attempts: [RetryFailure.Attempt]
      switch answer {
      case .success(let response): attempts = response.attempts
      case .failure(let error): attempts = error.attempts
      }
      return .success(NetworkDownload(file: file, response: whole, attempts: attempts))
    }
    return answer.flatMap { _ in .failure(.transferFailed(TransferError.invalidAnswer(reason: "no file"))) }
  }

  private func whileCurrent<Value>(
    _ attempt: DownloadAttempt, _ work: (PartialFile) throws(TransferError) -> Value
  ) throws(TransferError) -> Value? {
    try lock.whileLocked { () throws(TransferError) in
      guard let partial, current === attempt else { return nil }
      return try work(partial)
    }
  }
}

nonisolated extension NSLock {
  /// `withLock` forgets the type of an error.
  fileprivate func whileLocked<Value>(_ work: () throws(TransferError) -> Value) throws(TransferError) -> Value {
    lock()
    defer { unlock() }
    return try work()
  }
}
