public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

#if canImport(WinSDK)
  import WinSDK
#endif

nonisolated extension Endpoint {
  /// The URL without the base URL of a client, made from scheme, host, port, path and query.
  ///
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if these do not form a valid URL, or there is no host, because
  ///   the client supplies it.
  public var url: URL { get throws(NetworkError) { try url(baseURL: nil) } }

  /// The request that is sent, without what a client adds to it. A body that is not in memory, such as a file, is added
  /// when it is sent.
  ///
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if the URL, a header field or the body is invalid, or the error
  ///   of ``prepare(request:)``.
  public var request: URLRequest {
    get throws(NetworkError) { try request(requestBody, NetworkDefaults()) }
  }

  private var requestBody: RequestBody {
    get throws(NetworkError) {
      do { return try body } catch { throw .unencodable(error, as: "body") }
    }
  }

  private func request(
    _ body: RequestBody, _ defaults: NetworkDefaults
  ) throws(NetworkError) -> URLRequest {
    var request = URLRequest(url: try url(baseURL: defaults.baseURL))
    if method != .get { request.httpMethod = method.rawValue }
    try headers.networkHeaders.add(to: &request)
    if !body.isEmpty {
      try body.addContentType(to: &request)
      request.httpBody = try body.encoded(with: defaults.encoder)
      if request.value(forHTTPHeaderField: "Content-Type") == nil {
        request.setValue(defaults.defaultContentType, forHTTPHeaderField: "Content-Type")
      }
    }
    // `Data` and `String` are `Decodable` too, but they are not decoded from JSON.
    let acceptsJSON = Response.self is any Decodable.Type && !(Data() is Response) && !("" is Response)
    if acceptsJSON, request.value(forHTTPHeaderField: "Accept") == nil {
      request.setValue(defaults.acceptOfJSON, forHTTPHeaderField: "Accept")
    }
    do { try prepare(request: &request) } catch { throw error as? NetworkError ?? .generalError(error) }
    let method = request.networkMethod.uppercased()
    let hasBody = request.httpBody != nil || !body.isInMemory
    if hasBody, ["GET", "HEAD"].contains(method) {
      throw .invalidRequest(reason: "a \(method) has no body; set `method` to POST or another that has one")
    }
    if let invalid = NetworkRequestValidation.invalidReason(of: request) { throw .invalidRequest(reason: invalid) }
    return request
  }

  /// The call of this endpoint.
  public func networkCallPlan(_ defaults: NetworkDefaults) throws(NetworkError) -> NetworkCallPlan {
    try plan(.default, nil, defaults)
  }

  /// With `onProgress`, a body that is in memory is uploaded too.
  func plan(
    _ policy: RetryPolicy, _ onProgress: (@Sendable (TransferProgress) -> Void)?, _ defaults: NetworkDefaults
  ) throws(NetworkError) -> NetworkCallPlan {
    // Once, because each multipart body has a boundary of its own.
    let body = try requestBody
    let request = try request(body, defaults)
    // `parse` decides whether the response may be empty.
    var plan = NetworkCallPlan(request, policy: policy.inheriting(from: self.policy), isReadOnly: isReadOnly)
    plan.endpoint = self
    if !body.isInMemory || (onProgress != nil && request.httpBody != nil) {
      // `prepare` may have changed a body that is in memory.
      NetworkUploadCall(body, data: request.httpBody, onProgress).add(to: &plan)
    }
    return plan
  }

  /// `baseURL` is used if the endpoint has no host. Its path is prepended to the endpoint's path.
  private func url(baseURL: URL?) throws(NetworkError) -> URL {
    let query: String?
    do { query = try percentEncodedQuery } catch { throw .unencodable(error, as: "query") }
    return try NetworkEndpointURL.url(
      scheme: scheme, host: host, port: port, path: percentEncodedPath, query: query, baseURL: baseURL)
  }
}

/// Makes a URL from its components, and validates them.
nonisolated enum NetworkEndpointURL {
  /// `path` and `query` are already percent-encoded. Without a host, scheme, host and port are those of the base URL,
  /// and the path is appended to its path.
  static func url(
    scheme: String = "", host: String = "", port: Int? = nil, path: String, query: String? = nil,
    baseURL: URL? = nil
  ) throws(NetworkError) -> URL {
    let base = host.isEmpty ? baseURL : nil
    try check(base?.query ?? base?.fragment ?? base?.user == nil, "a base URL has no query, fragment or user")
    try check(base == nil || port == nil, "the port of an endpoint goes with a host")
    let host = base.map(host(of:)) ?? host
    try check(!host.isEmpty, "the call names no host, and the base URL \(base == nil ? "is nil" : "has no host")")
    let scheme = (base.map { $0.scheme ?? "" } ?? scheme).lowercased()
    try check(["https", "http"].contains(scheme), "the scheme is not http or https")
    let port = port ?? base?.port
    try check(1...65_535 ~= port ?? 1, "the port is not one of 1 to 65535")
    let origin = try "\(scheme)://\(self.host(host))" + (port.map { ":\($0)" } ?? "")
    try check(query?.contains("#") != true, "percentEncodedQuery contains a “#”, which ends the query")
    let path = try self.path(path, after: base?.path(percentEncoded: true) ?? "")
    // At a character that does not belong in a path, Foundation encodes it or ends the path.
    guard let url = URL(string: origin + path + (query.map { "?" + $0 } ?? "")), url.path(percentEncoded: true) == path
    else { throw .invalidRequest(reason: "percentEncodedPath contains a character that must be encoded") }
    return url
  }

  /// The host of a URL, or an empty string.
  static func host(of base: URL) -> String {
    // `URL.host` removes brackets, even from a host that is not an IPv6 address.
    let written = URLComponents(url: base, resolvingAgainstBaseURL: true)?.encodedHost ?? ""
    return written.hasPrefix("[") ? written : base.host ?? ""
  }

  /// The host as it is written in a URL: in ASCII, with an IPv6 address in brackets.
  private static func host(_ host: String) throws(NetworkError) -> String {
    try check(!host.contains("://"), "the host has a scheme; write its name, the rest as scheme and path")
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    let address = isBracketed ? String(host.dropFirst().dropLast()) : host
    // A single colon precedes a port.
    if isBracketed || address.utf8.filter({ $0 == UInt8(ascii: ":") }).count > 1 {
      // A zone is a name of this device, which URLSession does not accept on every platform (RFC 6874).
      try check(!address.contains("%"), "an IPv6 address with a zone, such as %eth0, is not supported")
      try check(NetworkIPAddress.isValid(address, AF_INET6), "the host is not an IPv6 address; a port goes with `port`")
      return "[\(address)]"
    }
    var name = host
    // Only where it is necessary, because Foundation takes microseconds.
    if NetworkPercentEncoding.text(host) != host {
      // Foundation encodes internationalized names (IDNA) since iOS 17 and macOS 14.
      var components = URLComponents()
      components.host = host
      name = components.encodedHost ?? ""
    }
    var labels = name.split(separator: ".", omittingEmptySubsequences: false)
    // The last label may be empty: it is the root.
    if labels.last?.isEmpty == true { labels.removeLast() }
    let isName = 1...254 ~= name.utf8.count && !labels.contains("") && NetworkPercentEncoding.text(name) == name
    try check(isName, "the host is not a name or an IP address; a port goes with `port`, an IDN is written as xn--")
    // A name never ends in a number (“ends in a number” of the WHATWG URL Standard, RFC 1123 §2.1).
    let isAddress = labels.last.map(isNumber) ?? false
    try check(
      !isAddress || NetworkIPAddress.isValid(name, AF_INET), "the host ends in a number, but is not an IPv4 address")
    return name
  }

  private static func isNumber(_ label: Substring) -> Bool {
    let digits = label.lowercased()
    if digits.hasPrefix("0x") { return digits.utf8.dropFirst(2).allSatisfy("0123456789abcdef".utf8.contains) }
    return digits.utf8.allSatisfy("0123456789".utf8.contains)
  }

  private static let dots = [".", "..", "%2e", ".%2e", "%2e.", "%2e%2e"]
  private static func path(_ path: String, after base: String) throws(NetworkError) -> String {
    let hasDots = path.split(separator: "/").contains { dots.contains($0.lowercased()) }
    try check(!hasDots, "a segment of the path is “.” or “..” and would change the path")
    let hasQuery = path.utf8.contains(UInt8(ascii: "?"))
    try check(!hasQuery, "the path contains a “?”; pass the query as `query:` or `queryItems`")
    try check(!isURL(path), "the path is a URL; write `.get(url, as:)` with a URL, or send a URLRequest")
    if path.isEmpty { return base.isEmpty ? "/" : base }
    return (base.hasSuffix("/") ? String(base.dropLast()) : base) + (path.hasPrefix("/") ? "" : "/") + path
  }

  /// Whether the text begins with a scheme. A URL after a slash can be a segment of a path.
  private static func isURL(_ path: String) -> Bool {
    let scheme = path.prefix { $0 != "/" }
    return scheme.hasSuffix(":") && path.dropFirst(scheme.count).hasPrefix("//")
  }

  private static func check(_ isValid: Bool, _ reason: @autoclosure () -> String) throws(NetworkError) {
    if !isValid { throw .invalidRequest(reason: reason()) }
  }
}

/// The system's own parser of IP addresses.
nonisolated enum NetworkIPAddress {
  /// Whether the text is an address of this family, `AF_INET` or `AF_INET6`.
  static func isValid(_ text: String, _ family: Int32) -> Bool {
    // A C string ends at NUL.
    if text.utf8.contains(0) { return false }
    // The size of an IPv6 address.
    return withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { address in
      inet_pton(family, text, address.baseAddress) == 1
    }
  }
}

/// Encodes text for a URL (RFC 3986 §2).
nonisolated enum NetworkPercentEncoding {
  /// Encodes everything except letters, digits and `-._~`.
  static func text(_ text: String, keeping kept: CharacterSet = Self.unreserved) -> String {
    // Foundation takes microseconds even if there is nothing to encode.
    if text.unicodeScalars.allSatisfy(kept.contains) { return text }
    return text.addingPercentEncoding(withAllowedCharacters: kept) ?? ""
  }
  /// A `?` is kept, so that `NetworkEndpointURL` rejects it, and says how to pass a query.
  static func path(_ path: String) -> String { text(path, keeping: pathCharacters) }
  static func query(_ items: [URLQueryItem]) -> String {
    items.map { text($0.name) + ($0.value.map { "=" + text($0) } ?? "") }.joined(separator: "&")
  }

  private static let unreserved = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
  /// “items:batchGet”, “Users(3)” and “@me” are not changed. `+` and `;` are encoded, because some servers interpret
  /// them as a space and as the end of the segment.
  private static let pathCharacters = unreserved.union(CharacterSet(charactersIn: "/!$&'()*,=:@?"))

}
