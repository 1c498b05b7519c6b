import Foundation
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What happens on the way, on stderr: a line for each event, and below them a bar if somebody is looking.
final class Console: @unchecked Sendable {
  private let isQuiet: Bool
  let isJSON: Bool
  private let hasBar: Bool
  private let began = ContinuousClock.now
  private let lock = NSLock()
  private var bar = ""
  private var first: Int64?
  private var drawn = ContinuousClock.now - .seconds(1)

  init(isQuiet: Bool, isJSON: Bool) {
    self.isQuiet = isQuiet
    self.isJSON = isJSON
    hasBar = !isQuiet && !isJSON && isatty(2) == 1
  }

  var tell: @Sendable (NetworkEvent) -> Void {
    { [self] event in
      if isQuiet { return }
      let text = isJSON ? EventJSON(event).text : event.description
      lock.withLock { show("\u{1B}[2K\r".onlyIf(!bar.isEmpty) + text + "\n" + bar) }
    }
  }

  var progress: @Sendable (TransferProgress) -> Void {
    { [self] progress in
      guard hasBar else { return }
      lock.withLock {
        let now = ContinuousClock.now
        // What an earlier call had fetched is no work of this one.
        let first = first ?? progress.completed
        self.first = min(first, progress.completed)
        guard now - drawn > .milliseconds(100) || progress.completed == progress.total else { return }
        drawn = now
        bar = ProgressBar.text(progress, since: first, after: now - began)
        show("\u{1B}[2K\r" + bar)
      }
    }
  }

  /// Leaves the bar where it is.
  func end() {
    lock.withLock {
      if !bar.isEmpty { show("\n") }
      bar = ""
    }
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

nonisolated extension Console {
  /// Not amid lines of JSON.
  func say(_ text: String) { if !isJSON { Command.note(text) } }

  /// What one would paste into a report: no credential, no query value.
  func failed(_ error: NetworkError, _ request: URLRequest) {
    if isJSON { return Command.note(EventJSON(error, request).text) }
    if case .cancelled = error { return Command.note("wynd: interrupted") }
    Command.note("wynd: \(request.httpMethod ?? "GET") \(EventJSON.url(request))\n\(error.debugDescription)")
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

  /// The end of a call without success.
  init(_ error: NetworkError, _ request: URLRequest) {
    if case .cancelled = error { event = "interrupted" } else { event = "failed" }
    (method, url) = (request.httpMethod, Self.url(request))
    attempt = error.attempts.count
    (self.error, status) = (error.debugDescription, error.statusCode)
    reason = error.stopReason.map { "\($0)" }
  }

  /// Without user, fragment and the values of its query.
  static func url(_ request: URLRequest) -> String {
    guard var parts = request.url.flatMap({ URLComponents(url: $0, resolvingAgainstBaseURL: true) }) else { return "" }
    (parts.user, parts.password, parts.fragment) = (nil, nil, nil)
    parts.queryItems = parts.queryItems?.map { URLQueryItem(name: $0.name, value: "…") }
    return (parts.string ?? "").replacingOccurrences(of: "%E2%80%A6", with: "…")
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

extension String {
  fileprivate func onlyIf(_ condition: Bool) -> String { condition ? self : "" }
}
