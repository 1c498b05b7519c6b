// These texts end up in logs and bug reports. None contains a credential, a query value or anything of a body.

nonisolated extension NetworkError: LoggableError, LocalizedError, CustomDebugStringConvertible {
  /// One line for a log.
  public var description: String { Self.oneLine(texts.log, 10_000) }

  /// The same, with a line for each attempt.
  public var debugDescription: String {
    attempts.reduce("NetworkError: \(self)") { text, attempt in
      "\(text)\n  #\(attempt.number) at \(attempt.startedAt.logText) for \(attempt.duration.logText): "
        + (attempt.error?.description ?? "succeeded") + (attempt.delay.map { "; then waited \($0.logText)" } ?? "")
    }
  }

  /// The text of an error of the app may contain anything, also a token, so only its type and code are printed, and of
  /// a `DecodingError` the place and the types: "users[3].email: expected String, found null".
  private static func reason(_ error: any Error) -> String {
    if let error = error as? any LoggableError { return error.description }
    switch error as? DecodingError {
    case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
      // "Expected to decode Int but found a string instead." The app's own types may write anything here.
      let words = context.debugDescription.components(separatedBy: " ")
      let found = words.last { ["string", "number", "bool", "array", "dictionary", "null"].contains($0) }
      return "\(place(context.codingPath)): expected \(type), found \(found ?? "another type")"
    case .keyNotFound(let key, let context): return "\(place(context.codingPath + [key])): is missing"
    case .dataCorrupted(let context): return "\(place(context.codingPath)): is not valid"
    // On Linux, `as NSError` would ask for its text.
    default: return "\(type(of: error)), \(error._domain) \(error._code)"
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
      return "The server is busy. Please try again in \(Int((asked.secondsAsDouble / 60).rounded(.up))) min."
    case .notSafeToRepeat:
      return sentence + " The server may have received the request. Please check before you send it again."
    // Whether an attempt that the deadline ended is safe to repeat is not known here.
    case .deadline: return sentence
    // Another text contains the advice of its author.
    default: return inner?.errorDescription ?? ownText ?? texts.people + (shouldRetry ? " Please try again later." : "")
    }
  }

  private var sentence: String { inner?.sentence ?? ownText ?? texts.people }

  /// The text of an error that was thrown by the app's middleware, or by a transfer. A log never asks for it, because it
  /// runs code of the app.
  private var ownText: String? {
    switch self {
    case .middlewareError(let error as any LocalizedError): error.errorDescription
    case .transferFailed(let error as any LoggableError & LocalizedError): error.errorDescription
    default: nil
    }
  }

  /// The line for a log, and what happened in words for people, without advice.
  private var texts: (log: String, people: String) {
    let (failed, unreadable) = ("The request failed.", "The server sent a response that could not be read.")
    switch self {
    case .urlError(let error):
      let url = (error.userInfo[NSURLErrorFailingURLErrorKey] as? URL).map { ", \($0.redactedForLog)" } ?? ""
      #if canImport(FoundationNetworking)
        let (words, people) = (LinuxFault.sentence(error.code) + " ", LinuxFault.sentence(error.code))
      #else
        // The error brings its text, which may contain anything, so a log has the code only.
        let (words, people) = ("", error.localizedDescription)
      #endif
      return ("\(words)(URLError \(error.code.rawValue)\(url))", people)
    case .endpointError(let response, let data): return (Self.text(response, data), Self.sentence(response.statusCode))
    case .serviceError(let error, let response, let data):
      return ("\(Self.reason(error)): \(Self.text(response, data))", Self.sentence(response.statusCode))
    case .undecodable(let error, let response, let data):
      return ("\(Self.reason(error)): \(Self.text(response, data))", unreadable)
    case .noResponse: return ("neither an error nor a response", unreadable)
    case .invalidResponseType(let response): return ("not HTTP: \(response.url?.redactedForLog ?? "")", unreadable)
    case .noResponseData(let response): return ("no body: \(Self.text(response, nil))", unreadable)
    case .responseTooLarge(let limit): return ("the body is larger than \(limit) bytes", unreadable)
    case .invalidRequest(let reason): return ("invalid request: \(reason)", "The request is invalid, and was not sent.")
    case .transferFailed(let error): return ("transfer failed: \(Self.reason(error))", failed)
    case .middlewareError(let error): return ("middleware failed: \(Self.reason(error))", failed)
    case .generalError(let error): return ("unknown error: \(Self.reason(error))", failed)
    case .inaccessible(let failure):
      return ("\(failure.lastError); gave up after attempt \(failure.attempts.count): \(failure.stopReason)", failed)
    case .cancelled: return ("canceled", "The request was canceled.")
    }
  }

  static func text(_ response: HTTPURLResponse, _ data: Data?) -> String {
    // On Apple's platforms, the phrase of a success is "no error".
    let (code, url) = (response.statusCode, response.url?.redactedForLog ?? "(no URL)")
    let status = code < 400 ? "\(code)" : "\(code) \(HTTPURLResponse.localizedString(forStatusCode: code))"
    return "\(status) from \(url), \(data?.count ?? 0) bytes"
  }

  private static func sentence(_ statusCode: Int) -> String {
    switch statusCode {
    case 401: "The server requires a valid sign-in."
    case 403: "The server denied access."
    case 404, 410: "The server could not find the requested item."
    case 413: "The server does not accept this much data."
    case 429, 502...504, 529: "The server is busy or not available."
    case 408, 500...: "The server could not process the request."
    default: "The server rejected the request."
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
    parts.percentEncodedQuery = parts.percentEncodedQuery?.replacingOccurrences(
      of: "([^&=]*=)[^&]*|[^&]+", with: "$1*", options: .regularExpression)
    return parts.string ?? "(URL)"
  }
}
