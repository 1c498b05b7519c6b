import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Checks what URLSession does not check. A space or a line break in a method or a header field could forge another
/// request.
nonisolated enum NetworkRequestValidation {
  /// Why the request cannot be sent; nil if it can.
  static func invalidReason(of request: URLRequest) -> String? {
    guard let url = request.url else { return "it has no URL" }
    // A URLProtocol of the app may handle other schemes.
    if let scheme = url.scheme?.lowercased(), ["ftp", "ftps", "ws", "wss"].contains(scheme) {
      return "the scheme is \(scheme), not http or https"
    }
    guard isToken(request.networkMethod) else { return "the method is not a token (RFC 9110 §5.6.2)" }
    // URLSession fails such a request without sending it, and does not say why.
    let hasBody = request.httpBody?.isEmpty == false || request.httpBodyStream != nil
    if hasBody, ["GET", "HEAD"].contains(request.networkMethod) {
      return "\(request.networkMethod) cannot have a body: URLSession does not send it"
    }
    var size = url.absoluteString.utf8.count
    for (name, value) in request.allHTTPHeaderFields ?? [:] {
      if let reason = invalidReason(ofField: name, value) { return reason }
      size += name.utf8.count + value.utf8.count
    }
    #if canImport(FoundationNetworking)
      // libcurl sends no head above 1 MB. Its error is the one for a response that is too large.
      if size > 1_000_000 { return "its URL and header fields are larger than 1 MB" }
    #endif
    return nil
  }

  /// Why a header field cannot be sent; nil if it can.
  static func invalidReason(ofField name: String, _ value: String) -> String? {
    guard isToken(name) else { return "the name of a header field is not a token (RFC 9110 §5.6.2)" }
    let forbidden = [0, UInt8(ascii: "\n"), UInt8(ascii: "\r")]
    return value.utf8.contains(where: forbidden.contains) ? "the header field \(name) holds a line break or NUL" : nil
  }

  /// Why the length of the body cannot be sent; nil if it can. With a wrong length, the server would read the rest of
  /// the body as the next request.
  static func invalidReason(ofFraming request: URLRequest) -> String? {
    if request.value(forHTTPHeaderField: "Transfer-Encoding") != nil { return "Transfer-Encoding is set by URLSession" }
    guard let field = request.value(forHTTPHeaderField: "Content-Length") else { return nil }
    guard let length = NetworkDigits.number(field) else { return "Content-Length is not a number" }
    let isRight = request.httpBodyStream != nil || length == request.httpBody?.count ?? 0
    return isRight ? nil : "Content-Length differs from httpBody"
  }

  /// Why a session with this configuration cannot send any request; nil if it can.
  static func invalidReason(of configuration: URLSessionConfiguration) -> String? {
    for (name, value) in NetworkHeaders(configuration.httpAdditionalHeaders).dictionary {
      if let reason = invalidReason(ofField: name, value) { return "of the session: \(reason)" }
      let framesBody = ["content-length", "transfer-encoding"].contains(name.lowercased())
      if framesBody { return "of the session: \(name) is set by URLSession" }
    }
    #if canImport(FoundationNetworking)
      // URLSession converts the value to whole milliseconds for every task, even if the request has its own timeout,
      // and crashes if the result is out of range.
      return 0...1e15 ~= configuration.timeoutIntervalForRequest ? nil : "timeoutIntervalForRequest is out of range"
    #else
      // Only uploads and downloads go on in the background.
      return configuration.identifier == nil ? nil : "a background session has no data tasks"
    #endif
  }

  /// Whether the text is a token: letters, digits and some punctuation (RFC 9110 §5.6.2).
  static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy(tokenCharacters.contains)
  }
  private static let tokenCharacters = Array(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789!#$%&'*+.^_`|~".utf8)
}

nonisolated extension URLRequest {
  /// The method: GET if the request has none.
  var networkMethod: String { httpMethod ?? "GET" }
}
