import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Whether it is safe to send a request again, and why (RFC 9110 §9.2.2).
nonisolated public enum RepeatSafety: Sendable, CustomStringConvertible {
  /// The method is idempotent: GET, HEAD, OPTIONS, TRACE, PUT, DELETE or QUERY.
  case idempotentMethod
  /// The request has an Idempotency-Key, the same in every attempt, so the server recognizes a repetition.
  case idempotencyKey
  /// The request is declared to only read, although its method does not say so (``NetworkCallPlan/isReadOnly``).
  case readOnly
  /// The failure proves that no server received the request.
  case nothingSent
  /// The server refused the request before processing it (413, 421, 425, 429).
  case refusedBeforeProcessing
  /// ``RetryPolicy/retriesNonIdempotent`` allows it.
  case allowedByPolicy
  /// The server may have applied the request: a repetition could place an order twice.
  case mayHaveBeenApplied

  /// False only for ``mayHaveBeenApplied``.
  public var isSafe: Bool { self != .mayHaveBeenApplied }

  /// The reason in words.
  public var description: String {
    switch self {
    case .idempotentMethod: "the method is idempotent"
    case .idempotencyKey: "the request has an Idempotency-Key"
    case .readOnly: "the request only reads"
    case .nothingSent: "nothing was sent"
    case .refusedBeforeProcessing: "the server refused it before processing"
    case .allowedByPolicy: "the policy allows it"
    case .mayHaveBeenApplied: "the server may have applied it"
    }
  }
}

nonisolated extension RepeatSafety {
  /// Why the request may be repeated whatever has happened to it; nil if that depends on what has happened.
  static func regardlessOfFailure(_ request: URLRequest) -> RepeatSafety? {
    if idempotentMethods.contains(request.networkMethod) { return .idempotentMethod }
    return hasIdempotencyKey(request) ? .idempotencyKey : nil
  }
  private static let idempotentMethods = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"]

  static func hasIdempotencyKey(_ request: URLRequest) -> Bool {
    let keys = ["Idempotency-Key", "X-Idempotency-Key"].compactMap(request.value(forHTTPHeaderField:))
    // A blank value is not sent, so it protects nothing.
    return keys.contains { !$0.allSatisfy(\.isWhitespace) }
  }

  /// Why the failure of an attempt proves that the server has not applied its request; nil if it does not.
  static func proven(by error: NetworkError, in outcome: NetworkOutcome) -> RepeatSafety? {
    // The error concerns the last server only: a POST may have been applied before the redirect.
    if outcome.hasFollowedRedirect { return nil }
    if outcome.mayBeApplied { return nil }
    switch error {
    // The error of another request, or of another call with attempts of its own.
    case .middlewareError, .inaccessible: return nil
    case .mappedError(_, let cause): return proven(by: cause, in: outcome)
    default: break
    }
    if error.failedBeforeSending, !outcome.mayHaveSent { return .nothingSent }
    return [413, 421, 425, 429].contains(error.statusCode) ? .refusedBeforeProcessing : nil
  }
}
