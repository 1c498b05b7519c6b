public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Every way a call can fail. Catch it so that its type is known:
///
/// ```swift
/// do throws(NetworkError) {
///   let data = try await session.performNetworkRequest(request)
/// } catch {
///   if case .cancelled = error { return }
///   show(error.localizedDescription)          // for the person
///   log.error("\(error)")                     // for the programmer: no credential, no query value
/// }
/// ```
nonisolated public enum NetworkError: Error, Sendable {
  /// URLSession's own error; on Linux normalised to the code that Apple's platforms give for the same fault, with the
  /// original as `NSUnderlyingErrorKey`.
  case urlError(URLError)
  /// URLSession gave an error that is no `URLError`.
  case generalError(any Error)
  /// URLSession gave neither an error nor a response.
  case noResponse
  /// The response is not HTTP (a `file:` or `data:` URL).
  case invalidResponseType(URLResponse)
  /// A 2xx answer without a body where there could have been one; `allowEmptyData: true` accepts it.
  case noResponseData(HTTPURLResponse)
  /// Status 400 and up, with head and body of the answer.
  case endpointError(HTTPURLResponse, Data?)
  /// Retrying stopped while it still failed: the last error, every attempt, and why it stopped.
  indirect case inaccessible(RetryFailure)
  /// The caller cancelled. Not a failure to show.
  case cancelled
  /// No valid URL, header or body could be made of it, or the session cannot carry it. Nothing was sent.
  case invalidRequest(reason: String)
  /// The answer came, and could not be parsed.
  case undecodable(any Error, HTTPURLResponse, Data)
  /// The service's own error type, decoded by an endpoint.
  case serviceError(any Error, HTTPURLResponse, Data)
  /// Thrown by a middleware, a token refresh among them.
  case middlewareError(any Error)
  /// A file or integrity failure of a download or upload.
  case transferFailed(any Error)
  /// The body is larger than the limit, in bytes.
  case responseTooLarge(limit: Int)
}

/// How a call ended that was tried more than once, or that was ended by its deadline, its budget or a long Retry-After.
nonisolated public struct RetryFailure: Error, Sendable {
  /// One attempt: when, how long, how it ended, and how long was waited after it.
  public struct Attempt: Sendable {
    /// Counted from 1.
    public internal(set) var number: Int
    /// When it began, after the call began.
    public internal(set) var startedAt: Duration
    /// From handing the request to the session to its answer.
    public internal(set) var duration: Duration
    /// Why it failed; nil for the one that succeeded.
    public internal(set) var error: NetworkError?
    /// The wait that was begun after it; nil where none was.
    public internal(set) var delay: Duration?
  }

  /// Why no further attempt was made.
  public enum StopReason: Sendable, Equatable {
    /// Another try cannot help.
    case notRetryable
    /// A repetition could have applied the request twice.
    case notSafeToRepeat(method: String)
    /// The body is an `httpBodyStream`, which can be read only once.
    case bodyNotReplayable
    /// ``RetryPolicy/maxRetries`` are used up.
    case maxRetries
    /// Three answers with status 500: a bug that stays.
    case persistentServerError
    /// ``RetryPolicy/maxRetryTime`` is over, or would be before the next attempt.
    case maxRetryTime
    /// No server could be reached for ``RetryPolicy/maxUnreachableTime``.
    case maxUnreachableTime
    /// ``RetryPolicy/deadline`` is over, or would be before the next attempt.
    case deadline
    /// The server asked for a longer wait than ``RetryPolicy/maxRetryAfter`` or the deadline allow: this long.
    case retryAfterTooLong(Duration)
    /// While this call waited for its turn, others found its host still failing, until ``RetryPolicy/maxRetryTime``.
    case budget
    /// The caller cancelled.
    case cancelled
  }

  /// The failure of the last attempt.
  public internal(set) var lastError: NetworkError
  /// Every attempt that was made, in order.
  public internal(set) var attempts: [Attempt]
  /// Why no further attempt was made.
  public internal(set) var stopReason: StopReason
}

/// An error of a middleware that says itself whether another try may help. Without it, none is made.
nonisolated public protocol RetryableError: Error {
  /// May another try help?
  var shouldRetry: Bool { get }
}

nonisolated extension NetworkError {
  /// May another try help? Not: is it safe to repeat; that depends on the request, and ``RetryPolicy`` decides it.
  public var shouldRetry: Bool {
    switch self {
    case .urlError(let error): Self.isTransient(error)
    case .endpointError(let response, _):
      switch response.statusCode {
      case 408, 421, 425, 429,  // took too long · wrong server · too early · too many
        500, 502, 503, 504,  // a bug or a crash · a proxy without its server · overload · a slow server
        444, 499, 520...524, 598, 599:  // the same as said by nginx, Cloudflare and other proxies
        true
      default: false
      }
    case .inaccessible(let failure): failure.lastError.shouldRetry
    case .middlewareError(let error): (error as? any RetryableError)?.shouldRetry ?? false
    default: false
    }
  }

  /// The answer's status code, if there was an answer.
  public var statusCode: Int? { response?.statusCode }

  /// The head of the answer, if there was one; of the last one if the call was retried.
  public var response: HTTPURLResponse? {
    switch self {
    case .noResponseData(let response), .endpointError(let response, _), .undecodable(_, let response, _),
      .serviceError(_, let response, _):
      response
    case .inaccessible(let failure): failure.lastError.response
    default: nil
    }
  }

  /// The body of the answer, if there was one; of the last one if the call was retried.
  public var data: Data? {
    switch self {
    case .endpointError(_, let data): data
    case .undecodable(_, _, let data), .serviceError(_, _, let data): data
    case .inaccessible(let failure): failure.lastError.data
    default: nil
    }
  }

  /// Every attempt of a call that was retried; empty for an error that came back as itself.
  public var attempts: [RetryFailure.Attempt] {
    if case .inaccessible(let failure) = self { failure.attempts } else { [] }
  }

  /// Why retrying stopped; nil for an error that came back as itself.
  public var stopReason: RetryFailure.StopReason? {
    if case .inaccessible(let failure) = self { failure.stopReason } else { nil }
  }

  /// The `URLError` behind it, if there is one.
  public var urlError: URLError? {
    switch self {
    case .urlError(let error): error
    case .inaccessible(let failure): failure.lastError.urlError
    default: nil
    }
  }

  /// No server was reached: the user's connection, or a host that does not exist or does not listen.
  var isUnreachable: Bool {
    switch urlError?.code {
    case .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .notConnectedToInternet, .internationalRoamingOff,
      .callIsActive, .dataNotAllowed:
      true
    default: false
    }
  }

  /// The host is failing, as far as this tells: it had the request, and did not serve it.
  var burdensHost: Bool { shouldRetry && !provesNothingSent && ![421, 425].contains(statusCode) }

  var provesNothingSent: Bool { isUnreachable || urlError?.code == .secureConnectionFailed }

  var isCancellation: Bool {
    if case .cancelled = self { true } else { urlError?.code == .cancelled }
  }

  private static func isTransient(_ error: URLError) -> Bool {
    #if !canImport(FoundationNetworking)
      // Low Data Mode or a cellular switch: the user's own setting, which no waiting changes.
      if error.networkUnavailableReason != nil { return false }
      // The handshake was refused, or ATS forbids the cipher or version: that stays.
      if error.code == .secureConnectionFailed, let stream = error.userInfo["_kCFStreamErrorCodeKey"] as? Int,
        [-9824, -9801, -9802].contains(stream)
      {
        return false
      }
    #endif
    switch error.code {
    case .unknown, .timedOut, .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .networkConnectionLost,
      .notConnectedToInternet, .internationalRoamingOff, .callIsActive, .dataNotAllowed, .secureConnectionFailed,
      .badServerResponse, .cannotParseResponse, .cannotDecodeContentData, .cannotDecodeRawData:
      return true
    default: return false
    }
  }
}
