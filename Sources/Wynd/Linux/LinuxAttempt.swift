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
    static let queue = DispatchQueue(label: "Wynd.LinuxAttempt")

    let session: URLSession
    private let timeout: TimeInterval
    private let completion: @Sendable (NetworkOutcome) -> Void
    // Written before the first task starts, then only on `queue`, and there before the next one starts.
    var request: URLRequest
    var hops = 0
    var isDead = false
    private weak var task: URLSessionTask?
    private var startedAt = DispatchTime.now()
    private var timer: RetryWait?

    init(session: URLSession, request: URLRequest, completion: @escaping @Sendable (NetworkOutcome) -> Void) {
      self.session = session
      self.request = request
      self.completion = completion
      timeout = request.effectiveTimeout(session.configuration)
    }

    /// Called once before anybody else knows the attempt, then on `queue`.
    func start() {
      var outgoing = request
      // URLSession cuts the fraction off, so 0.4 s would end at once: it gets the next whole second, and what is shorter
      // is ours. It also takes only a lower-case scheme.
      outgoing.timeoutInterval = timeout.rounded(.up)
      outgoing.url = outgoing.url?.withLowercaseScheme
      let hop = hops
      let task = session.dataTask(with: outgoing) { [self] data, response, error in
        finished(NetworkOutcome(data: data, response: response, error: error), hop: hop)
      }
      task.delegate = self
      self.task = task
      startedAt = .now()
      if timeout != timeout.rounded(.up), request.isSentAtOnce {
        timer = SystemClock.shared.wait(.clamped(seconds: timeout)) { [self] in headIsDue(hop: hop) }
      }
      task.resume()
    }

    func cancel() { Self.queue.async { [self] in kill() } }

    private func finished(_ outcome: NetworkOutcome, hop: Int) {
      guard let error = outcome.error else { return settle(outcome) }
      // The task of a redirect that was followed ends with -999 too, which is nobody's business.
      guard (error as? URLError)?.code == .cancelled else { return settle(outcome) }
      Self.queue.async { [self] in if hop == hops, !isDead { settle(outcome) } }
    }

    func settle(_ outcome: NetworkOutcome) {
      if let timer { SystemClock.shared.cancel(timer) }
      var outcome = outcome
      outcome.reachedServer = hops > 0
      outcome.error = outcome.error.map { LinuxFault.normalised($0) }
      completion(outcome)
    }

    /// On `queue`.
    func kill() {
      isDead = true
      endTask()
    }

    /// On `queue`. A task of a session with a cache must not be cancelled while it still looks there: that traps.
    func endTask() {
      guard let task else { return }
      let earliest = session.configuration.urlCache == nil ? startedAt : startedAt + .milliseconds(50)
      if earliest > .now() {
        Self.queue.asyncAfter(deadline: earliest) { task.cancel() }
      } else {
        task.cancel()
      }
    }

    /// Before the head of the answer URLSession's counter of expected bytes is 0; after it, its own idle timer rules.
    private func headIsDue(hop: Int) {
      Self.queue.async { [self] in
        guard hop == hops, !isDead, let task, task.countOfBytesExpectedToReceive == 0 else { return }
        settle(NetworkOutcome(error: URLError(.timedOut)))
        kill()
      }
    }
  }

  nonisolated extension URLSession {
    func startAttempt(
      _ request: URLRequest, completion: @escaping @Sendable (NetworkOutcome) -> Void
    ) -> any NetworkFlight {
      let attempt = LinuxAttempt(session: self, request: request, completion: completion)
      attempt.start()
      return attempt
    }

    var refusal: String? {
      // URLSession converts it to whole milliseconds for every task, whatever the request says, and traps.
      let seconds = configuration.timeoutIntervalForRequest
      return seconds >= 0 && seconds <= 1e15 ? nil : "timeoutIntervalForRequest of the session is not a usable number"
    }
  }
#endif
