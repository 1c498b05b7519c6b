#if canImport(FoundationNetworking)
  import Dispatch
  import Foundation
  import FoundationNetworking

  /// One attempt on swift-corelibs-foundation's URLSession, shielded from its defects: it completes (a 401 with a Basic
  /// challenge does not, there), does not trap when it is cancelled, does not wait out the time-out on a dead connection,
  /// follows redirects by the book and times out when it is told to.
  nonisolated final class LinuxAttempt: NSObject, URLSessionTaskDelegate, NetworkFlight, @unchecked Sendable {
    /// All that starts, cancels or answers a task under way goes through here, one after the other: answering a redirect
    /// of a task that was cancelled before traps, and `cancel()` on URLSession's own queues dead-locks every session.
    /// Not in the default class, where completion handlers of the caller's can hold up every thread, and so a time-out.
    static let queue = DispatchQueue(label: "Wynd.LinuxAttempt", qos: .userInitiated)

    let session: URLSession
    // Where the tasks of a transfer run.
    private let transfers: LinuxTransfers?
    private let timeout: TimeInterval
    private let completion: @Sendable (NetworkOutcome) -> Void
    // Written before the first task starts, then only on `queue`, and there before the next one starts.
    var request: URLRequest
    var file: URL?
    let cargo: NetworkCargo?
    // A redirect may have changed the method, and taken the body.
    var hasBody = true
    var hops = 0
    var isDead = false
    // The task holds the attempt, so this ends with it.
    private var task: URLSessionTask?
    private static let lock = NSLock()
    private var timer: RetryWait?
    // A task of the caller's session that never starts. He cannot see a transfer, which runs on a session of ours: what ends
    // his session ends this, and what waits for its tasks waits for this.
    private var deputy: URLSessionTask?

    init(
      session: URLSession, request: URLRequest, file: URL?, cargo: NetworkCargo? = nil,
      completion: @escaping @Sendable (NetworkOutcome) -> Void
    ) {
      self.session = session
      self.request = request
      self.file = file
      self.cargo = cargo
      transfers = cargo.map { _ in LinuxTransfers.of(session) }
      self.completion = completion
      timeout = Self.timeout(of: request, session.configuration)
      super.init()
      removeCache()
      start()
    }

    /// Once before anybody else knows the attempt, then on `queue`.
    func start() {
      var outgoing = request
      // URLSession cuts the fraction off, so 0.4 s would end at once: it gets the next whole second, and what is shorter
      // is ours. It also takes only a lower-case scheme. What is right already costs no copy.
      if outgoing.timeoutInterval != timeout.rounded(.up) { outgoing.timeoutInterval = timeout.rounded(.up) }
      if let url = outgoing.url.flatMap(Self.withLowercaseScheme) { outgoing.url = url }
      do { try addBody(to: &outgoing) } catch {
        return Self.queue.async { [self] in end(NetworkOutcome(error: NetworkError.transferFailed(error))) }
      }
      let task: URLSessionTask
      if let transfers {
        task = transfers.task(with: outgoing, for: self, hop: hops)
      } else {
        task = session.networkTask(with: outgoing, file: nil) { [self, hop = hops] data, response, error in
          finished(NetworkOutcome(data: data, response: response, error: error, isOnDelegateQueue: true), hop: hop)
        }
        task.delegate = self
      }
      current = task
      if transfers != nil, hops == 0 { sendDeputy() }
      if isTimed {
        Self.queue.async { [self] in
          // Before the head of the answer URLSession's counter of expected bytes is 0; after it, its own idle timer rules.
          startTimer { $0.countOfBytesExpectedToReceive == 0 }
        }
      }
      task.resume()
    }

    /// Once, before anything else can end the attempt.
    private func sendDeputy() {
      // URLSession must know the scheme: else the task would never end.
      guard let nowhere = URL(string: "data:,"), !session.isKnownToBeInvalidated else {
        return Self.queue.async { [self] in end(URLError(.cancelled)) }
      }
      // The delegate queue that this comes on may stand still, and would hold the attempt.
      let task = session.dataTask(with: nowhere) { [weak self] _, _, _ in
        guard let self else { return }
        Self.queue.async { if self.current != nil { self.end(URLError(.cancelled)) } }
      }
      Self.lock.withLock { deputy = task }
    }

    /// A file goes as a stream: URLSession's own way of reading it stops the process if the connection dies meanwhile.
    private func addBody(to request: inout URLRequest) throws {
      if let file {
        let size = try file.resolvingSymlinksInPath().resourceValues(forKeys: [.fileSizeKey]).fileSize
        guard let size, let stream = InputStream(url: file) else { throw CocoaError(.fileReadUnknown) }
        request.setValue(String(size), forHTTPHeaderField: "Content-Length")
        request.httpBodyStream = size > 0 ? stream : nil
        if size == 0 { request.httpBody = Data() }
      } else if hasBody, let stream = cargo?.stream {
        request.httpBodyStream = try stream()
      }
      if let stream = request.httpBodyStream, let length = request.value(forHTTPHeaderField: "Content-Length") {
        guard let bytes = Int64(length), bytes >= 0 else { throw CocoaError(.fileReadUnknown) }
        request.httpBodyStream = ExactStream(stream, bytes)
        // Both fields would be sent, and the server could take the body for the next request. A blank one removes this.
        request.setValue(" ", forHTTPHeaderField: "Transfer-Encoding")
      }
    }

    /// The body can be read only once.
    var sendsStream: Bool { request.httpBodyStream != nil || file != nil || hasBody && cargo?.stream != nil }

    func cancel() { Self.queue.async { [self] in kill() } }

    var incomingBytes: Int64? { cargo == nil ? current?.countOfBytesExpectedToReceive ?? 0 : nil }

    /// Safe on any queue.
    private(set) var current: URLSessionTask? {
      get { Self.lock.withLock { task } }
      set {
        var newValue = newValue
        // The old one is released after the lock.
        Self.lock.withLock { swap(&task, &newValue) }
      }
    }

    func finished(_ outcome: NetworkOutcome, hop: Int) {
      // A response comes only from a task that was not redirected. A failure may also come late from the task of an
      // earlier hop, cancelled or timed out: it must not end the one that runs now.
      guard outcome.error != nil else { return settle(outcome) }
      var outcome = outcome
      outcome.isOnDelegateQueue = false
      Self.queue.async { [self, outcome] in if hop == hops, !isDead { settle(outcome) } }
    }

    func settle(_ outcome: NetworkOutcome) {
      if isTimed || hops > 0 { Self.queue.async { [self] in stopTimer() } }
      var outcome = outcome
      if outcome.response != nil { LinuxConnections.shared.add(carrier, request.url) }
      outcome.mayHaveSent = outcome.error != nil && LinuxConnections.shared.mayHold(carrier, request.url)
      outcome.hasFollowedRedirect = hops > 0
      outcome.error = outcome.error.map { LinuxFault.normalised($0) }
      current = nil
      guard let transfers else { return completion(outcome) }
      transfers.afterPieces { [self, outcome] in
        completion(outcome)
        Self.lock.withLock { deputy }?.cancel()
      }
    }

    /// Whose connections it uses.
    var carrier: URLSession { transfers?.session ?? session }

    /// On `queue`: with an answer that is not the task's.
    func end(_ outcome: NetworkOutcome) {
      guard !isDead else { return }
      kill()
      settle(outcome)
    }
    func end(_ error: URLError) { end(NetworkOutcome(error: error)) }

    /// On `queue`.
    private func kill() {
      isDead = true
      Self.lock.withLock { deputy }?.cancel()
      endTask()
    }

    /// On `queue`.
    func endTask() {
      stopTimer()
      guard let task = current else { return }
      current = nil
      task.cancel()
    }

    /// URLSession looks into a session's cache on a thread of its own, and a cancellation that meets the end of that look
    /// stops the process. There is nothing to find: it stores no answer. So it is not asked.
    private func removeCache() {
      Self.lock.withLock {
        guard let cache = session.configuration.urlCache else { return }
        session.configuration.urlCache = nil
        // A task of the caller's own may be reading it.
        Self.queue.asyncAfter(deadline: .now() + .seconds(60)) { _ = cache }
      }
    }

    /// On `queue`. Ends the attempt after its time-out, if the task is still the current one and `isDue` then.
    func startTimer(isDue: @escaping @Sendable (URLSessionTask) -> Bool = { _ in true }) {
      stopTimer()
      guard !isDead else { return }
      timer = SharedRetryClock.shared.wait(.bounded(seconds: timeout)) { [self, hop = hops] in
        Self.queue.async { [self] in
          if hop == hops, let current, isDue(current) { end(URLError(.timedOut)) }
        }
      }
    }

    /// On `queue`. The clock would hold the attempt, and with it the whole call, until the time-out.
    private func stopTimer() {
      if let timer { SharedRetryClock.shared.cancel(timer) }
      timer = nil
    }

    /// URLSession counts whole seconds, so a fraction is ours to time. A body this small leaves in one piece, so silence
    /// after it is the server's; while a larger one is under way, only URLSession knows whether it moves.
    private var isTimed: Bool {
      timeout != timeout.rounded(.up) && file == nil && cargo?.stream == nil && request.httpBodyStream == nil
        && request.httpBody?.count ?? 0 <= 16_384
    }
  }

  nonisolated extension URLSession {
    func startNetworkAttempt(
      _ request: URLRequest, file: URL?, completion: @escaping @Sendable (NetworkOutcome) -> Void
    ) -> any NetworkFlight {
      LinuxAttempt(session: self, request: request, file: file, completion: completion)
    }

    func startNetworkTransfer(
      _ request: URLRequest, _ cargo: NetworkCargo, completion: @escaping @Sendable (NetworkOutcome) -> Void
    ) -> any NetworkFlight {
      LinuxAttempt(session: self, request: request, file: cargo.file, cargo: cargo, completion: completion)
    }

    /// There is no way to ask, but to look. A later release that stores it elsewhere is taken at its word.
    var isKnownToBeInvalidated: Bool {
      Mirror(reflecting: self).children.first { $0.label == "invalidated" }?.value as? Bool ?? false
    }

    var reasonToRefuseRequests: String? {
      // URLSession converts it to whole milliseconds for every task, whatever the request says, and traps.
      let seconds = configuration.timeoutIntervalForRequest
      return seconds >= 0 && seconds <= 1e15 ? nil : "timeoutIntervalForRequest of the session is not a usable number"
    }
  }
#endif
