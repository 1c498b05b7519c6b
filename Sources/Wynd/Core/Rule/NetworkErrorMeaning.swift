import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a status code or a `URLError` code means: for retries, for the safety of a repetition, and for people.
nonisolated struct NetworkErrorMeaning: Sendable {
  enum Retry {
    /// The next response would be the same.
    case never
    /// May help.
    case mayHelp
    /// May help, but the failure is unlikely to go away.
    case atMostTwice
  }

  /// What a failure that is retried says about the server.
  enum Server {
    /// No server was reached.
    case unreachable
    /// The server has probably failed because it is overloaded.
    case overloaded
    /// The failure has nothing to do with the load.
    case unrelatedToLoad
  }

  var retry: Retry
  /// What the failure proves about the request.
  var delivery: NetworkDelivery
  var server: Server
  /// What happened, in English.
  var sentence: String

  init(
    _ sentence: String, _ retry: Retry = .never, _ delivery: NetworkDelivery = .mayHaveBeenApplied,
    _ server: Server = .overloaded
  ) {
    self.retry = retry
    self.delivery = delivery
    self.server = server
    self.sentence = sentence
  }

  /// For an error with neither a code nor a response.
  static let other = Self("The request failed.")
}

nonisolated extension NetworkErrorMeaning {
  static func of(_ response: HTTPURLResponse) -> Self {
    switch response.statusCode {
    // The request succeeded, and must not be sent again by a person who reads this.
    case 200...299: Self(unreadable)
    case 401: Self(signIn)
    // The rate limit of GitHub and other large services.
    case 403 where NetworkRetryAfter.isWaitAsked(by: response): Self(busy, .mayHelp, .refused)
    case 403: Self("The server denied access.")
    case 404, 410: Self("The server could not find the requested item.")
    case 405: Self("The server does not accept this method.")
    // Took too long.
    case 408: Self(notProcessed, .mayHelp)
    // Too large only for now, if the server names a time (RFC 9110 §15.5.14).
    case 413 where NetworkRetryAfter.isWaitAsked(by: response): Self(tooLarge, .mayHelp, .refused)
    case 413: Self(tooLarge, .never, .refused)
    // The wrong one of several servers · too early, before the TLS handshake is complete.
    case 421, 425: Self(rejected, .mayHelp, .refused, .unrelatedToLoad)
    // Too many requests.
    case 429: Self(busy, .mayHelp, .refused)
    // nginx: it closed the connection · the client did.
    case 444, 499: Self(rejected, .mayHelp)
    // A bug or a crash.
    case 500: Self(notProcessed, .atMostTwice)
    // A proxy without its server · overload · a slow server · overload, from other services.
    case 502, 503, 504, 529: Self(busy, .mayHelp)
    // The same, from Cloudflare and other proxies.
    case 520...524, 530, 598, 599: Self(notProcessed, .mayHelp)
    case 500...: Self(notProcessed)
    case 400...: Self(rejected)
    case 1...: Self(unusable)
    default: .other
    }
  }

  /// The exceptions, which depend on more than the code, are in `NetworkError.isTransient`.
  static func of(_ code: URLError.Code) -> Self {
    switch code {
    case .unknown: Self("The request failed.", .mayHelp)
    case .timedOut: Self("The request timed out.", .mayHelp)
    case .networkConnectionLost: Self("The connection was lost.", .mayHelp)
    case .badServerResponse: Self(unusable, .mayHelp)
    case .cannotDecodeRawData, .cannotDecodeContentData, .cannotParseResponse: Self(unusable, .atMostTwice)
    case .cannotFindHost, .dnsLookupFailed: Self("The host was not found.", .mayHelp, .notSent, .unreachable)
    case .cannotConnectToHost:
      Self("The server did not accept the connection.", .mayHelp, .notSent, .unreachable)
    case .notConnectedToInternet, .internationalRoamingOff, .callIsActive, .dataNotAllowed:
      Self("There is no internet connection.", .mayHelp, .notSent, .unreachable)
    // A handshake that failed, or a port without TLS.
    case .secureConnectionFailed: Self(noTLS, .atMostTwice, .notSent, .unrelatedToLoad)
    case .clientCertificateRejected, .clientCertificateRequired: Self(noTLS)
    case .serverCertificateHasBadDate, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
      .serverCertificateNotYetValid:
      Self("The certificate of the server is not trusted.")
    case .userCancelledAuthentication: Self(signIn)
    case .badURL, .unsupportedURL: Self("The URL is not valid.")
    case .httpTooManyRedirects: Self("There were too many redirects.")
    case .requestBodyStreamExhausted: Self("The data to send could not be read to its end.")
    default: .other
    }
  }

  private static let signIn = "The server requires a valid sign-in."
  private static let rejected = "The server rejected the request."
  private static let tooLarge = "The server does not accept this much data."
  private static let busy = "The server is busy or not available."
  private static let notProcessed = "The server could not process the request."
  private static let unreadable = "The server has accepted the request, but its response is empty or cannot be read."
  private static let unusable = "The server sent a response that cannot be used."
  private static let noTLS = "A secure connection was not possible."
}

nonisolated extension NetworkError {
  /// The meaning of the error of the request, unwrapped.
  private var meaning: NetworkErrorMeaning {
    if let code = unmapped.urlError?.code { return .of(code) }
    return response.map { .of($0) } ?? .other
  }

  /// Whether no server was reached: the device is offline, or the host does not exist or refused the connection.
  public var isUnreachable: Bool { meaning.server == .unreachable }

  /// Whether the last attempt timed out, or the call reached its ``RetryPolicy/deadline``.
  public var isTimeout: Bool { urlError?.code == .timedOut || stopReason == .deadline }

  /// The origin probably failed to process the request because it is overloaded.
  var indicatesOverload: Bool { shouldRetry && meaning.server == .overloaded }

  /// Unlikely to go away: a bug in the server, a port without TLS, a response that is not HTTP or is damaged.
  var isPersistent: Bool { meaning.retry == .atMostTwice }

  /// Whether not even the app may ask for a retry: the call was canceled, perhaps with its session, or the next request
  /// would be as invalid as this one.
  var isFinal: Bool { if case .invalidRequest = self { true } else { isCancellation } }

  /// What the error says about its request.
  var delivery: NetworkDelivery {
    switch self {
    // The error of another request, or of another call with attempts of its own.
    case .generalError, .inaccessible: .mayHaveBeenApplied
    case .invalidRequest: .notSent
    case .middlewareError(_, let cause): cause.delivery
    default: meaning.delivery
    }
  }
}
