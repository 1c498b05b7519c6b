import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// These texts end up in logs and bug reports. None contains a credential of a header field, a query value or anything
// of a body. They contain the path of a URL, which may have a secret: Security.md says how an app masks it.

nonisolated extension NetworkError: NetworkLoggableError, CustomStringConvertible, CustomDebugStringConvertible {
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
    case .undecodable(let error, let response, let data):
      "\(Self.reason(error)): \(NetworkResponse(data: data, response: response))"
    case .noResponse, .invalidResponseType: "no HTTP response"
    case .invalidRequest(let reason): "invalid request: \(reason)"
    case .generalError(let error): "The request failed: \(Self.reason(error))"
    case .middlewareError(let error, let cause): "The request failed: \(Self.reason(error)): \(cause)"
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

  /// The text of an app's error may contain anything, even a token, so only its type and code are printed.
  private static func reason(_ error: any Swift.Error) -> String {
    if let error = error as? any NetworkLoggableError { return error.networkLogText }
    // On Linux, `as NSError` would ask the error for its text.
    return "\(type(of: error)), \(error._domain) \(error._code)"
  }

  static func oneLine(_ text: String, _ limit: Int) -> String {
    let line = String(text.unicodeScalars.prefix(limit)).components(separatedBy: .controlCharacters.union(.newlines))
    return line.joined(separator: " ") + (text.unicodeScalars.count > limit ? "…" : "")
  }
}

/// An error whose log text contains no secret.
nonisolated protocol NetworkLoggableError: Swift.Error { var networkLogText: String { get } }

nonisolated extension NetworkLoggableError where Self: CustomStringConvertible {
  var networkLogText: String { description }
}
