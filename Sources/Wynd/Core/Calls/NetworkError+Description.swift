public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// These texts end up in logs and bug reports. None contains a credential of a header field, a query value or anything
// of a body. They contain the path of a URL, which may have a secret: Security.md says how an app masks it.

nonisolated extension NetworkError: NetworkLoggableError, LocalizedError, CustomDebugStringConvertible {
  /// One line for a log.
  public var description: String { Self.oneLine(logText, 10_000) }

  /// The same, with a line for each attempt.
  public var debugDescription: String {
    attempts.reduce("NetworkError: \(self)") { text, attempt in "\(text)\n  \(attempt)" }
  }

  private var logText: String {
    switch self {
    case .urlError(let error):
      "\(summary) (URLError \(error.code.rawValue)\(Self.failingURL(of: error)))"
    case .endpointError(let response, let data):
      "\(NetworkResponse(data: data ?? Data(), response: response))\(Self.allowedMethods(response))"
    case .noResponseData(let response): "no body: \(NetworkResponse(data: Data(), response: response))"
    case .serviceError(let error, let response, let data), .undecodable(let error, let response, let data):
      "\(Self.reason(error)): \(NetworkResponse(data: data, response: response))"
    case .noResponse, .invalidResponseType: "no HTTP response"
    case .responseTooLarge(let limit): "a line, or unread data, of over \(limit) bytes"
    case .invalidRequest(let reason): "invalid request: \(reason)"
    case .middlewareError(let e), .transferFailed(let e), .generalError(let e): "The request failed: \(Self.reason(e))"
    case .mappedError(let error, let cause): "The request failed: \(Self.reason(error)): \(cause)"
    case .inaccessible(let failure): failure.description
    case .cancelled: "canceled"
    }
  }

  /// What the server says about the methods that it accepts, after a 405 (RFC 9110 §10.2.1).
  private static func allowedMethods(_ response: HTTPURLResponse) -> String {
    guard response.statusCode == 405, let methods = response.networkValue(of: "Allow") else { return "" }
    return ", Allow: \(oneLine(methods, 100))"
  }

  private static func failingURL(of error: URLError) -> String {
    guard let url = error.failingURL else { return "" }
    return ", \(url.redactedForLog)"
  }

  /// The text of an app's error may contain anything, even a token, so only its type, case and code are printed. Of a
  /// `DecodingError`, the place and the types are printed: "users[3].email: expected String, found null".
  private static func reason(_ error: any Error) -> String {
    switch error as? DecodingError {
    case .typeMismatch(let type, let info), .valueNotFound(let type, let info):
      // "Expected to decode Int but found a string instead." The app's own types may write anything here.
      let got = ["string", "number", "bool", "array", "dictionary", "null"].first(where: info.debugDescription.contains)
      return "\(place(info.codingPath)): expected \(type), found \(got ?? "another type")"
    case .keyNotFound(let key, let info): return "\(place(info.codingPath + [key])): is missing"
    case .dataCorrupted(let info):
      let cause = (info.underlyingError as? any NetworkLoggableError)?.description ?? fixedReason(info)
      return "\(place(info.codingPath)): is not valid" + (cause.map { " (\($0))" } ?? "")
    default:
      if let error = error as? any NetworkLoggableError { return error.description }
      let name = caseName(of: error).map { ".\($0)" } ?? ""
      // On Linux, `as NSError` would ask the error for its text.
      return "\(type(of: error))\(name), \(error._domain) \(error._code)"
    }
  }

  /// A sentence of Foundation that contains nothing of the body; nil for any other sentence.
  private static func fixedReason(_ info: DecodingError.Context) -> String? {
    let sentences = [
      "Expected date string to be ISO8601-formatted", "Date string does not match format expected by formatter",
      "Invalid URL string", "Encountered Data is not valid Base64", "Attempted to decode UUID from invalid UUID string",
    ]
    return sentences.first { info.debugDescription.hasPrefix($0) }
  }

  /// The name of an enumeration's case, which is a part of the code. Its associated values may contain anything. Nil
  /// for other types, and where only code of the app could tell the name.
  private static func caseName(of error: any Error) -> String? {
    // Not the error itself: on Apple's platforms, it can always be cast, because it becomes an NSError.
    let type: Any.Type = type(of: error)
    if type is any CustomReflectable.Type { return nil }
    let mirror = Mirror(reflecting: error)
    guard mirror.displayStyle == .enum else { return nil }
    if let label = mirror.children.first?.label { return label }
    let hasOwnText =
      type is any CustomStringConvertible.Type || type is any CustomDebugStringConvertible.Type
      || type is any TextOutputStreamable.Type
    return hasOwnText ? nil : String(describing: error)
  }

  static func place(_ path: [any CodingKey]) -> String {
    let text = path.map { key in
      // A case of an enumeration is a name in the code, and "Index 3" is an element of an array. Any other key, such as
      // that of a dictionary, is from the body.
      let mirror = Mirror(reflecting: key)
      let name = mirror.displayStyle == .enum && mirror.children.isEmpty ? key.stringValue : "…"
      return key.stringValue.hasPrefix("Index ") ? "[\(key.intValue ?? 0)]" : ".\(name)"
    }.joined().trimmingPrefix(".")
    return path.isEmpty ? "the body" : oneLine(String(text), 120)
  }

  static func oneLine(_ text: String, _ limit: Int) -> String {
    let line = String(text.unicodeScalars.prefix(limit)).components(separatedBy: .controlCharacters.union(.newlines))
    return line.joined(separator: " ") + (text.unicodeScalars.count > limit ? "…" : "")
  }

  /// A sentence for people, without codes, and what to do. On Apple's platforms, the sentence for a `URLError` is the
  /// system's own, in the user's language.
  public var errorDescription: String? { sentence + advice }

  private var sentence: String {
    // A log never asks for the text of an app's error, because that runs code of the app.
    if let text = ownText ?? shown?.sentence ?? wrongScheme { return text }
    #if !canImport(FoundationNetworking)
      if let urlError { return urlError.localizedDescription }
    #endif
    return summary
  }

  /// The wrapped error whose sentence people read. A `URLError` that a middleware threw takes precedence.
  private var shown: Self? {
    if case .mappedError(let error as URLError, _) = self { return .urlError(error) }
    // What another request did not find, such as that of a renewal, is not what the person has asked for.
    if case .middlewareError(let error as Self) = self, error.isMistakeOfRequest { return nil }
    return inner
  }

  /// Whether the server rejected the request for another reason than a missing sign-in or permission.
  private var isMistakeOfRequest: Bool {
    guard let statusCode, 400..<500 ~= statusCode else { return false }
    return ![401, 403].contains(statusCode) && !shouldRetry
  }

  private var wrongScheme: String? {
    guard case .urlError(let error) = self, error.code == .unsupportedURL,
      let scheme = error.failingURL?.scheme?.lowercased(), !["http", "https"].contains(scheme)
    else { return nil }
    return "The URL is not valid: the scheme is \(scheme), not http or https."
  }

  /// The text of an error of the app or of its service, which people read in place of this library's.
  private var ownText: String? {
    var own = thrown
    if case .serviceError(let error, _, _) = self { own = error }
    if let own = own as? NetworkError { return own.ownText }
    return (own as? any LocalizedError)?.errorDescription
  }

  private var advice: String {
    switch stopReason {
    case .notSafeToRepeat: " Please check before you send it again."
    // Whether an attempt that the deadline ended is safe to repeat is not known here.
    case .deadline: ""
    default: mayGoAway ? " Please try again later." : ""
    }
  }

  private var mayGoAway: Bool {
    // The author of that text has given the advice.
    if ownText != nil { return false }
    if let thrown = thrown as? any RetryableError { return thrown.shouldRetry }
    return inner?.mayGoAway ?? shouldRetry
  }

  /// What happened, in English.
  private var summary: String {
    if case .invalidRequest(let reason) = self {
      let sentence = Self.oneLine(reason, 1_000)
      return "The request is invalid, and was not sent: \(sentence)" + (sentence.hasSuffix(".") ? "" : ".")
    }
    if isCancellation { return "The request was canceled." }
    if let wrongScheme { return wrongScheme }
    if let urlError { return NetworkErrorMeaning.of(urlError.code).sentence }
    return response.map { NetworkErrorMeaning.of($0).sentence } ?? NetworkErrorMeaning.other.sentence
  }
}

nonisolated extension RetryFailure: CustomStringConvertible, CustomDebugStringConvertible {
  /// One line for a log: the last error, the number of attempts, and why no further one was made.
  public var description: String {
    let skipped = NetworkAttempt.text(skipped: attempts.reduce(0) { $0 + $1.skippedRetries })
    return "\(lastError); gave up on \(method) after attempt \(attempts.count)\(skipped): \(stopReason)"
  }

  /// The same, with a line for each attempt.
  public var debugDescription: String {
    attempts.reduce("RetryFailure: \(self)") { text, attempt in "\(text)\n  \(attempt)" }
  }
}

nonisolated extension NetworkAttempt: CustomStringConvertible {
  /// One line for a log: "#1 at 0 s for 0.02 s: 503 from https://…, 18 bytes; then waited 0.5 s".
  public var description: String {
    let end = error?.description ?? "succeeded"
    let wait = delay.map { "; then waited \($0.logText)\(Self.text(skipped: skippedRetries))" } ?? ""
    return "#\(number) at \(startedAt.logText) for \(duration.logText): \(end)\(wait)"
  }

  static func text(skipped retries: Int) -> String { retries > 0 ? " (skipped retries: \(retries))" : "" }
}

/// An error of this library, whose text contains no secret.
nonisolated protocol NetworkLoggableError: Error, CustomStringConvertible {}
/// A ``NetworkLoggableError`` about a response.
nonisolated protocol NetworkResponseError: NetworkLoggableError { var response: NetworkResponse<Data> { get } }

nonisolated extension URLRequest {
  /// The method, and the URL without what may be secret.
  var redactedForLog: String {
    // A line break in the method would forge a line of the log.
    let method = NetworkRequestValidation.isToken(networkMethod) ? networkMethod : "(no method)"
    return "\(method) \(url?.redactedForLog ?? "(no URL)")"
  }
}

nonisolated extension HTTPURLResponse {
  /// The status and the URL, without what may be secret.
  var redactedForLog: String { "\(statusCode) from \(url?.redactedForLog ?? "(no URL)")" }
}

nonisolated extension URL {
  /// The URL without user, password, fragment and the values of its query.
  var redactedForLog: String {
    guard !isOpaque, var parts = URLComponents(string: absoluteString) else { return "\(scheme ?? ""):…" }
    parts.user = nil
    parts.password = nil
    parts.fragment = nil
    parts.queryItems = parts.queryItems?.map { item in
      // An item without a value is a value itself: "?secret".
      URLQueryItem(name: item.value == nil ? "*" : item.name, value: "*")
    }
    return parts.string ?? "…"
  }

  /// Whether the URL has a scheme, and the rest is not a place: "data:text/plain,secret", "user:secret@host".
  private var isOpaque: Bool {
    let path = path(percentEncoded: true)
    return host == nil && scheme != nil && (!path.hasPrefix("/") || path.contains("@"))
  }
}
