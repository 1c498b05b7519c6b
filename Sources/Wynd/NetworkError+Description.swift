public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// These texts end up in logs and bug reports: none prints a credential, a query value or anything of a body.

nonisolated extension NetworkError: CustomStringConvertible, CustomDebugStringConvertible {
  /// One line for a log.
  public var description: String {
    switch self {
    case .urlError(let error):
      let url = (error.userInfo[NSURLErrorFailingURLErrorKey] as? URL).map { " for \($0.redactedForLog)" } ?? ""
      return (Self.name(of: error.code).map { $0 + ", " } ?? "") + "URLError \(error.code.rawValue)" + url
    case .generalError(let error): return "unknown error: \(Self.kind(of: error))"
    case .noResponse: return "neither an error nor a response"
    case .invalidResponseType(let response):
      return "the response is not HTTP: \(response.url?.redactedForLog ?? "(no URL)")"
    case .noResponseData(let response): return "empty body: \(Self.status(of: response))"
    case .endpointError(let response, let data): return "\(Self.status(of: response)), \(data?.count ?? 0) bytes"
    case .inaccessible(let failure):
      let count = failure.attempts.count == 1 ? "1 attempt" : "\(failure.attempts.count) attempts"
      return "\(failure.lastError); gave up after \(count): \(failure.stopReason)"
    case .cancelled: return "cancelled"
    case .invalidRequest(let reason): return "invalid request: \(reason)"
    case .undecodable(let error, let response, let data):
      return "\(Self.reason(of: error)): \(Self.status(of: response)), \(data.count) bytes"
    case .serviceError(let error, let response, _): return "\(Self.kind(of: error)): \(Self.status(of: response))"
    case .middlewareError(let error): return "middleware failed: \(Self.kind(of: error))"
    case .transferFailed(let error): return "transfer failed: \(Self.kind(of: error))"
    case .responseTooLarge(let limit): return "the body is larger than \(limit) bytes"
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

  private static func status(of response: HTTPURLResponse) -> String {
    "\(response.statusCode) \(HTTPURLResponse.localizedString(forStatusCode: response.statusCode))"
      + (response.url.map { " from \($0.redactedForLog)" } ?? "")
  }

  /// An error that is not ours may hold anything in its texts, a token too: only its type and code are printed.
  private static func kind(of error: any Error) -> String {
    if let error = error as? any LoggableError { return error.description }
    return "\(type(of: error)), \((error as NSError).domain) \((error as NSError).code)"
  }

  private static func name(of code: URLError.Code) -> String? {
    switch code {
    case .timedOut: "timed out"
    case .cancelled: "cancelled by the session"
    case .cannotFindHost, .dnsLookupFailed: "host not found"
    case .cannotConnectToHost: "connection refused"
    case .networkConnectionLost: "connection lost"
    case .notConnectedToInternet: "offline"
    case .secureConnectionFailed: "TLS failed"
    case .serverCertificateUntrusted, .serverCertificateHasUnknownRoot, .serverCertificateHasBadDate,
      .serverCertificateNotYetValid:
      "certificate not trusted"
    case .badServerResponse, .cannotParseResponse: "not an HTTP response"
    case .cannotDecodeContentData, .cannotDecodeRawData: "broken content coding"
    case .httpTooManyRedirects: "too many redirects"
    case .badURL: "invalid URL"
    case .unsupportedURL: "unsupported URL"
    default: nil
    }
  }
}

/// An error of ours, whose text holds no secret.
nonisolated protocol LoggableError: Error, CustomStringConvertible {}
nonisolated extension NetworkError: LoggableError {}

// What could not be decoded: the place and the types, nothing of the body.
nonisolated extension NetworkError {
  /// «users[3].email: expected String, found null»
  private static func reason(of error: any Error) -> String {
    switch error as? DecodingError {
    case .typeMismatch(let type, let context):
      // «Expected to decode Int but found a string instead.» A type of the app's own may put anything there.
      let words = context.debugDescription.components(separatedBy: " found ").dropFirst().first ?? ""
      let found = words.split { !$0.isLetter }.lazy.map(String.init).first(where: kinds.contains)
      return "\(place(context.codingPath)): expected \(type), found \(found ?? "another type")"
    case .valueNotFound(let type, let context):
      return "\(place(context.codingPath)): expected \(type), found null"
    case .keyNotFound(let key, let context): return "\(place(context.codingPath + [key])): is missing"
    case .dataCorrupted(let context):
      // «Cannot initialize Color from invalid String value tok_4711»; a decoder of the app's own may say anything.
      let text = context.debugDescription.components(separatedBy: " value ")[0]
      let isKnown = ["The given data was not valid JSON", "Cannot initialize ", "not text in "].contains {
        text.hasPrefix($0)
      }
      return "\(place(context.codingPath)): \(isKnown ? oneLine(text, 120) : "is not valid")"
    default: return "not decodable: \(kind(of: error))"
    }
  }

  private static let kinds: Set = ["string", "number", "bool", "array", "dictionary", "null", "date", "data"]

  static func place(_ path: [any CodingKey]) -> String {
    let text = path.reduce("") { text, key in
      if let index = key.intValue { return "\(text)[\(index)]" }
      // A case of an enumeration is a name in the code; any other key, as of a dictionary, comes from the body.
      let mirror = Mirror(reflecting: key)
      let isName = mirror.displayStyle == .enum && mirror.children.isEmpty
      return text + (text.isEmpty ? "" : ".") + (isName ? key.stringValue : "…")
    }
    return path.isEmpty ? "the body" : oneLine(text, 120)
  }

  static func oneLine(_ text: String, _ limit: Int) -> String {
    let scalars = text.unicodeScalars.lazy.prefix(limit).map { scalar -> Character in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: " "
      default: Character(scalar)
      }
    }
    return String(scalars) + (text.unicodeScalars.count > limit ? "…" : "")
  }
}

nonisolated extension NetworkError: LocalizedError {
  /// A sentence for the person in front of the screen. On Apple's platforms that of a `URLError` is the system's own, in the
  /// person's language.
  public var errorDescription: String? {
    switch self {
    case .inaccessible(let failure):
      switch failure.stopReason {
      case .retryAfterTooLong(let asked): "The server is busy. Please try again in \(asked.logText)."
      case .notSafeToRepeat:
        failure.lastError.sentence + " The server may have received the request: please check before you send it again."
      default: failure.lastError.errorDescription
      }
    // The app's own text needs no advice of ours.
    case .middlewareError(let error as any LocalizedError) where error.errorDescription != nil: error.errorDescription
    default: sentence + (shouldRetry ? " Please try again later." : "")
    }
  }

  /// What happened, without advice.
  private var sentence: String {
    switch self {
    case .urlError(let error): Self.sentence(of: error)
    case .inaccessible(let failure): failure.lastError.sentence
    case .cancelled: "The request was cancelled."
    case .endpointError(let response, _), .serviceError(_, let response, _):
      switch response.statusCode {
      case 401: "The server asks you to sign in (status 401)."
      case 403: "The server does not allow this (status 403)."
      case 404, 410: "The server does not have this (status \(response.statusCode))."
      case 408, 425, 429, 503, 529: "The server is busy (status \(response.statusCode))."
      case 500...: "The server has a problem (status \(response.statusCode))."
      default: "The server refused the request (status \(response.statusCode))."
      }
    case .noResponse, .invalidResponseType, .noResponseData, .undecodable:
      "The server sent a response that could not be read."
    case .invalidRequest(let reason): "The request could not be made: \(reason)."
    case .middlewareError(let error as NetworkError): error.sentence
    case .middlewareError(let error): (error as? any LocalizedError)?.errorDescription ?? "The request failed."
    case .generalError: "The request failed."
    case .transferFailed: "The file could not be transferred."
    case .responseTooLarge(let limit): "The server's response is larger than \(limit) bytes."
    }
  }

  private static func sentence(of error: URLError) -> String {
    #if canImport(FoundationNetworking)
      switch error.code {
      case .timedOut: "The server did not respond in time."
      case .cannotFindHost, .dnsLookupFailed: "The server was not found."
      case .cannotConnectToHost: "The server could not be reached."
      case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive:
        "There is no internet connection."
      case .networkConnectionLost: "The connection was lost."
      case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
        .serverCertificateHasBadDate, .serverCertificateNotYetValid, .clientCertificateRejected,
        .clientCertificateRequired:
        "No secure connection to the server could be made."
      case .badURL, .unsupportedURL: "The address is not valid."
      default: "The connection failed (code \(error.code.rawValue))."
      }
    #else
      error.localizedDescription
    #endif
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
    case .persistentFailure: "it failed three times in a way that is unlikely to get better"
    case .maxRetryTime: "the time for retries is over"
    case .maxUnreachableTime: "no server could be reached"
    case .deadline: "the deadline leaves no time"
    case .retryAfterTooLong(let asked): "the server asked for a wait of \(asked.logText)"
    case .cancelled: "cancelled by the caller"
    }
  }
}

// A member on a type of Foundation's, so its name is one that no app has.
nonisolated extension URL {
  /// Without user, password, fragment and the values of the query.
  var redactedForLog: String { redactedForLog(showing: []) }

  /// With the values of these query items, unless their names sound like a secret's.
  func redactedForLog(showing shown: Set<String>) -> String {
    guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return "(URL)" }
    // What names no server is all content: «data:text/plain,secret».
    if host == nil, !isFileURL { return (scheme.map { $0 + ":" } ?? "") + "…" }
    parts.user = nil
    parts.password = nil
    parts.fragment = nil
    let query = parts.percentEncodedQuery
    parts.percentEncodedQuery = nil
    let names = query?.split(separator: "&").map { item -> String in
      guard let end = item.firstIndex(of: "=") else { return "…" }
      let name = String(item[..<end])
      return shown.contains(name) && !SensitiveHeader.matches(name) ? String(item) : name + "=…"
    }
    return (parts.string ?? "(URL)") + (names.map { "?" + $0.joined(separator: "&") } ?? "")
  }
}
