// These texts end up in logs and bug reports. None contains a credential, a query value or anything of a body.

nonisolated extension NetworkError: LoggableError, LocalizedError, CustomDebugStringConvertible {
  /// One line for a log.
  public var description: String { Self.oneLine(text, 10_000) }
  private var text: String {
    // The text of an inner error names its own response.
    let own = inner == nil ? received : nil
    let from = own.map { " from \(Self.name(of: $0.response.url)), \($0.data?.count ?? 0) bytes" } ?? ""
    switch self {
    case .urlError(let error):
      let url = (error.userInfo[NSURLErrorFailingURLErrorKey] as? URL).map { " for \($0.redactedForLog)" } ?? ""
      return "\(Self.name(of: error.code).map { $0 + ", " } ?? "")URLError \(error.code.rawValue)\(url)"
    case .endpointError(let response, _): return Self.name(of: response) + from
    case .serviceError(let error, let response, _), .undecodable(let error, let response, _):
      return "\(Self.reason(of: error)): \(Self.name(of: response))\(from)"
    case .noResponse: return "neither an error nor a response"
    case .invalidResponseType(let response): return "the response is not HTTP: \(Self.name(of: response.url))"
    case .noResponseData(let response): return "\(response.statusCode) without a body\(from)"
    case .invalidRequest(let reason): return "invalid request: \(reason)"
    case .responseTooLarge(let limit): return "the body is larger than \(limit) bytes"
    case .transferFailed(let error): return "the file could not be transferred: \(Self.reason(of: error))"
    case .middlewareError(let error): return "a middleware failed: \(Self.reason(of: error))\(from)"
    case .generalError(let error): return "unknown error: \(Self.reason(of: error))"
    case .inaccessible(let failure):
      let count = failure.attempts.count
      return "\(failure.lastError); gave up after \(count) attempt\(count == 1 ? "" : "s"): \(failure.stopReason)"
    case .cancelled: return "canceled"
    }
  }

  /// The same, with a line for each attempt.
  public var debugDescription: String {
    attempts.reduce("NetworkError: \(self)") { text, attempt in
      "\(text)\n  #\(attempt.number) at \(attempt.startedAt.logText) for \(attempt.duration.logText): "
        + "\(attempt.error.map(String.init(describing:)) ?? "succeeded")"
        + (attempt.delay.map { "; then waited \($0.logText)" } ?? "")
    }
  }

  private static func name(of url: URL?) -> String { url?.redactedForLog ?? "(no URL)" }

  private static func name(of response: HTTPURLResponse) -> String {
    "\(response.statusCode) \(HTTPURLResponse.localizedString(forStatusCode: response.statusCode))"
  }

  private static func name(of code: URLError.Code) -> String? {
    switch code {
    case .timedOut: "timed out"
    case .cancelled: "canceled by the session"
    case .cannotFindHost, .dnsLookupFailed: "host not found"
    case .cannotConnectToHost: "connection refused"
    case .networkConnectionLost: "connection lost"
    case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive: "no internet connection"
    case .secureConnectionFailed, .clientCertificateRejected, .clientCertificateRequired: "no secure connection"
    case .serverCertificateUntrusted, .serverCertificateHasUnknownRoot, .serverCertificateHasBadDate,
      .serverCertificateNotYetValid:
      "certificate not trusted"
    case .badServerResponse, .cannotParseResponse: "not an HTTP response"
    case .cannotDecodeContentData, .cannotDecodeRawData: "broken content coding"
    case .httpTooManyRedirects: "too many redirects"
    case .badURL, .unsupportedURL: "invalid URL"
    case .dataLengthExceedsMaximum: "more data than allowed"
    default: nil
    }
  }

  /// The text of an error of the app may contain anything, also a token, so only its type and code are printed, and of
  /// a `DecodingError` the place and the types: "users[3].email: expected String, found null".
  private static func reason(of error: any Error) -> String {
    if let error = error as? any LoggableError { return error.description }
    switch error as? DecodingError {
    case .typeMismatch(let type, let context):
      // "Expected to decode Int but found a string instead." The app's own types may write anything here.
      let words = context.debugDescription.components(separatedBy: " found ").last?.components(separatedBy: " ") ?? []
      let found = words.first { ["string", "number", "bool", "array", "dictionary"].contains($0) }
      return "\(place(context.codingPath)): expected \(type), found \(found ?? "another type")"
    case .valueNotFound(let type, let context): return "\(place(context.codingPath)): expected \(type), found null"
    case .keyNotFound(let key, let context): return "\(place(context.codingPath + [key])): is missing"
    case .dataCorrupted(let context): return "\(place(context.codingPath)): is not valid"
    default: return "\(type(of: error)), \((error as NSError).domain) \((error as NSError).code)"
    }
  }

  static func place(_ path: [any CodingKey]) -> String {
    let text = path.reduce("") { text, key in
      if let index = key.intValue { return "\(text)[\(index)]" }
      // A case of an enumeration is a name in the code. Any other key, such as that of a dictionary, is from the body.
      let mirror = Mirror(reflecting: key)
      let isName = mirror.displayStyle == .enum && mirror.children.isEmpty
      return text + (text.isEmpty ? "" : ".") + (isName ? key.stringValue : "…")
    }
    return path.isEmpty ? "the body" : oneLine(text, 120)
  }

  static func oneLine(_ text: String, _ limit: Int) -> String {
    let line = String(text.unicodeScalars.prefix(limit)).components(separatedBy: .controlCharacters.union(.newlines))
    return line.joined(separator: " ") + (text.unicodeScalars.count > limit ? "…" : "")
  }

  /// A sentence for the person in front of the screen, without codes. On Apple's platforms that of a `URLError` is the
  /// system's own, in the person's language.
  public var errorDescription: String? {
    switch stopReason {
    case .retryAfterTooLong(let asked):
      let minutes = Int((asked.secondsAsDouble / 60).rounded(.up))
      return "The server is busy. Please try again in \(minutes) minute\(minutes == 1 ? "" : "s")."
    case .notSafeToRepeat:
      return sentence + " The server may have received the request. Please check before you send it again."
    // Whether an attempt that the deadline ended is safe to repeat is not known here.
    case .deadline: return sentence
    // Another text contains the advice of its author.
    default: return inner?.errorDescription ?? ownText ?? sentence + (shouldRetry ? " Please try again later." : "")
    }
  }

  /// The text of an error that was thrown by the app's middleware, or by a transfer.
  private var ownText: String? {
    switch self {
    case .middlewareError(let error as any LocalizedError): error.errorDescription
    case .transferFailed(let error as any LoggableError & LocalizedError): error.errorDescription
    default: nil
    }
  }

  /// What happened, without advice.
  private var sentence: String {
    if let text = inner?.sentence ?? ownText { return text }
    switch self {
    case .urlError(let error):
      #if canImport(FoundationNetworking)
        return Self.name(of: error.code).map { "The request failed: \($0)." } ?? "The request failed."
      #else
        return error.localizedDescription
      #endif
    case .endpointError(let response, _), .serviceError(_, let response, _):
      switch response.statusCode {
      case 401: return "The server requires a valid sign-in."
      case 403: return "The server denied access."
      case 404, 410: return "The server could not find the requested item."
      case 413: return "The server does not accept this much data."
      case 429, 502...504, 529: return "The server is busy or not available."
      case 408, 500...: return "The server could not process the request."
      default: return "The server rejected the request."
      }
    case .noResponse, .noResponseData, .invalidResponseType, .undecodable, .responseTooLarge:
      return "The server sent a response that could not be read."
    case .invalidRequest: return "The request is not valid, and was not sent."
    case .transferFailed: return "The file could not be transferred."
    case .cancelled: return "The request was canceled."
    default: return "The request failed."
    }
  }
}

nonisolated extension RetryFailure.StopReason: CustomStringConvertible {
  /// The reason in words.
  public var description: String {
    switch self {
    case .notRetryable: "a retry cannot help"
    case .notSafeToRepeat(let method):
      "\(method) may have been applied and was not repeated; an Idempotency-Key or retriesNonIdempotent would allow it"
    case .bodyNotReplayable: "an httpBodyStream can be sent only once"
    case .maxRetries: "no retries are left"
    case .persistentFailure: "it failed three times with an error that is unlikely to go away"
    case .maxRetryTime: "the time for retries is over"
    case .maxUnreachableTime: "no server could be reached"
    case .deadline: "the deadline leaves no time for another attempt"
    case .retryAfterTooLong(let asked): "the server asked for a wait of \(asked.logText)"
    case .cancelled: "canceled by the caller"
    }
  }
}

/// An error of this library, whose text contains no secret.
nonisolated protocol LoggableError: Error, CustomStringConvertible {}
/// A ``LoggableError`` about a response.
nonisolated protocol ResponseError: LoggableError { var response: NetworkResponse { get } }

// This extends a type of Foundation, so the name must not collide with one of the app.
nonisolated extension URL {
  /// The URL without user, password, fragment and the values of its query.
  var redactedForLog: String {
    guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return "(URL)" }
    // A URL without a host is all content: "data:text/plain,secret".
    if host == nil, !isFileURL { return (scheme.map { $0 + ":" } ?? "") + "…" }
    for part in [\URLComponents.user, \.password, \.fragment] { parts[keyPath: part] = nil }
    let query = parts.percentEncodedQuery.map {
      "?" + $0.replacingOccurrences(of: "([^&=]*=)[^&]*|[^&]+", with: "$1…", options: .regularExpression)
    }
    parts.percentEncodedQuery = nil
    return (parts.string ?? "(URL)") + (query ?? "")
  }
}
