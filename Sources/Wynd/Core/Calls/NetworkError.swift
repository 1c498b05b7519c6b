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
///   print(request.httpMethod ?? "GET", error)         // for logs: no credential in a header, no query value
/// }
/// ```
///
/// The properties unwrap ``inaccessible(_:)``, ``middlewareError(_:_:)`` and ``generalError(_:)``. So ask for
/// ``statusCode``, ``urlError`` or ``serviceError(as:decoder:)`` rather than for a case. ``statusCode``, ``response``
/// and ``data`` never belong to another request, such as the renewal of a credential.
///
/// A minor version may add cases. A `switch` over the cases therefore needs a `default`, or better an
/// `@unknown default`, with which the compiler lists the cases that are missing.
#if hasAttribute(nonexhaustive)
  @nonexhaustive
#endif
nonisolated public indirect enum NetworkError: Swift.Error, Sendable {
  /// URLSession's error. On Linux it has the code that Apple's platforms give for the same failure, with the original
  /// error as `NSUnderlyingErrorKey`.
  case urlError(URLError)
  /// An error of another type: of URLSession, of a middleware, such as that of the renewal of a credential, of a
  /// transfer (a ``TransferError``), or of ``Endpoint/prepare(request:)``.
  case generalError(any Swift.Error)
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
  case inaccessible(RetryFailure)
  /// The caller canceled the call. Do not show this as a failure.
  case cancelled
  /// The URL, a header field or the body is not valid, or the session cannot send the request. Nothing was sent.
  case invalidRequest(reason: String)
  /// The response arrived, but could not be parsed, or the endpoint threw this error while it parsed the response. It is
  /// never retried: a response is parsed after the end of its call, which was a success.
  case undecodable(any Swift.Error, HTTPURLResponse, Data)
  /// A middleware threw the first error in place of the second one, the error of the request. The second one has the
  /// response and the attempts. It decides whether a retry may help, unless the first one is a ``RetryableError``. A
  /// first one that is a ``NetworkError`` says why the renewal of an ``Authentication`` was refused.
  case middlewareError(any Swift.Error, NetworkError)

  // For a new case, the compiler asks only in `logText`. Look also at `received`, `thrown`, `cause`, `delivery`,
  // `ofStatus` (networkData), `summary` and `ownText` (LocalizedError).

  /// Whether a retry may help. Whether the request is safe to repeat is a separate decision (``RepeatSafety``).
  public var shouldRetry: Bool {
    switch self {
    case .urlError(let error): Self.isTransient(error)
    case .endpointError(let response, _): NetworkErrorMeaning.of(response).retry != .never
    default: (thrown as? any RetryableError)?.shouldRetry ?? cause?.shouldRetry ?? false
    }
  }

  /// The status code of the response, if there was one; of the last attempt if the call was retried.
  public var statusCode: Int? { response?.statusCode }

  /// The status and headers of the response, if there was one; of the last attempt if the call was retried. Nil if
  /// that attempt has none; ``attempts`` has those of earlier ones.
  public var response: HTTPURLResponse? { received?.response }

  /// The body of the response, if there was one; of the last attempt if the call was retried.
  public var data: Data? { received?.data }

  /// Every attempt of the call, in order. An error that is not wrapped in a ``RetryFailure`` has none;
  /// ``RetryPolicy/onEvent`` receives them.
  public var attempts: [NetworkAttempt] { failure?.attempts ?? [] }

  /// Why no further attempt was made; nil for an error that is not wrapped in a ``RetryFailure``.
  public var stopReason: RetryFailure.StopReason? { failure?.stopReason }

  /// The wrapped `URLError`, if there is one. One that a middleware threw in place of another error takes precedence.
  public var urlError: URLError? {
    if case .urlError(let error) = self { return error }
    return thrown as? URLError ?? (thrown as? Self)?.urlError ?? cause?.urlError
  }

  /// The error that this one wraps: of URLSession, of parsing, of a middleware or of a transfer. Nil if it has none, such
  /// as for a status code.
  public var underlying: (any Swift.Error)? {
    switch self {
    case .urlError(let error): error
    case .generalError(let error), .middlewareError(let error, _), .undecodable(let error, _, _): error
    case .inaccessible(let failure): failure.lastError.underlying
    default: nil
    }
  }

  /// How long the server asks to wait, counted from the response: `Retry-After`, or the reset of a rate limit that is
  /// used up. Nil if it does not say. A date counts from now if the response has no `Date`.
  public var retryAfter: Swift.Duration? { serverWait(now: Foundation.Date())?.wait }

  /// The wait and the header field that asks for it.
  func serverWait(now: Foundation.Date) -> (wait: Swift.Duration, field: String)? {
    response.flatMap { $0.statusCode >= 400 ? NetworkRetryAfter.wait(asked: $0, now: now) : nil }
  }

  /// Whether the call was canceled, by the caller or by the system. Do not show this as a failure.
  public var isCancellation: Bool {
    if case .cancelled = self { return true }
    return thrown is CancellationError || urlError?.code == .cancelled
  }

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

/// The result of a call: the body of the response, or the error.
public typealias NetworkResult = Swift.Result<Data, NetworkError>

/// An error of a middleware or a transfer that says whether a retry may help. Any other error that they throw is not
/// retried, unless it is a `URLError` or a ``NetworkError``, or stands in place of an error of the request that is.
nonisolated public protocol RetryableError: Swift.Error {
  /// Whether a retry may help.
  var shouldRetry: Bool { get }
}

// An error may wrap others:
//
//     case                          cause                        thrown
//     inaccessible(failure)         the last error of the call
//     middlewareError(error, own)   own, of the same request     error, of the app or of another request
//     generalError(error)                                        error
nonisolated extension NetworkError {
  /// The error of the same request that this one wraps.
  var cause: Self? {
    switch self {
    case .middlewareError(_, let cause): cause
    case .inaccessible(let failure): failure.lastError
    default: nil
    }
  }

  /// The error of a middleware, a transfer or an endpoint.
  var thrown: (any Swift.Error)? {
    switch self {
    case .generalError(let error), .middlewareError(let error, _): error
    default: nil
    }
  }

  /// The error that this one wraps, perhaps that of another request.
  var inner: Self? { cause ?? thrown as? Self ?? (thrown as? URLError).map { .urlError($0) } }

  /// The error of the request, unwrapped from ``middlewareError(_:_:)``. After a refused renewal it remains wrapped, so
  /// that the rejection has no further consequences.
  var unmapped: Self {
    if case .middlewareError(let error, let cause) = self, !(error is NetworkError) { cause.unmapped } else { self }
  }

  /// The error with the URL of its request, if it has none: URLSession names none in a time-out on Linux.
  func naming(_ url: URL?) -> Self {
    guard case .urlError(let error) = self, error.failingURL == nil, let url else { return self }
    var userInfo = error.userInfo
    userInfo[NSURLErrorFailingURLErrorKey] = url
    return .urlError(URLError(error.code, userInfo: userInfo))
  }

  /// All attempts, and why the call gave up.
  var failure: RetryFailure? { if case .inaccessible(let failure) = self { failure } else { cause?.failure } }

  /// The response of the same request. A `NetworkError` that was thrown may belong to another one.
  var received: (response: HTTPURLResponse, data: Data?)? {
    switch self {
    case .noResponseData(let response): return (response, nil)
    case .endpointError(let response, let data): return (response, data)
    case .undecodable(_, let response, let data): return (response, data)
    default: break
    }
    return cause?.received
  }
}
