import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Where a ``ResponseCache`` keeps its answers. Called from any thread.
nonisolated public protocol ResponseStore: Sendable {
  /// What is stored under this key, if anything that can be read.
  func response(for key: String) -> StoredResponse?
  /// Keeps an answer, in place of an earlier one. It may be dropped whenever there is no room.
  func store(_ response: StoredResponse, for key: String)
  /// Forgets one answer.
  func remove(_ key: String)
  /// Forgets everything, at a sign-out.
  func removeAll()
}

/// An answer as it is stored. `Codable`, and no more than that to a store.
nonisolated public struct StoredResponse: Sendable, Codable {
  let url: URL
  var headers: [String: String]
  let body: Data
  var storedAt: Date
  /// Hashes of what the request had in the fields that Vary names.
  let vary: [String: String]

  /// About so many bytes.
  public var size: Int { body.count + headers.reduce(200) { $0 + $1.key.utf8.count + $1.value.utf8.count } }

  /// Nil if it must not be stored, or could never be served.
  init?(_ response: NetworkResponse, to request: URLRequest, at date: Date) {
    let head = response.response
    let control = CacheControl(head.value(forHTTPHeaderField: "Cache-Control"))
    // After a redirect it is the answer of another address.
    guard let url = request.url, !control.has("no-store"), head.expectsNoSecretVariant,
      head.url.map({ $0.absoluteString.prefix { $0 != "#" } }) == url.absoluteString.prefix(while: { $0 != "#" }),
      head.value(forHTTPHeaderField: "ETag") ?? head.value(forHTTPHeaderField: "Last-Modified") != nil
        || Self.lifetime(head.value(forHTTPHeaderField:), at: date) > 0
    else { return nil }
    self.url = url
    headers = Self.fields(of: head) { _ in true }
    body = response.data
    storedAt = date
    vary = Dictionary(
      head.variantFields.map { ($0, Self.variant(request, $0)) }, uniquingKeysWith: { first, _ in first })
  }

  func header(_ name: String) -> String? { headers[name.lowercased()] }
  var control: CacheControl { CacheControl(header("Cache-Control")) }

  func matches(_ request: URLRequest) -> Bool {
    vary.allSatisfy { Self.variant(request, $0.key) == $0.value }
  }

  func isFresh(at date: Date) -> Bool {
    let passed = date.timeIntervalSince(storedAt)
    let age = header("Age").flatMap { RetryAfter.digits($0.prefix { $0 != "," }) }.map(Double.init) ?? 0
    return passed >= 0 && !control.has("no-cache") && passed + age < Self.lifetime(header, at: storedAt)
  }

  /// Seconds from the server's own clock on (RFC 9111 §4.2.1); an Expires that is no date has passed.
  private static func lifetime(_ field: (String) -> String?, at date: Date) -> Double {
    if let seconds = CacheControl(field("Cache-Control")).maxAge { return Double(seconds) }
    func seconds(_ name: String) -> Double? {
      field(name).flatMap { RetryAfter.httpDate($0, now: date) }.map(Double.init)
    }
    guard let end = seconds("Expires") else { return 0 }
    return min(end - (seconds("Date") ?? date.timeIntervalSince1970), Double(1 << 31))
  }

  /// With the fields of a 304 (RFC 9111 §3.2).
  func renewed(by head: HTTPURLResponse, at date: Date) -> StoredResponse {
    var new = self
    new.storedAt = date
    (new.headers["age"], new.headers["date"]) = (nil, nil)
    // They describe the body that is stored.
    let ofBody = ["content-encoding", "content-type", "content-length", "content-range"]
    new.headers.merge(Self.fields(of: head) { !ofBody.contains($0) }) { $1 }
    return new
  }

  func served(as source: NetworkResponse.Source) -> NetworkResponse? {
    guard let head = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: headers) else {
      return nil
    }
    var response = NetworkResponse(data: body, response: head)
    response.source = source
    return response
  }

  /// Lower-case; without cookies, and without what is no longer true of a decoded body.
  private static func fields(of head: HTTPURLResponse, where isKept: (String) -> Bool) -> [String: String] {
    var fields: [String: String] = [:]
    for case (let name as String, let value as String) in head.allHeaderFields {
      let name = name.lowercased()
      if ["set-cookie", "content-encoding", "content-length", "transfer-encoding"].contains(name) { continue }
      if isKept(name) { fields[name] = value }
    }
    return fields
  }

  private static func variant(_ request: URLRequest, _ field: String) -> String {
    request.value(forHTTPHeaderField: field).map(ResponseCache.stableHash) ?? ""
  }
}

nonisolated extension HTTPURLResponse {
  fileprivate var variantFields: [String] {
    (value(forHTTPHeaderField: "Vary") ?? "").split(separator: ",")
      .map { $0.trimmingCharacters(in: .whitespaces).lowercased() }.filter { !$0.isEmpty }
  }
  /// Cookies are added by the session, unseen: what depends on them, or on anything, is nobody else's.
  fileprivate var expectsNoSecretVariant: Bool {
    !variantFields.contains { $0 == "*" || $0 == "cookie" }
  }
}

/// In memory, up to a number of bytes; what was used longest ago goes first.
nonisolated public final class MemoryStore: ResponseStore, @unchecked Sendable {
  private let capacity: Int
  private let lock = NSLock()
  private var entries: [String: (response: StoredResponse, lastUse: Int)] = [:]
  private var size = 0
  private var uses = 0

  /// Makes one that holds so many bytes.
  public init(capacity: Int = 20_000_000) { self.capacity = capacity }

  /// What is stored; it counts as used.
  public func response(for key: String) -> StoredResponse? {
    lock.withLock {
      uses += 1
      entries[key]?.lastUse = uses
      return entries[key]?.response
    }
  }
  /// Keeps it, unless it alone would take more than a quarter of the room.
  public func store(_ response: StoredResponse, for key: String) {
    lock.withLock {
      drop(key)
      guard response.size <= capacity / 4 else { return }
      uses += 1
      entries[key] = (response, uses)
      size += response.size
      while size > capacity, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })?.key { drop(oldest) }
    }
  }
  /// Forgets one.
  public func remove(_ key: String) { lock.withLock { drop(key) } }
  /// Forgets all.
  public func removeAll() { lock.withLock { (entries, size) = ([:], 0) } }

  private func drop(_ key: String) { size -= entries.removeValue(forKey: key)?.response.size ?? 0 }
}
