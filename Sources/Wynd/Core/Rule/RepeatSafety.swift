import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Whether it is safe to send a request again, and why (RFC 9110 §9.2.2).
nonisolated public enum RepeatSafety: Sendable, CustomStringConvertible {
  /// The method is idempotent: GET, HEAD, OPTIONS, TRACE, PUT, DELETE or QUERY, and the request is not declared to
  /// change something although its method says that it only reads (``NetworkCallPlan/isReadOnly``).
  case idempotentMethod
  /// The request has an Idempotency-Key, the same in every attempt, so the server recognizes a repetition.
  case idempotencyKey
  /// The failure proves that no server received the request.
  case nothingSent
  /// The server refused the request before processing it (413, 421, 425, 429, and 403 with Retry-After or with a reset
  /// field and `X-RateLimit-Remaining: 0`).
  case refusedBeforeProcessing
  /// The request is declared to only read, although its method does not say so (``NetworkCallPlan/isReadOnly``).
  case readOnly
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
  /// The rule. The first row that applies decides. `isReadOnly`: what the request is declared to do; nil means what its
  /// method says.
  init(
    of request: URLRequest, isReadOnly: Bool?, after delivery: NetworkDelivery = .mayHaveBeenApplied,
    retriesNonIdempotent: Bool = false
  ) {
    let method = request.networkMethod
    if (Self.isReadOnly(method) && isReadOnly != false) || ["PUT", "DELETE"].contains(method) {
      self = .idempotentMethod
    } else if Self.hasIdempotencyKey(request) {
      self = .idempotencyKey
    } else if delivery == .notSent {
      self = .nothingSent
    } else if delivery == .refused {
      self = .refusedBeforeProcessing
    } else if isReadOnly == true {
      self = .readOnly
    } else {
      self = retriesNonIdempotent ? .allowedByPolicy : .mayHaveBeenApplied
    }
  }

  /// Whether requests with this method only read: the safe methods (RFC 9110 §9.2.1), and QUERY (RFC 10008).
  static func isReadOnly(_ method: String) -> Bool { ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"].contains(method) }

  static func hasIdempotencyKey(_ request: URLRequest) -> Bool {
    let keys = ["Idempotency-Key", "X-Idempotency-Key"].compactMap(request.value(forHTTPHeaderField:))
    // A blank value is not sent, so it protects nothing.
    return keys.contains { !$0.allSatisfy(\.isWhitespace) }
  }
}

/// What has become of a request that failed, from the session, which sees what was sent (`NetworkOutcome.note`), or from
/// the error (`NetworkErrorMeaning`), to the rule (``RepeatSafety``).
nonisolated enum NetworkDelivery: Sendable {
  /// No server received it.
  case notSent
  /// A server may have received it, and refused it before processing it.
  case refused
  /// A server may have applied it.
  case mayHaveBeenApplied
}
