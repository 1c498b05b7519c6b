import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Stores the responses of a ``ResponseCache``. Its methods are called on any thread.
///
/// A key consists of a URL, a space, and text that distinguishes requests to this URL, such as a hash of the
/// credential.
nonisolated public protocol ResponseStore: Sendable {
  /// The response stored for this key, or nil.
  func response(for key: String) -> StoredResponse?
  /// Stores a response and replaces an earlier one. A store may remove it at any time to free space.
  func store(_ response: StoredResponse, for key: String)
  /// Removes the response for this key, and those for all other keys with the same URL.
  func remove(_ key: String)
  /// Removes all responses. Call this when the user signs out.
  func removeAll()
}

/// A response in a ``ResponseStore``. A store can encode and decode it, but not read its contents.
nonisolated public struct StoredResponse: Sendable, Codable {
  private let url: URL
  private let body: Data
  private let storedAt: Date
  /// The header fields, with names in lowercase.
  private var headers: [String: String] = [:]
  /// A hash of the request's values for the header fields that Vary lists.
  private var variant = ""

  /// The estimated size in bytes.
  public var size: Int { body.count + headers.reduce(200) { $0 + $1.key.utf8.count + $1.value.utf8.count } }

  /// Makes a stored response from a 200, or from a 304 that updates a stored response (RFC 9111 §3.2). Returns nil for
  /// any other status, and for a response from another URL after a redirect.
  init?(
    _ response: NetworkResponse<Data>, renewing old: StoredResponse? = nil, to request: URLRequest,
    at date: Date = Date()
  ) {
    let head = response.response
    guard let url = request.url?.networkAddress, head.url?.networkAddress == url,
      head.statusCode == (old == nil ? 200 : 304)
    else { return nil }
    self.url = url
    body = old?.body ?? response.data
    storedAt = date
    for case (let name as String, let value as String) in head.allHeaderFields { headers[name.lowercased()] = value }
    // Cookies, the encoding of a body that was decoded, and what applies to one connection (RFC 9111 §3.1).
    let notStored = [
      "set-cookie", "content-encoding", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
      "proxy-connection", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
    ]
    // A 304 changes neither the stored body nor the fields that describe it.
    let notRenewed = old == nil ? [] : ["content-type", "content-length", "content-range"]
    // A server must not name these in Connection (RFC 9110 §7.6.1): without them, the response would appear fresher, or
    // fit more requests.
    let restrictions = ["cache-control", "vary", "expires", "age", "date"]
    let hopByHop = NetworkListField(headers["connection"]).elements.map(\.name).filter { !restrictions.contains($0) }
    for name in notStored + notRenewed + hopByHop { headers[name] = nil }
    headers.merge((old?.headers ?? [:]).filter { !["age", "date"].contains($0.key) }) { new, _ in new }
    // If the body was decoded, its length has changed.
    if header("Content-Length") != "\(body.count)" { headers["content-length"] = nil }
    variant = variant(of: request)
  }

  func header(_ name: String) -> String? { headers[name.lowercased()] }
  private var control: NetworkCacheControl { NetworkCacheControl(header("Cache-Control")) }
  var hasValidator: Bool { header("ETag") ?? header("Last-Modified") != nil }
  var mayReplaceError: Bool { !control.has("must-revalidate") && !control.has("no-cache") }

  /// False if the response must not be stored, or could never be served. The session adds cookies after the cache has
  /// read the request, so a response that depends on them could belong to another user.
  var isStorable: Bool {
    if control.has("no-store") || !hasValidator && lifetime <= 0 { return false }
    let vary = NetworkListField(header("Vary"))
    // What is not a field name could mean any field.
    let namesFields = vary.elements.allSatisfy { $0.isToken && $0.name != "*" }
    return namesFields && !vary.isMalformed && !vary.elements.contains { $0.name == "cookie" }
  }

  /// Returns nil if a header field that Vary lists differs, because the request may receive another response.
  func matching(_ request: URLRequest) -> StoredResponse? { variant == variant(of: request) ? self : nil }

  private func variant(of request: URLRequest) -> String {
    let names = NetworkListField(header("Vary")).elements.map(\.name)
    let fields = names.map { "\($0):\(request.value(forHTTPHeaderField: $0) ?? "")" }
    return NetworkStoreKey.hash(fields.joined(separator: "\n").utf8)
  }

  /// What a 304 says about a stored response.
  enum Match: Equatable {
    /// It is about this response, and updates its header fields.
    case updates
    /// The response can be served, but its header fields must not change.
    case confirms
    /// It is about another version of the body.
    case differs
  }

  /// Compares the validators of a 304 with those of this response (RFC 9111 §4.3.4). Many servers repeat none.
  func match(_ notModified: HTTPURLResponse) -> Match {
    let tag = notModified.value(forHTTPHeaderField: "ETag") ?? ""
    let modified = notModified.value(forHTTPHeaderField: "Last-Modified") ?? ""
    if tag.isEmpty, modified.isEmpty { return .updates }
    let isStrong = !tag.isEmpty && !Self.isWeak(tag)
    if let storedTag = header("ETag"), !storedTag.isEmpty, !tag.isEmpty {
      if Self.opaqueTag(tag) != Self.opaqueTag(storedTag) { return .differs }
      // Some servers weaken the tag of a compressed 200, and not that of the 304. If-None-Match compares weakly (RFC
      // 9110 §13.1.2), but a strong tag would claim that the bytes are the same.
      return isStrong && Self.isWeak(storedTag) ? .confirms : .updates
    }
    let isSameDate = !modified.isEmpty && modified == header("Last-Modified")
    if !isSameDate { return .differs }
    // A new strong tag needs a date that is as strong: the body may have changed within the second of a weak one.
    return isStrong && !hasStrongDate ? .differs : .updates
  }

  private static func isWeak(_ tag: String) -> Bool { tag.hasPrefix("W/") }
  private static func opaqueTag(_ tag: String) -> Substring { isWeak(tag) ? tag.dropFirst(2) : tag[...] }

  /// Whether Last-Modified is at least a second older than the response (RFC 9110 §8.8.2.2).
  private var hasStrongDate: Bool {
    guard let modified = seconds("Last-Modified"), let sent = seconds("Date") else { return false }
    return modified < sent
  }

  /// Whether the response can be served without a request. `maxAge` is the max-age of the request, in seconds.
  func isFresh(at date: Date, maxAge: Int? = nil) -> Bool {
    date >= storedAt && !control.has("no-cache") && age(at: date) < min(lifetime, Double(maxAge ?? 1 << 31))
  }

  /// The age in seconds (RFC 9111 §4.2.3).
  private func age(at date: Date) -> Double {
    let apparent = storedAt.timeIntervalSince1970 - (seconds("Date") ?? .infinity)
    let age = header("Age").flatMap { RetryAfter.digits($0.prefix { $0 != "," }) } ?? 0
    return max(0, apparent, Double(age)) + date.timeIntervalSince(storedAt)
  }

  /// The freshness lifetime in seconds, by the server's clock (RFC 9111 §4.2.1). An Expires that is not a valid date
  /// has passed.
  private var lifetime: Double {
    control.maxAge.map(Double.init)
      ?? (seconds("Expires") ?? -.infinity) - (seconds("Date") ?? storedAt.timeIntervalSince1970)
  }

  private func seconds(_ name: String) -> Double? {
    header(name).flatMap { RetryAfter.httpDate($0, now: storedAt) }.map(Double.init)
  }

  func served(as source: NetworkResponseSource, because error: NetworkError? = nil) -> NetworkResponse<Data>? {
    var fields = headers
    if source == .cache { fields["age"] = "\(Int(min(max(0, age(at: Date())), Double(1 << 31))))" }
    let head = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields)
    return head.map { NetworkResponse(value: body, response: $0, data: body, source: source, revalidationError: error) }
  }
}

/// The directives of a Cache-Control field (RFC 9111 §5.2).
nonisolated struct NetworkCacheControl {
  private var directives: [String: String] = [:]

  init(_ field: String?) {
    let list = NetworkListField(field)
    for element in list.elements where directives[element.name] == nil {
      // If a directive is repeated, the first one is used (RFC 9111 §4.2.1).
      directives[element.name] = element.value ?? ""
    }
    if list.isMalformed {
      // Nothing in such a field may make a response fresh, and it may have been meant as a restriction.
      directives["no-cache"] = ""
      directives["max-age"] = ""
    }
  }

  func has(_ name: String) -> Bool { directives[name] != nil }

  /// The max-age in seconds, at most 2³¹. An invalid value is 0 (RFC 9111 §4.2.1); nil means that there is no max-age.
  var maxAge: Int? {
    guard let value = directives["max-age"] else { return nil }
    // White space inside the quotes is not part of a number.
    guard value.utf8.allSatisfy({ $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }) else { return 0 }
    return min(RetryAfter.digits(value) ?? 0, 1 << 31)
  }
}
