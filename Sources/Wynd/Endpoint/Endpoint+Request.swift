public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

nonisolated extension Endpoint {
  /// The URL, made from scheme, host, port, path and query.
  ///
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if they do not form a valid URL.
  public var url: URL { get throws(NetworkError) { try url(baseURL: nil) } }

  /// The request that is sent.
  ///
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if the URL, a header field or the body is invalid, or the error
  ///   of ``prepare(request:)``.
  public var request: URLRequest { get throws(NetworkError) { try request(baseURL: nil) } }

  /// `baseURL` is used if the endpoint has no host. Its path is prepended to the endpoint's path.
  func request(baseURL: URL?, encoder: JSONEncoder? = nil) throws(NetworkError) -> URLRequest {
    var request = URLRequest(url: try url(baseURL: baseURL))
    if method != .get { request.httpMethod = method.rawValue }
    for field in headers { try field.add(to: &request) }
    if let body { try body.add(to: &request, encoder: encoder) }
    if acceptsJSON, request.value(forHTTPHeaderField: "Accept") == nil {
      try URLRequest.Header.accept("application/json").add(to: &request)
    }
    do { try prepare(request: &request) } catch { throw error as? NetworkError ?? .middlewareError(error) }
    if let invalid = SessionTransport.validationError(for: request) { throw .invalidRequest(reason: invalid) }
    let method = request.httpMethod?.uppercased() ?? "GET"
    if request.httpBody != nil, method == "GET" || method == "HEAD" {
      throw .invalidRequest(reason: "a \(method) has no body; set `method` to POST or another that has one")
    }
    return request
  }

  /// `Data` and `String` are `Decodable` too, but they are not decoded from JSON.
  private var acceptsJSON: Bool {
    let undecoded: [any Any.Type] = [Data.self, Data?.self, String.self, String?.self]
    return Response.self is any Decodable.Type && !undecoded.contains { $0 == Response.self }
  }

  private func url(baseURL: URL?) throws(NetworkError) -> URL {
    let items: [URLQueryItem]
    do { items = try queryItems } catch { throw .unencodable(error, as: "query") }
    let query = items.isEmpty ? nil : PercentEncoding.query(items)
    if host.isEmpty {
      guard port == nil else { throw .invalidRequest(reason: "the port of an endpoint goes with a host") }
      return try EndpointURL.url(after: baseURL, path: percentEncodedPath, query: query)
    }
    return try EndpointURL.url(scheme: scheme, host: host, port: port, path: percentEncodedPath, query: query)
  }
}

nonisolated extension NetworkError {
  /// The error for a value that cannot be encoded, with its coding path.
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

/// Makes a URL from its components, and validates them.
nonisolated enum EndpointURL {
  /// Appends a path to that of the base URL.
  static func url(after base: URL?, path: String, query: String?) throws(NetworkError) -> URL {
    guard let base else {
      throw .invalidRequest(reason: "there is no host: the call names none, and the base URL is nil")
    }
    guard base.query == nil, base.fragment == nil, base.user == nil else {
      throw .invalidRequest(reason: "a base URL has no query, fragment or user")
    }
    return try url(
      scheme: base.scheme ?? "", host: base.host ?? "", port: base.port, base: base.path(percentEncoded: true),
      path: path, query: query)
  }

  /// `base`, `path` and `query` are already percent-encoded.
  static func url(
    scheme: String, host: String, port: Int?, base: String = "", path: String, query: String? = nil
  ) throws(NetworkError) -> URL {
    let (scheme, host, path) = (scheme.lowercased(), try self.host(host), try self.path(path, after: base))
    guard ["https", "http"].contains(scheme) else { throw .invalidRequest(reason: "the scheme is not http or https") }
    guard 1...65_535 ~= port ?? 1 else { throw .invalidRequest(reason: "the port is not one of 1 to 65535") }
    let origin = "\(scheme)://\(host)" + (port.map { ":\($0)" } ?? "")
    guard let url = URL(string: origin + path + (query.map { "?" + $0 } ?? "")) else {
      throw .invalidRequest(reason: "host and path do not make a URL")
    }
    return url
  }

  /// The host as it is written in a URL: in ASCII, with an IPv6 address in brackets.
  private static func host(_ host: String) throws(NetworkError) -> String {
    if host.isEmpty { throw .invalidRequest(reason: "the base URL has no host") }
    let inner = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    if inner.utf8.contains(58) || inner != host {
      if host.contains("://") {
        throw .invalidRequest(reason: "the host contains a scheme; write only the name, the rest as scheme and path")
      }
      // A single colon precedes a port. Connecting to an address that is malformed in any other way fails.
      guard inner.utf8.filter({ $0 == 58 }).count > 1, inner.utf8.allSatisfy("0123456789ABCDEFabcdef:.".utf8.contains)
      else {
        throw .invalidRequest(reason: "the host contains a colon, but is no IPv6 address; write a port as `port`")
      }
      return "[\(inner)]"
    }
    var ascii = host
    if !host.utf8.allSatisfy({ $0 < 128 }) {
      // Foundation encodes internationalized names (IDNA) since iOS 17 and macOS 14.
      var components = URLComponents()
      components.scheme = "https"
      components.host = host
      ascii = components.url?.host ?? ""
    }
    // Only the last label may be empty.
    let hasEmptyLabel = zip(".\(ascii)".utf8, ascii.utf8).contains { $0 == 46 && $1 == 46 }
    guard 1...254 ~= ascii.utf8.count, !hasEmptyLabel, PercentEncoding.text(ascii) == ascii else {
      throw .invalidRequest(reason: "the host is not a name or an IP address (write an international one as xn--)")
    }
    return ascii
  }

  private static func path(_ path: String, after base: String) throws(NetworkError) -> String {
    let escapes = path.split(separator: "%", omittingEmptySubsequences: false).dropFirst().map { $0.prefix(2) }
    guard PercentEncoding.isEncoded(path), escapes.allSatisfy({ $0.count == 2 && $0.allSatisfy(\.isHexDigit) }) else {
      throw .invalidRequest(reason: "percentEncodedPath contains a character that must be encoded")
    }
    let dots: [Substring] = [".", "..", "%2e", ".%2e", "%2e.", "%2e%2e"]
    if path.lowercased().split(separator: "/").contains(where: dots.contains) {
      throw .invalidRequest(reason: "a segment of the path is “.” or “..” and would change the path")
    }
    if path.isEmpty { return base.isEmpty ? "/" : base }
    return (base.hasSuffix("/") ? String(base.dropLast()) : base) + (path.hasPrefix("/") ? "" : "/") + path
  }
}

/// Encodes text for a URL (RFC 3986 §2).
nonisolated enum PercentEncoding {
  /// Encodes everything except letters, digits and `-._~`.
  static func text(_ text: String) -> String { encode(text, textCharacters) }
  static func path(_ path: String) -> String { encode(path, pathCharacters) }
  static func query(_ items: [URLQueryItem]) -> String {
    items.map { text($0.name) + ($0.value.map { "=" + text($0) } ?? "") }.joined(separator: "&")
  }
  /// Whether a path is already encoded. Such a path may contain `+` and `;` (RFC 3986 §3.3).
  static func isEncoded(_ path: String) -> Bool { encode(path, encodedCharacters) == path }

  private static let unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
  private static let textCharacters = kept(unreserved)
  /// “items:batchGet”, “Users(3)” and “@me” are not changed. `+` and `;` are encoded, because some servers interpret
  /// them as a space and as the end of the segment.
  private static let pathCharacters = kept(unreserved + "/!$&'()*,=:@")
  private static let encodedCharacters = kept(unreserved + "/!$&'()*,=:@%+;")

  private typealias Kept = (characters: CharacterSet, bytes: String.UTF8View)
  private static func kept(_ text: String) -> Kept { (CharacterSet(charactersIn: text), text.utf8) }

  private static func encode(_ text: String, _ kept: Kept) -> String {
    // Foundation takes microseconds even if there is nothing to encode.
    if text.utf8.allSatisfy(kept.bytes.contains) { return text }
    return text.addingPercentEncoding(withAllowedCharacters: kept.characters) ?? ""
  }
}
