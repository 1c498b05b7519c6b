#if canImport(FoundationNetworking)
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// One thing that happened in a call, for logs, metrics, progress texts and tests.
///
/// ```swift
/// var policy = RetryPolicy.default
/// policy.onEvent = { event in print(event) }
/// // [7] GET https://example.com/items #1 (0.31 s): failed with 503 from https://…; safe to repeat: …
/// // [7] GET https://example.com/items #1 (0.31 s): next attempt in 2 s, as the server asked (Retry-After)
/// ```
nonisolated public struct NetworkEvent: Sendable, CustomStringConvertible {
  /// What happened.
  public enum Kind: Sendable {
    /// An attempt has started: its request has been handed to the session, or to the middleware around it. A request that
    /// is not valid is an attempt too, which fails at once and sends nothing. A call that has no request, such as one
    /// whose body cannot be encoded, has no events.
    case attemptStarted
    /// The attempt failed. The second value says whether it is safe to repeat, and why.
    case attemptFailed(NetworkError, RepeatSafety)
    /// Another attempt will be made after a wait, unless the call is canceled or the retry is skipped.
    case willRetry(after: Swift.Duration, DelaySource)
    /// The call has a response with this status code, from the server or a middleware, and no further attempt is made.
    case succeeded(statusCode: Int)
    /// A `load` could not parse the response. This may come after the result of the call.
    case undecodable(NetworkError)
    /// The call ended without success.
    case gaveUp(RetryFailure.StopReason)
  }

  /// What determines the length of a wait.
  public enum DelaySource: Sendable, Equatable {
    /// ``RetryPolicy/backoff``.
    case backoff
    /// The wait that the server asked for in this header field, plus the backoff.
    case server(field: String)
    /// The ``RetryBudget``: the origin fails for several calls, so the retry was skipped.
    case budget
  }

  /// Identifies the call: all its events have the same number. No two calls of a process share one.
  public let callID: Int
  /// The request of the call, with what a client adds to it. Its header fields may hold credentials. `description`
  /// prints none of those, and a log should not either.
  public let request: URLRequest
  /// The number of the attempt, counted from 1; 0 before the first.
  public let attempt: Int
  /// The time since the start of the call.
  public let elapsed: Swift.Duration
  /// What happened.
  public let kind: Kind

  /// One line, without query values or credentials of header fields. It has the path of the URL: if that contains a
  /// secret, mask it before you log the line.
  public var description: String {
    // URL+redactedForLog hides what is secret of a URL, NetworkError+Description what is secret of an error.
    let what =
      switch kind {
      case .attemptStarted: "started"
      case .attemptFailed(let error, let safety):
        "failed with \(error); \(safety.isSafe ? "safe" : "not safe") to repeat: \(safety)"
      case .willRetry(let delay, .backoff): "next attempt in \(delay.logText), by backoff"
      case .willRetry(let delay, .server(let field)): "next attempt in \(delay.logText), as the server asked (\(field))"
      case .willRetry(let delay, .budget): "retry skipped while the origin fails, next attempt in \(delay.logText)"
      case .succeeded(let status): "responded with \(status)"
      case .undecodable(let error): "cannot be parsed: \(error)"
      case .gaveUp(let reason): "gave up: \(reason)"
      }
    return "[\(callID)] \(request.redactedForLog) #\(attempt) (\(elapsed.logText)): \(what)"
  }
}
