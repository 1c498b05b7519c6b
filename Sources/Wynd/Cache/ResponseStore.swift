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
    _ response: NetworkResponse, renewing old: StoredResponse? = nil, to request: URLRequest, at date: Date = Date()
  ) {
    let head = response.response
    guard let url = Self.address(request.url), Self.address(head.url) == url,
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
    for name in notStored + notRenewed + Self.names(headers["connection"]) { headers[name] = nil }
    headers.merge((old?.headers ?? [:]).filter { !["age", "date"].contains($0.key) }) { new, _ in new }
    // If the body was decoded, its length has changed.
    if header("Content-Length") != "\(body.count)" { headers["content-length"] = nil }
    variant = variant(of: request)
  }

  /// The field names that Vary or Connection lists.
  private static func names(_ field: String?) -> [String] {
    (field ?? "").lowercased().split { ", \t".contains($0) }.map(String.init)
  }

  func header(_ name: String) -> String? { headers[name.lowercased()] }
  private var control: CacheControl { CacheControl(header("Cache-Control")) }
  var hasValidator: Bool { header("ETag") ?? header("Last-Modified") != nil }
  var mayReplaceError: Bool { !control.has("must-revalidate") && !control.has("no-cache") }

  /// False if the response must not be stored, or could never be served. The session adds cookies after the cache has
  /// read the request, so a response that depends on them could belong to another user.
  var isStorable: Bool {
    !control.has("no-store") && (hasValidator || lifetime > 0)
      && Self.names(header("Vary")).allSatisfy { $0 != "*" && $0 != "cookie" }
  }

  /// Returns nil if a header field that Vary lists differs, because the request may receive another response.
  func matching(_ request: URLRequest) -> StoredResponse? { variant == variant(of: request) ? self : nil }

  private func variant(of request: URLRequest) -> String {
    let fields = Self.names(header("Vary")).map { "\($0):\(request.value(forHTTPHeaderField: $0) ?? "")" }
    return StoreKey.hash(fields.joined(separator: "\n").utf8)
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

  func served(as source: NetworkResponse.Source, because error: NetworkError? = nil) -> NetworkResponse? {
    var fields = headers
    if source == .cache { fields["age"] = "\(Int(min(max(0, age(at: Date())), Double(1 << 31))))" }
    let head = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields)
    return head.map { .init(data: body, response: $0, source: source, revalidationError: error, failures: []) }
  }

  /// The URL without its fragment, which is not sent, and without the user name and password, which must not be stored.
  static func address(_ url: URL?) -> URL? {
    var parts = url.flatMap { URLComponents(url: $0, resolvingAgainstBaseURL: true) }
    for part in [\URLComponents.user, \.password, \.fragment] { parts?[keyPath: part] = nil }
    return parts?.url
  }
}

/// The directives of a Cache-Control field (RFC 9111 §5.2).
nonisolated struct CacheControl {
  private var directives: [String: String] = [:]

  init(_ field: String?) {
    for part in (field ?? "").lowercased().split(separator: ",") {
      let pair = part.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      // If a directive is repeated, the first one is used (RFC 9111 §4.2.1).
      if let name = pair.first, directives[name] == nil { directives[name] = pair.count > 1 ? pair[1] : "" }
    }
  }

  func has(_ name: String) -> Bool { directives[name] != nil }

  /// The max-age in seconds, at most 2³¹. An invalid value is 0 (RFC 9111 §4.2.1); nil means that there is no max-age.
  var maxAge: Int? {
    directives["max-age"].map { min(RetryAfter.digits($0.trimmingCharacters(in: ["\""])) ?? 0, 1 << 31) }
  }
}
