public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// None of these prints a credential or a query value, and of a body only what could not be parsed, bounded and without
// what may be a secret: they end up in logs and bug reports.

nonisolated extension NetworkError: CustomStringConvertible, CustomDebugStringConvertible {
  /// One line, fit for a log.
  public var description: String {
    switch self {
    case .urlError(let error): Self.name(of: error)
    case .generalError(let error): "error of another kind: \(Self.kind(of: error))"
    case .noResponse: "neither an error nor a response"
    case .invalidResponseType(let response): "response is not HTTP: \(response.url?.redactedForLog ?? "(no URL)")"
    case .noResponseData(let response): "empty body: \(Self.head(of: response))"
    case .endpointError(let response, let data): "\(Self.head(of: response)), \(data?.count ?? 0) bytes"
    case .inaccessible(let failure):
      "gave up after \(failure.attempts.count) attempts (\(failure.stopReason)): \(failure.lastError)"
    case .cancelled: "cancelled"
    case .invalidRequest(let reason): "invalid request: \(reason)"
    case .undecodable(let error, let response, let data):
      "\(Self.reason(of: error)) (\(Self.head(of: response)), \(data.count) bytes: \(Self.snippet(of: data)))"
    case .serviceError(let error, let response, _): "\(Self.kind(of: error)): \(Self.head(of: response))"
    case .middlewareError(let error): "middleware failed: \(Self.kind(of: error))"
    case .transferFailed(let error): "transfer failed: \(Self.kind(of: error))"
    case .responseTooLarge(let limit): "body is larger than \(limit) bytes"
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

  private static func head(of response: HTTPURLResponse) -> String {
    "\(response.statusCode) \(HTTPURLResponse.localizedString(forStatusCode: response.statusCode))"
      + (response.url.map { " from \($0.redactedForLog)" } ?? "")
  }

  /// Somebody else's error may say anything in its texts, a token included: only its type and code are printed.
  private static func kind(of error: any Error) -> String {
    if let error = error as? any LoggableError { return error.description }
    return "\(type(of: error)), \((error as NSError).domain) \((error as NSError).code)"
  }
}

/// An error of ours, whose text holds no secret.
nonisolated protocol LoggableError: Error, CustomStringConvertible {}
nonisolated extension NetworkError: LoggableError {}

// What could not be parsed. Whatever comes from the body is one line, bounded, and without what may be a secret.
nonisolated extension NetworkError {
  /// «users[3].email: expected String, found null»
  private static func reason(of error: any Error) -> String {
    switch error as? DecodingError {
    case .typeMismatch(let type, let context): "\(place(context.codingPath)): expected \(type), \(found(context))"
    case .valueNotFound(let type, let context):
      "\(place(context.codingPath)): expected \(type), found "
        + (context.debugDescription.contains("at end") ? "the end of the array" : "null")
    case .keyNotFound(let key, let context): "\(place(context.codingPath + [key])): is missing"
    case .dataCorrupted(let context):
      // «Cannot initialize Color from invalid String value tok_4711»
      "\(place(context.codingPath)): \(oneLine(context.debugDescription.components(separatedBy: " value ")[0], 120))"
    default: "not decodable: \(kind(of: error))"
    }
  }

  static func place(_ path: [any CodingKey]) -> String {
    let text = path.reduce("") { text, key in
      if let index = key.intValue { return "\(text)[\(index)]" }
      let isPlain = !key.stringValue.isEmpty && !key.stringValue.contains { ".[]\"".contains($0) }
      return text + (isPlain ? (text.isEmpty ? "" : ".") + key.stringValue : "[\"\(key.stringValue)\"]")
    }
    return path.isEmpty ? "the body" : oneLine(text, 120)
  }

  /// «Expected to decode Int but found a string instead.» → «found string»
  private static func found(_ context: DecodingError.Context) -> String {
    let parts = context.debugDescription.components(separatedBy: " but found ")
    guard parts.count == 2, let thing = parts[1].components(separatedBy: " instead").first, thing != parts[1] else {
      return oneLine(context.debugDescription, 120)
    }
    return "found \(oneLine(thing.split(separator: " ").last.map(String.init) ?? thing, 40))"
  }

  /// It ends at the first name that sounds like a secret; what is long and looks like a token is left out.
  private static func snippet(of data: Data) -> String {
    var text = oneLine(String(decoding: data.prefix(200), as: UTF8.self), 200)
    if let end = secretName(in: text) { return text[..<end] + "…" }
    text = text.replacing(#/[A-Za-z0-9+\/_.=\-]{24,}/#) { match in match.0.contains(where: \.isNumber) ? "…" : match.0 }
    return text + (data.count > 200 ? "…" : "")
  }

  /// Where the first name ends that sounds like a secret's, with what comes between it and its value.
  private static func secretName(in text: String) -> String.Index? {
    text.matches(of: #/([A-Za-z0-9_\-]+)["'\\\]]*\s*[:=>]/#.matchingSemantics(.unicodeScalar))
      .first { RedirectGuard.isCredential(String($0.1), "") }?.range.upperBound
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
  /// A sentence for the person in front of the screen.
  public var errorDescription: String? {
    switch self {
    case .urlError(let error): Self.advice(on: error.code)
    case .inaccessible(let failure):
      if case .retryAfterTooLong(let asked) = failure.stopReason {
        "The server is busy and asks to be left alone for \(asked.logText). Please try again after that."
      } else {
        failure.lastError.errorDescription
      }
    case .cancelled: "The request was cancelled."
    case .endpointError(let response, _), .serviceError(_, let response, _):
      switch response.statusCode {
      case 401: "The server asks you to sign in (status 401)."
      case 403: "The server does not allow this (status 403)."
      case 404, 410: "The server does not have this (status \(response.statusCode))."
      case 408, 425, 429, 503: "The server is busy (status \(response.statusCode)). Please try again later."
      case 500...: "The server has a problem (status \(response.statusCode)). Please try again later."
      default: "The server refused the request (status \(response.statusCode))."
      }
    case .noResponse, .invalidResponseType, .noResponseData, .undecodable:
      "The server's answer could not be understood. Please try again later."
    case .invalidRequest(let reason): "The request could not be made: \(reason)"
    case .generalError, .middlewareError: "The request failed before there was an answer. Please try again."
    case .transferFailed: "The file could not be transferred."
    case .responseTooLarge(let limit): "The server's answer is larger than \(limit) bytes."
    }
  }
}

nonisolated extension RetryFailure.StopReason: CustomStringConvertible {
  /// The reason in words.
  public var description: String {
    switch self {
    case .notRetryable: "another try cannot help"
    case .notSafeToRepeat(let method):
      "\(method) may have been applied already; send an Idempotency-Key, or set retriesNonIdempotent, to allow a repeat"
    case .bodyNotReplayable: "an httpBodyStream can be sent only once"
    case .maxRetries: "all retries are used up"
    case .persistentServerError: "three answers with status 500"
    case .maxRetryTime: "the time for retries is over"
    case .maxUnreachableTime: "no server could be reached"
    case .deadline: "the deadline leaves no time"
    case .retryAfterTooLong(let asked): "the server asked for a wait of \(asked.logText)"
    case .budget: "the host failed for all the time that retries have"
    case .cancelled: "cancelled by the caller"
    }
  }
}

// Members of our own type: an app may well have a `URLError.name` of its own.
nonisolated extension NetworkError {
  private static func name(of error: URLError) -> String {
    let name: String? =
      switch error.code {
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
      case .badServerResponse, .cannotParseResponse: "answer is not HTTP"
      case .cannotDecodeContentData, .cannotDecodeRawData: "content coding is broken"
      case .httpTooManyRedirects: "too many redirects"
      case .badURL, .unsupportedURL: "URL not supported"
      default: nil
      }
    let url = error.userInfo[NSURLErrorFailingURLErrorKey] as? URL
    return (name.map { $0 + ", " } ?? "") + "URLError \(error.code.rawValue)"
      + (url.map { " for \($0.redactedForLog)" } ?? "")
  }

  private static func advice(on code: URLError.Code) -> String {
    switch code {
    case .timedOut: "The server did not answer in time. Please try again later."
    case .cannotFindHost, .dnsLookupFailed: "The server was not found. Please check the address and your connection."
    case .cannotConnectToHost: "The server could not be reached. Please try again later."
    case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive:
      "There is no internet connection. Please check it and try again."
    case .networkConnectionLost: "The connection was lost. Please try again."
    case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
      .serverCertificateHasBadDate, .serverCertificateNotYetValid, .clientCertificateRejected,
      .clientCertificateRequired:
      "No secure connection to the server could be made (code \(code.rawValue))."
    case .badURL, .unsupportedURL: "The address is not valid."
    default: "The connection failed (code \(code.rawValue)). Please try again later."
    }
  }
}

nonisolated extension URL {
  /// Without user, password, fragment and the values of the query.
  var redactedForLog: String { redactedForLog(showing: []) }

  /// With the values of these query items, unless their names sound like a secret's.
  func redactedForLog(showing shown: Set<String>) -> String {
    guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return "(URL)" }
    // What is no address of a server is all content: «data:text/plain,secret».
    if host == nil, !isFileURL { return (scheme.map { $0 + ":" } ?? "") + "…" }
    parts.user = nil
    parts.password = nil
    parts.fragment = nil
    let query = parts.percentEncodedQuery
    parts.percentEncodedQuery = nil
    let names = query?.split(separator: "&").map { item -> String in
      guard let end = item.firstIndex(of: "=") else { return "…" }
      let name = String(item[..<end])
      return shown.contains(name) && !RedirectGuard.isCredential(name, "") ? String(item) : name + "=…"
    }
    return (parts.string ?? "(URL)") + (names.map { "?" + $0.joined(separator: "&") } ?? "")
  }
}
