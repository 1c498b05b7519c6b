import Foundation

/// Makes a URL from its components, and validates them.
nonisolated enum NetworkEndpointURL {
  /// The URL of an endpoint. Without a host, it is relative to the base URL of a client.
  static func url(of endpoint: some Endpoint) throws(NetworkError) -> URL {
    let items: [URLQueryItem]
    do { items = try endpoint.queryItems } catch { throw .unencodable(error, as: "query") }
    let query = items.isEmpty ? nil : NetworkPercentEncoding.query(items)
    let path = endpoint.percentEncodedPath
    let hasQuery = path.utf8.contains(UInt8(ascii: "?"))
    try check(!hasQuery, "the path contains a “?”; pass the query as `query:` or `queryItems`")
    try check(!isURL(path), "the path is a URL; write `.get(url, as:)` with a URL, or send a URLRequest")
    if endpoint.host.isEmpty {
      try check(endpoint.port == nil, "the port of an endpoint goes with a host")
      return try url(relative: path, query)
    }
    let scheme = endpoint.scheme.lowercased()
    try check(["https", "http"].contains(scheme), "the scheme is not http or https")
    try check(1...65_535 ~= endpoint.port ?? 1, "the port is not one of 1 to 65535")
    let port = endpoint.port.map { ":\($0)" } ?? ""
    return try url("\(scheme)://\(host(endpoint.host))\(port)", self.path(path, after: ""), query)
  }

  /// A whole URL with more query items. A segment “..” is meant as it is written. Without a host, it could leave the
  /// path of the base URL.
  static func url(_ url: URL, adding items: [URLQueryItem]) throws(NetworkError) -> URL {
    let url = url.absoluteURL
    if url.scheme == nil {
      // “//host/path” names another server.
      try check(url.host?.isEmpty != false, "the URL has a host, but no scheme")
      return try self.url(relative: url.path(percentEncoded: true), query(url, adding: items))
    }
    try check(url.host?.isEmpty == false, "the URL has no host")
    let hasUser = url.user != nil || url.password != nil
    try check(!hasUser, "the URL has a user; write `BasicCredential(user:password:).headers` as its `headers:`")
    try check(["https", "http"].contains(url.scheme?.lowercased()), "the scheme is not http or https")
    // Most URLs are sent as they are written. Foundation takes microseconds to make one anew.
    let path = url.path(percentEncoded: true)
    if items.isEmpty, url.fragment == nil, !path.isEmpty, !hasDots(path) { return url }
    guard var parts = URLComponents(url: url.standardized, resolvingAgainstBaseURL: true) else { return url }
    parts.percentEncodedQuery = query(url, adding: items)
    parts.fragment = nil
    if parts.percentEncodedPath.isEmpty { parts.percentEncodedPath = "/" }
    return parts.url ?? url
  }

  /// The query as it is written, and then the items, encoded.
  private static func query(_ url: URL, adding items: [URLQueryItem]) -> String? {
    let own = url.query(percentEncoded: true)
    if items.isEmpty { return own }
    let query = NetworkPercentEncoding.query(items)
    guard let own, !own.isEmpty else { return query }
    return own + (own.hasSuffix("&") ? "" : "&") + query
  }

  /// The scheme, host and port of a base URL, as they are written in a URL, and its path.
  static func parts(ofBase baseURL: URL) throws(NetworkError) -> (origin: String, path: String) {
    guard var parts = URLComponents(url: baseURL, resolvingAgainstBaseURL: true), parts.host?.isEmpty == false
    else { throw .invalidRequest(reason: "the call names no host, and the base URL has no host") }
    let scheme = parts.scheme?.lowercased()
    try check(["https", "http"].contains(scheme), "the scheme of the base URL is not http or https")
    let isPlain = parts.percentEncodedQuery == nil && parts.fragment == nil && parts.user == nil
    try check(isPlain, "a base URL has no query, fragment or user")
    let path = parts.percentEncodedPath
    parts.percentEncodedPath = ""
    parts.scheme = scheme
    return (parts.string ?? "", path)
  }

  /// The URL of a request that has no host: its path is appended to that of the base URL.
  static func url(_ origin: String, _ relative: URL, after path: String) throws(NetworkError) -> URL {
    let path = try self.path(relative.path(percentEncoded: true), after: path)
    return try url(origin, path, relative.query(percentEncoded: true))
  }

  /// A URL without a host. Without a path, it is the base URL itself.
  private static func url(relative path: String, _ query: String?) throws(NetworkError) -> URL {
    try url("", path.isEmpty ? "" : self.path(path, after: ""), query)
  }

  /// At a character that does not belong in a path, Foundation encodes it or ends the path.
  private static func url(_ origin: String, _ path: String, _ query: String?) throws(NetworkError) -> URL {
    let text = origin + path + (query.map { "?" + $0 } ?? "")
    // Foundation makes no URL of nothing.
    guard let url = URL(string: text.isEmpty ? "#" : text), url.path(percentEncoded: true) == path
    else { throw .invalidRequest(reason: "the path contains a character that must be encoded, or begins with “//”") }
    return url
  }

  /// The host as it is written in a URL: in ASCII, with an IPv6 address in brackets.
  private static func host(_ host: String) throws(NetworkError) -> String {
    // Foundation allocates to look for a text.
    let hasScheme = host.utf8.contains(UInt8(ascii: "/")) && host.contains("://")
    try check(!hasScheme, "the host has a scheme; write its name, the rest as scheme and path")
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
    return digits.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
  }

  /// Whether a segment of the path is “.” or “..”. Only some paths are split, because that takes a microsecond.
  private static func hasDots(_ path: String) -> Bool {
    let mayHaveDots = path.utf8.contains { [UInt8(ascii: "."), UInt8(ascii: "%")].contains($0) }
    return mayHaveDots && path.split(separator: "/").contains { dots.contains($0.lowercased()) }
  }
  private static let dots = [".", "..", "%2e", ".%2e", "%2e.", "%2e%2e"]

  private static func path(_ path: String, after base: String) throws(NetworkError) -> String {
    try check(!hasDots(path), "a segment of the path is “.” or “..” and would change the path")
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
  static func query(_ items: [URLQueryItem]) -> String {
    items.map { text($0.name) + ($0.value.map { "=" + text($0) } ?? "") }.joined(separator: "&")
  }

  private static let unreserved = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
  /// “items:batchGet”, “Users(3)” and “@me” are not changed. `+` and `;` are encoded, because some servers interpret
  /// them as a space and as the end of the segment. A `?` is kept, so that `NetworkEndpointURL` rejects it, and says how
  /// to pass a query.
  static let pathCharacters = unreserved.union(CharacterSet(charactersIn: "/!$&'()*,=:@?"))
}
