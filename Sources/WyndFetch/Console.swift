import Foundation
import Wynd

/// What goes to stderr: one line if the call fails, and every event with `-v` or `--events`. On a terminal, a line with
/// the progress or the wait is shown while the call runs.
final class Console: @unchecked Sendable {
  private let isQuiet: Bool
  private let isVerbose: Bool
  private let isJSON: Bool
  private let hasBar: Bool
  private let began = ContinuousClock.now
  private let lock = NSLock()
  // Under the lock.
  private var bar = ""
  private var first: Int64?
  private var drawn = ContinuousClock.now - .seconds(1)

  init(_ options: Options) {
    isQuiet = options.isQuiet
    isVerbose = options.isVerbose
    isJSON = options.isJSON
    hasBar = !isQuiet && !isJSON && isatty(2) == 1
  }

  func onEvent(_ event: NetworkEvent) {
    lock.withLock {
      if isJSON || isVerbose {
        return show(clearing + (isJSON ? EventJSON(event).text : event.description) + "\n" + bar)
      }
      if case .willRetry = event.kind, hasBar { draw("waiting for attempt \(event.attempt + 1); -v shows why") }
    }
  }

  func onProgress(_ progress: TransferProgress) {
    guard hasBar else { return }
    lock.withLock {
      let now = ContinuousClock.now
      // The rate is that of this process: an earlier one may have fetched a part.
      let first = first ?? progress.completed
      self.first = min(first, progress.completed)
      guard now - drawn > .milliseconds(100) || progress.completed == progress.total else { return }
      drawn = now
      draw(ProgressBar.text(progress, since: first, after: now - began))
    }
  }

  /// Leaves a progress bar where it is, and removes any other line.
  func end() {
    lock.withLock {
      if !bar.isEmpty { show(first == nil ? clearing : "\n") }
      bar = ""
    }
  }

  /// No credential and no query value, so that it can be pasted into a report.
  func failed(_ error: NetworkError, _ request: URLRequest, canContinue: Bool) {
    end()
    if isJSON { return Command.note(EventJSON(error, request).text) }
    let hint = canContinue ? "; the same command with -C - continues" : ""
    if case .cancelled = error { return Command.note("wynd-fetch: interrupted" + hint) }
    let text = isVerbose ? error.debugDescription : error.description
    Command.note("wynd-fetch: \(request.httpMethod ?? "GET") \(EventJSON.url(request)): \(text)\(hint)")
  }

  private var clearing: String { bar.isEmpty ? "" : "\u{1B}[2K\r" }
  private func draw(_ text: String) {
    show(clearing + text)
    bar = text
  }
  private func show(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }
}

enum ProgressBar {
  /// `[######--------------]  30 %  60.0 of 200.0 MB  12.3 MB/s  0:11`
  static func text(_ progress: TransferProgress, since first: Int64, after time: Duration) -> String {
    let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
    let rate = Double(max(0, progress.completed - first)) / max(seconds, 0.001)
    func megabytes(_ bytes: Double) -> String { String(format: "%.1f", bytes / 1e6) }
    let done = megabytes(Double(progress.completed))
    guard let expected = progress.total, expected > 0 else { return "\(done) MB  \(megabytes(rate)) MB/s" }
    let share = min(max(Double(progress.completed) / Double(expected), 0), 1)
    let filled = Int(share * 20)
    let left = rate > 0 ? min(Double(expected - progress.completed) / rate, 359_999) : 0
    let (minutes, rest) = Int(max(0, left).rounded(.up)).quotientAndRemainder(dividingBy: 60)
    return "[" + String(repeating: "#", count: filled) + String(repeating: "-", count: 20 - filled)
      + String(format: "] %3d %%  ", Int(share * 100))
      + "\(done) of \(megabytes(Double(expected))) MB  \(megabytes(rate)) MB/s  "
      + String(format: "%d:%02d", minutes, rest)
  }
}

/// An event as one line of JSON.
struct EventJSON: Encodable {
  var event = ""
  var method: String?
  var url: String?
  var attempt: Int
  /// Seconds since the call began.
  var elapsed: Double?
  var error: String?
  var status: Int?
  var isSafeToRepeat: Bool?
  var safety: String?
  /// Seconds.
  var delay: Double?
  var reason: String?

  /// A call that failed.
  init(_ error: NetworkError, _ request: URLRequest) {
    if case .cancelled = error { event = "interrupted" } else { event = "failed" }
    (method, url) = (request.httpMethod, Self.url(request))
    attempt = error.attempts.count
    (self.error, status) = (error.debugDescription, error.statusCode)
    reason = error.stopReason.map { "\($0)" }
  }

  /// Without user, password, fragment and the values of the query.
  static func url(_ request: URLRequest) -> String {
    guard var parts = request.url.flatMap({ URLComponents(url: $0, resolvingAgainstBaseURL: true) }) else { return "" }
    (parts.user, parts.password, parts.fragment) = (nil, nil, nil)
    // As the library's own texts have it.
    parts.queryItems = parts.queryItems?.map { URLQueryItem(name: $0.value == nil ? "*" : $0.name, value: "*") }
    return parts.string ?? ""
  }

  init(_ event: NetworkEvent) {
    (method, url) = (event.request.httpMethod, Self.url(event.request))
    func seconds(_ time: Duration) -> Double {
      (Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18)
    }
    attempt = event.attempt
    elapsed = seconds(event.elapsed)
    switch event.kind {
    case .attemptStarted: self.event = "attemptStarted"
    case .attemptFailed(let error, let safety):
      self.event = "attemptFailed"
      self.error = "\(error)"
      status = error.statusCode
      isSafeToRepeat = safety.isSafe
      self.safety = safety.description
    case .willRetry(let delay, let source):
      self.event = "willRetry"
      self.delay = seconds(delay)
      reason = "\(source)"
    case .succeeded(let statusCode):
      self.event = "succeeded"
      status = statusCode
    case .gaveUp(let reason):
      self.event = "gaveUp"
      self.reason = "\(reason)"
    }
  }

  var text: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
  }
}
