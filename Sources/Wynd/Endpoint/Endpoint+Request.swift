public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

nonisolated extension Endpoint {
  /// The URL, of scheme, host, port, path and query.
  ///
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if they do not make one.
  public var url: URL { get throws(NetworkError) { try url(baseURL: nil) } }

  /// The request that is sent.
  ///
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if the URL, a header field or the body is invalid, or what
  ///   ``prepare(request:)`` throws.
  public var request: URLRequest { get throws(NetworkError) { try request(baseURL: nil) } }

  /// The base URL counts where the endpoint has no host; its path comes before the endpoint's.
  func request(baseURL: URL?, encoder: JSONEncoder? = nil) throws(NetworkError) -> URLRequest {
    var request = URLRequest(url: try url(baseURL: baseURL))
    if method != .get { request.httpMethod = method.rawValue }
    for field in headers { try field.add(to: &request) }
    if let body { try body.add(to: &request, encoder: encoder) }
    if acceptsJSON, request.value(forHTTPHeaderField: "Accept") == nil {
      try URLRequest.Header.accept("application/json").add(to: &request)
    }
    do {
      try prepare(request: &request)
    } catch {
      throw error as? NetworkError ?? .middlewareError(error)
    }
    if let invalid = SessionTransport.validationError(for: request) { throw .invalidRequest(reason: invalid) }
    let method = request.httpMethod?.uppercased() ?? "GET"
    if request.httpBody != nil, method == "GET" || method == "HEAD" {
      throw .invalidRequest(reason: "a \(method) has no body; set `method` to POST or another that has one")
    }
    return request
  }

  /// `Data` and `String` are `Decodable` too, but not decoded.
  private var acceptsJSON: Bool {
    let undecoded: [any Any.Type] = [Data.self, Data?.self, String.self, String?.self]
    return Response.self is any Decodable.Type && !undecoded.contains { $0 == Response.self }
  }

  private func url(baseURL: URL?) throws(NetworkError) -> URL {
    let base = host.isEmpty ? baseURL : nil
    if let base, base.query != nil || base.fragment != nil || base.user != nil || port != nil {
      throw .invalidRequest(
        reason: "a base URL has no query, fragment or user, and the port of an endpoint goes with a host")
    }
    let scheme = (base?.scheme ?? scheme).lowercased()
    guard scheme == "https" || scheme == "http" else {
      throw .invalidRequest(reason: "the scheme is not http or https")
    }
    if host.isEmpty, baseURL == nil { throw .missingHost }
    var text = try "\(scheme)://\(EndpointURL.host(base.map { $0.host ?? "" } ?? host))"
    if let port = base == nil ? port : base?.port {
      guard 1...65_535 ~= port else { throw .invalidRequest(reason: "the port is not one of 1 to 65535") }
      text += ":\(port)"
    }
    text += try EndpointURL.path(percentEncodedPath, after: base?.path(percentEncoded: true) ?? "")
    let items: [URLQueryItem]
    do {
      items = try queryItems
    } catch {
      throw .unencodable(error, as: "query")
    }
    if !items.isEmpty { text += "?" + PercentEncoding.query(items) }
    guard let url = URL(string: text) else { throw .invalidRequest(reason: "host and path do not make a URL") }
    return url
  }
}

nonisolated extension NetworkError {
  static var missingHost: NetworkError {
    .invalidRequest(reason: "there is no host: the call names none, and the base URL is nil")
  }
  /// A value that cannot be encoded, with its place.
  static func unencodable(_ error: any Error, as part: String) -> NetworkError {
    switch error {
    case let error as NetworkError: error
    case EncodingError.invalidValue(_, let context):
      .invalidRequest(
        reason: "the \(part) cannot be encoded: \(place(context.codingPath)): \(oneLine(context.debugDescription, 120))"
      )
    default: .invalidRequest(reason: "the \(part) cannot be encoded (\(type(of: error)))")
    }
  }
}

/// Validates the parts of a URL.
nonisolated enum EndpointURL {
  /// A host as it is written in a URL: ASCII, IPv6 in brackets.
  static func host(_ host: String) throws(NetworkError) -> String {
    if host.isEmpty { throw .invalidRequest(reason: "the base URL has no host") }
    if host.contains("://") {
      throw .invalidRequest(reason: "the host contains a scheme; write only the name, and the rest as scheme and path")
    }
    let inner = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    if inner.utf8.contains(58) || inner != host {
      guard isIPv6(inner) else {
        throw .invalidRequest(reason: "the host contains a colon, but is no IPv6 address; write a port as `port`")
      }
      return "[\(inner)]"
    }
    var ascii = host
    if !host.utf8.allSatisfy({ $0 < 128 }) {
      // Foundation knows the encoding of international names (IDNA); before iOS 17 and macOS 14 it did not.
      var components = URLComponents()
      components.scheme = "https"
      components.host = host
      ascii = components.url?.host ?? ""
    }
    let labels = ascii.utf8.split(separator: 46, omittingEmptySubsequences: false)
    guard ascii.utf8.count <= 254, labels.first?.isEmpty == false, !labels.dropLast().contains(where: \.isEmpty),
      ascii.utf8.allSatisfy({ PercentEncoding.isUnreserved($0) && $0 != 126 })
    else {
      throw .invalidRequest(reason: "the host is not a name or an IP address (write an international one as xn--)")
    }
    return ascii
  }

  /// RFC 4291 §2.2: eight groups of hexadecimal digits, once “::” for any number of them, the last two also as IPv4.
  private static func isIPv6(_ text: String) -> Bool {
    let halves = text.components(separatedBy: "::")
    var groups = halves.filter { !$0.isEmpty }.flatMap { $0.split(separator: ":", omittingEmptySubsequences: false) }
    if let last = groups.last, last.contains(".") {
      let bytes = last.split(separator: ".", omittingEmptySubsequences: false)
      guard bytes.count == 4, bytes.allSatisfy({ UInt8($0) != nil && $0.utf8.allSatisfy { 48...57 ~= $0 } }) else {
        return false
      }
      groups.replaceSubrange((groups.count - 1)..., with: ["0", "0"])
    }
    return (halves.count == 2 ? groups.count < 8 : halves.count == 1 && groups.count == 8)
      && groups.allSatisfy { 1...4 ~= $0.utf8.count && $0.utf8.allSatisfy(PercentEncoding.isHexDigit) }
  }

  static func path(_ path: String, after base: String) throws(NetworkError) -> String {
    var rest = path.utf8[...]
    while let byte = rest.popFirst() {
      let isEscape = byte == 37 && rest.count >= 2 && rest.prefix(2).allSatisfy(PercentEncoding.isHexDigit)
      // Encoded paths may contain + and ; (RFC 3986 §3.3).
      guard isEscape || byte == 47 || byte == 43 || byte == 59 || PercentEncoding.isPathCharacter(byte) else {
        throw .invalidRequest(reason: "percentEncodedPath contains a character that must be encoded")
      }
    }
    let isDots = path.utf8.split(separator: 47).contains {
      // Bytes are compared first: decoding every segment would take as long as all the rest.
      $0.count <= 6 && $0.allSatisfy(".%2eE".utf8.contains)
        && [".", ".."].contains(String($0)?.removingPercentEncoding)
    }
    if isDots { throw .invalidRequest(reason: "a segment of the path is “.” or “..” and would change the path") }
    if path.isEmpty { return base.isEmpty ? "/" : base }
    return (base.hasSuffix("/") ? String(base.dropLast()) : base) + (path.hasPrefix("/") ? "" : "/") + path
  }
}

/// Encodes text for a URL (RFC 3986 §2).
nonisolated enum PercentEncoding {
  /// All but letters, digits and `-._~`.
  static func text(_ text: String) -> String { encode(text, isUnreserved) }
  static func path(_ path: String) -> String { encode(path) { $0 == 47 || isPathCharacter($0) } }
  static func query(_ items: [URLQueryItem]) -> String {
    items.map { text($0.name) + ($0.value.map { "=" + text($0) } ?? "") }.joined(separator: "&")
  }

  private static let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
  static func isUnreserved(_ byte: UInt8) -> Bool { unreserved.contains(byte) }
  static func isHexDigit(_ byte: UInt8) -> Bool { "0123456789ABCDEFabcdef".utf8.contains(byte) }
  /// The characters of a segment that are not encoded: “items:batchGet”, “Users(3)”, “@me”. Not `+` and `;`, which some
  /// servers take for a space and the end of the segment.
  static func isPathCharacter(_ byte: UInt8) -> Bool { isUnreserved(byte) || "!$&'()*,=:@".utf8.contains(byte) }

  private static func encode(_ text: String, _ isKept: (UInt8) -> Bool) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      if isKept(byte) { bytes.append(byte) } else { bytes += [37, digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
