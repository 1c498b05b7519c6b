public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Every way a call can fail. Catch it with its type:
///
/// ```swift
/// do throws(NetworkError) {
///   let data = try await session.performNetworkRequest(request)
/// } catch {
///   if case .cancelled = error { return }
///   show(error.localizedDescription)          // a sentence for people
///   log("\(request.httpMethod ?? "GET"): \(error)")     // for logs: no credential in a header, no query value
/// }
/// ```
///
/// The properties unwrap ``inaccessible(_:)``, ``mappedError(_:_:)`` and ``middlewareError(_:)``. So ask for
/// ``statusCode``, ``urlError`` or ``serviceError(as:decoder:)`` rather than for a case. ``statusCode``, ``response``
/// and ``data`` never belong to another request, such as the renewal of a credential.
///
/// A minor version may add cases. A `switch` over the cases therefore needs a `default`, or better an
/// `@unknown default`, with which the compiler lists the cases that are missing.
#if hasAttribute(nonexhaustive)
  @nonexhaustive
#endif
nonisolated public enum NetworkError: Error, Sendable {
  /// URLSession's error. On Linux it has the code that Apple's platforms give for the same failure, with the original
  /// error as `NSUnderlyingErrorKey`.
  case urlError(URLError)
  /// An error of another type, from URLSession or from ``Endpoint/prepare(request:)``.
  case generalError(any Error)
  /// URLSession reported neither an error nor a response.
  case noResponse
  /// The response is not HTTP (a `file:` or `data:` URL).
  case invalidResponseType(URLResponse)
  /// A 2xx response with an empty body: the request succeeded. `allowEmptyData: true` accepts it.
  case noResponseData(HTTPURLResponse)
  /// A status of 400 and up, with the response and its body.
  case endpointError(HTTPURLResponse, Data?)
  /// The call gave up: a retry might help, but no further one was made. It wraps the last error, with every attempt and
  /// the reason.
  indirect case inaccessible(RetryFailure)
  /// The caller canceled the call. Do not show this as a failure.
  case cancelled
  /// The URL, a header field or the body is not valid, or the session cannot send the request. Nothing was sent.
  case invalidRequest(reason: String)
  /// The response arrived, but could not be parsed.
  case undecodable(any Error, HTTPURLResponse, Data)
  /// The service's own error type, decoded by an endpoint.
  case serviceError(any Error, HTTPURLResponse, Data)
  /// Thrown by a middleware, for example by the renewal of a credential.
  case middlewareError(any Error)
  /// A middleware threw the first error in place of the second one, the error of the request. The second one has the
  /// response and the attempts. It decides whether a retry may help, unless the first one is a ``RetryableError``. A
  /// first one that is a ``NetworkError`` says why the renewal of an ``Authentication`` was refused.
  indirect case mappedError(any Error, NetworkError)
  /// A failure of a download or upload that concerns the file: a ``TransferError``.
  case transferFailed(any Error)
  /// A line or an event of a stream is larger than this limit in bytes, or the reader is further behind.
  case responseTooLarge(limit: Int)

  /// Whether a retry may help. Whether the request is safe to repeat is a separate decision (``RepeatSafety``).
  public var shouldRetry: Bool {
    switch self {
    case .urlError(let error): Self.isTransient(error)
    case .endpointError(let response, _), .serviceError(_, let response, _):
      NetworkErrorMeaning.of(response).retry != .never
    case .inaccessible(let failure): failure.lastError.shouldRetry
    case .mappedError(let error, let cause): (error as? any RetryableError)?.shouldRetry ?? cause.shouldRetry
    default: (thrown as? any RetryableError)?.shouldRetry ?? false
    }
  }

  /// The status code of the response, if there was one; of the last attempt if the call was retried.
  public var statusCode: Int? { response?.statusCode }

  /// The status and headers of the response, if there was one; of the last attempt if the call was retried. Nil if
  /// that attempt has none; ``attempts`` has those of earlier ones.
  public var response: HTTPURLResponse? { received?.response }

  /// The body of the response, if there was one; of the last attempt if the call was retried.
  public var data: Data? { received?.data }

  var received: (response: HTTPURLResponse, data: Data?)? {
    switch self {
    case .noResponseData(let response): return (response, nil)
    case .endpointError(let response, let data): return (response, data)
    case .undecodable(_, let response, let data), .serviceError(_, let response, let data): return (response, data)
    default: break
    }
    if let error = thrown as? any NetworkResponseError { return (error.response.response, error.response.data) }
    if case .mappedError(_, let cause) = self { return cause.received }
    // A `NetworkError` inside another case may belong to another request.
    return failure?.lastError.received
  }

  /// Every attempt of the call, in order. An error that is not wrapped in a ``RetryFailure`` has none;
  /// ``RetryPolicy/onEvent`` receives them.
  public var attempts: [NetworkAttempt] { failure?.attempts ?? [] }

  /// Why no further attempt was made; nil for an error that is not wrapped in a ``RetryFailure``.
  public var stopReason: RetryFailure.StopReason? { failure?.stopReason }

  /// The wrapped `URLError`, if there is one. One that a middleware threw in place of another error takes precedence.
  public var urlError: URLError? {
    switch self {
    case .urlError(let error): error
    case .mappedError(let error, let cause):
      error as? URLError ?? (error as? NetworkError)?.urlError ?? cause.urlError
    default: inner?.urlError
    }
  }

  var failure: RetryFailure? {
    switch self {
    case .inaccessible(let failure): failure
    case .mappedError(_, let cause): cause.failure
    default: nil
    }
  }

  /// The error of a middleware, a transfer or an endpoint.
  var thrown: (any Error)? {
    switch self {
    case .middlewareError(let error), .transferFailed(let error), .generalError(let error): error
    case .mappedError(let error, _): error
    default: nil
    }
  }

  /// The error that this one wraps.
  var inner: Self? {
    if case .mappedError(_, let cause) = self { return cause }
    if let failure { return failure.lastError }
    switch thrown {
    case let error as Self: return error
    case let error as URLError: return .urlError(error)
    default: return nil
    }
  }

  /// The error of the request, unwrapped from ``mappedError(_:_:)``. After a refused renewal it remains wrapped, so
  /// that the rejection has no further consequences.
  var unmapped: Self {
    if case .mappedError(let error, let cause) = self, !(error is NetworkError) { cause.unmapped } else { self }
  }

  /// The response with a status of 400 and up that the request failed with, unwrapped. It never belongs to another
  /// request, such as the renewal of a credential.
  var errorResponse: HTTPURLResponse? {
    if case .endpointError(let response, _) = unmapped { response } else { nil }
  }

  /// Whether the call was canceled, by the caller or by the system. Do not show this as a failure.
  public var isCancellation: Bool { if case .cancelled = self { true } else { urlError?.code == .cancelled } }

  private static func isTransient(_ error: URLError) -> Bool {
    #if !canImport(FoundationNetworking)
      // Low Data Mode or a cellular setting: the user's decision, which a retry does not change.
      if error.networkUnavailableReason != nil { return false }
    #endif
    // The server refused the handshake, or ATS forbids the cipher or version: a retry cannot help.
    let isRefused = [-9824, -9801, -9802].contains(error.userInfo["_kCFStreamErrorCodeKey"] as? Int)
    if error.code == .secureConnectionFailed, isRefused { return false }
    return NetworkErrorMeaning.of(error.code).retry != .never
  }
}

/// The last error of a call that gave up, with every attempt and the reason.
nonisolated public struct RetryFailure: Sendable {
  /// Why no further attempt was made.
  public enum StopReason: Sendable, Equatable {
    /// A retry cannot help.
    case notRetryable
    /// The server may have applied the request, and a repetition could apply it twice.
    case notSafeToRepeat(method: String)
    /// The body is an `httpBodyStream`, which can be read only once.
    case bodyNotReplayable
    /// ``RetryPolicy/maxRetries`` is reached, including the retries that the ``RetryBudget`` skipped.
    case maxRetries
    /// Three failures that are unlikely to go away: status 500, a TLS handshake that fails, a response that cannot be
    /// decompressed or is not HTTP.
    case persistentFailure
    /// ``RetryPolicy/maxRetryTime`` is over, or would be before the next attempt.
    case maxRetryTime
    /// No server could be reached for ``RetryPolicy/maxUnreachableTime``.
    case maxUnreachableTime
    /// ``RetryPolicy/deadline`` is over, or would be before the next attempt.
    case deadline
    /// The server asked for this wait, which is longer than ``RetryPolicy/maxRetryAfter`` or the deadline allows.
    case retryAfterTooLong(Swift.Duration)
    /// The caller canceled the call.
    case cancelled

    /// Whether the error of the last attempt is not wrapped, because it explains itself: no retry can help, or a limit
    /// of the policy allows none after a single attempt. The error alone does not show the other reasons.
    func leavesErrorUnwrapped(attempts: Int) -> Bool {
      switch self {
      case .notRetryable: true
      case .maxRetries, .maxRetryTime, .maxUnreachableTime: attempts < 2
      default: false
      }
    }
  }

  /// The failure of the last attempt.
  public internal(set) var lastError: NetworkError
  /// Every attempt that was made, in order.
  public internal(set) var attempts: [NetworkAttempt]
  /// Why no further attempt was made.
  public internal(set) var stopReason: StopReason
  /// The method of the request, for the log.
  var method = "GET"
}

/// An error of a middleware or a transfer that says whether a retry may help. Any other error that they throw is not
/// retried.
nonisolated public protocol RetryableError: Error {
  /// Whether a retry may help.
  var shouldRetry: Bool { get }
}
