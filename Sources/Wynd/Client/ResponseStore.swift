import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Where a ``ResponseCache`` keeps its responses. Called from any thread.
///
/// A key is a URL, a space, and what distinguishes the requests to this URL, such as a hash of the credential.
nonisolated public protocol ResponseStore: Sendable {
  /// The response that is stored for this key, or nil.
  func response(for key: String) -> StoredResponse?
  /// Stores a response in place of an earlier one. A store may drop it at any time to make room.
  func store(_ response: StoredResponse, for key: String)
  /// Removes the response for this key, and those for all other keys with the same URL.
  func remove(_ key: String)
  /// Removes everything. Call this when the user signs out.
  func removeAll()
}

/// A response as a ``ResponseStore`` keeps it. `Codable`, and opaque to a store.
nonisolated public struct StoredResponse: Sendable, Codable {
  private let url: URL
  private let body: Data
  private let storedAt: Date
  /// With names in lower case.
  private var headers: [String: String]
  /// A hash of what the request had in the fields that Vary names.
  private var variant = ""

  /// An estimate, in bytes.
  public var size: Int { body.count + headers.reduce(200) { $0 + $1.key.utf8.count + $1.value.utf8.count } }

  /// Of a 200, or of a 304 that renews a stored response (RFC 9111 §3.2). Nil for any other status, and for a response that
  /// came from another URL after a redirect.
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
    headers = Self.fields(of: head)
    if let old {
      // The body stays, and so do the fields that describe it.
      for name in ["content-type", "content-length", "content-range"] { headers[name] = nil }
      headers.merge(old.headers.filter { !["age", "date"].contains($0.key) }) { new, _ in new }
    }
    // The length of a body that was decoded is another one.
    if header("Content-Length") != "\(body.count)" { headers["content-length"] = nil }
    variant = variant(of: request)
  }

  /// Without cookies, without the coding of a body that was decoded, and without the fields of one connection (RFC 9111
  /// §3.1).
  private static func fields(of head: HTTPURLResponse) -> [String: String] {
    var fields: [String: String] = [:]
    for case (let name as String, let value as String) in head.allHeaderFields { fields[name.lowercased()] = value }
    let notStored = [
      "set-cookie", "content-encoding", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
      "proxy-connection", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
    ]
    for name in notStored + names(fields["connection"]) { fields[name] = nil }
    return fields
  }

  /// The names of fields in Vary or Connection.
  private static func names(_ field: String?) -> [String] {
    (field ?? "").lowercased().split { ", \t".contains($0) }.map(String.init)
  }

  func header(_ name: String) -> String? { headers[name.lowercased()] }
  private var control: CacheControl { CacheControl(header("Cache-Control")) }
  var hasValidator: Bool { header("ETag") ?? header("Last-Modified") != nil }
  var mayReplaceError: Bool { !control.has("must-revalidate") && !control.has("no-cache") }

  /// False if it must not be stored or could never be served. Cookies are added by the session, where the cache does not
  /// see them, so a response that depends on them could be another user's.
  var isStorable: Bool {
    !control.has("no-store") && (hasValidator || lifetime > 0)
      && Self.names(header("Vary")).allSatisfy { $0 != "*" && $0 != "cookie" }
  }

  /// Nil if Vary says that the request may get another response.
  func matching(_ request: URLRequest) -> StoredResponse? { variant == variant(of: request) ? self : nil }

  private func variant(of request: URLRequest) -> String {
    let fields = Self.names(header("Vary")).map { "\($0):\(request.value(forHTTPHeaderField: $0) ?? "")" }
    return StoreKey.hash(fields.joined(separator: "\n").utf8)
  }

  /// Whether it may be served without a request to the server. `maxAge` is the limit of the request.
  func isFresh(at date: Date, maxAge: Int? = nil) -> Bool {
    date >= storedAt && !control.has("no-cache") && age(at: date) < min(lifetime, Double(maxAge ?? 1 << 31))
  }

  /// RFC 9111 §4.2.3.
  private func age(at date: Date) -> Double {
    let apparent = storedAt.timeIntervalSince1970 - (seconds("Date") ?? .infinity)
    let age = header("Age").flatMap { RetryAfter.digits($0.prefix { $0 != "," }) } ?? 0
    return max(0, apparent, Double(age)) + date.timeIntervalSince(storedAt)
  }

  /// By the server's own clock (RFC 9111 §4.2.1). An Expires that is no date has passed.
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
    return head.map {
      NetworkResponse(data: body, response: $0, source: source, revalidationError: error, failures: [], success: nil)
    }
  }

  /// Without what is not sent: the fragment, and the user name and password, which must not be stored.
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
      // If a directive is repeated, the first one counts (RFC 9111 §4.2.1).
      if let name = pair.first, directives[name] == nil { directives[name] = pair.count > 1 ? pair[1] : "" }
    }
  }

  func has(_ name: String) -> Bool { directives[name] != nil }

  /// Seconds, at most 2³¹. A value that cannot be parsed is 0 (RFC 9111 §4.2.1); nil if there is no max-age.
  var maxAge: Int? {
    directives["max-age"].map { min(RetryAfter.digits($0.trimmingCharacters(in: ["\""])) ?? 0, 1 << 31) }
  }
}
