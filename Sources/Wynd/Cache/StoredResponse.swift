import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A response in a ``ResponseStore``.
nonisolated struct StoredResponse: Sendable, Codable {
  private let url: URL
  private let status: Int
  private let body: Data
  /// When it was requested, by the clock of the device. The time until it arrived counts towards its age (RFC 9111
  /// §4.2.3).
  let requestedAt: Foundation.Date
  /// The header fields, with names in lowercase.
  private var headers: [String: String] = [:]
  /// Whether the call that received the response failed with it, for example with a 404.
  private(set) var isFailure = false
  /// Set if this is an index, not a response: its Vary says which header fields select one of several responses. Each
  /// of these is stored for a key with its ``ResponseKey/variant``, and is found only with the index it was stored
  /// with.
  private var indexID: String?
  var isVariantIndex: Bool { indexID != nil }

  /// The estimated size in bytes.
  var size: Int {
    var size = 200 + body.count
    for (name, value) in headers { size += name.utf8.count + value.utf8.count }
    return size
  }

  /// The status codes that are cacheable by default (RFC 9110 §15.1), without 206.
  private static let storableStatuses: Set = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

  /// Makes a stored response from a response of the server. Returns nil for a status that is not cacheable by default,
  /// and for a response from another URL after a redirect.
  init?(
    _ response: NetworkResponse<Data>, isFailure: Bool = false, to request: URLRequest,
    requestedAt: Foundation.Date = Foundation.Date()
  ) {
    guard Self.storableStatuses.contains(response.statusCode) else { return nil }
    self.init(
      response.response, body: response.data, status: response.statusCode, to: request, requestedAt: requestedAt)
    self.isFailure = isFailure
  }

  /// Makes a stored response from a 304 that updates one (RFC 9111 §3.2). Returns nil if the 304 is from another URL.
  init?(
    _ notModified: HTTPURLResponse, renewing old: StoredResponse, to request: URLRequest, requestedAt: Foundation.Date
  ) {
    self.init(notModified, body: old.body, status: old.status, to: request, requestedAt: requestedAt)
    // A 304 does not change the fields that describe the stored body.
    for name in ["content-type", "content-length", "content-range"] { headers[name] = old.headers[name] }
    for (name, value) in old.headers where headers[name] == nil {
      // These would make the response as old as it was before.
      if name != "age", name != "date" { headers[name] = value }
    }
    removeLengthOfEncodedBody()
  }

  /// Makes the entry that says which header fields select the responses to a URL.
  init(indexOfVariants response: StoredResponse) {
    url = response.url
    status = response.status
    body = Data()
    requestedAt = response.requestedAt
    headers["vary"] = response.headers["vary"]
    indexID = UUID().uuidString
  }

  private init?(_ head: HTTPURLResponse, body: Data, status: Int, to request: URLRequest, requestedAt: Foundation.Date)
  {
    guard let url = request.url?.networkWithoutUserAndFragment, head.url?.networkWithoutUserAndFragment == url else {
      return nil
    }
    self.url = url
    self.status = status
    self.body = body
    self.requestedAt = requestedAt
    for case (let name as String, let value as String) in head.allHeaderFields { headers[name.lowercased()] = value }
    for name in ["age", "date", "etag", "expires", "last-modified"] { headers[name] = head.networkValue(of: name) }
    removeFieldsOfTheConnection()
    removeLengthOfEncodedBody()
  }

  /// Removes cookies, the encoding of a body that was decoded, and what applies to one connection (RFC 9111 §3.1).
  private mutating func removeFieldsOfTheConnection() {
    let notStored = [
      "set-cookie", "content-encoding", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
      "proxy-connection", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
    ]
    // A server must not name these in Connection (RFC 9110 §7.6.1): without them, the response would appear fresher, or
    // fit more requests.
    let restrictions = ["cache-control", "vary", "expires", "age", "date"]
    let hopByHop = NetworkListField.elements(of: headers["connection"]).map(\.name).filter {
      !restrictions.contains($0)
    }
    for name in notStored + hopByHop { headers[name] = nil }
  }

  /// If the body was decoded, its length has changed.
  private mutating func removeLengthOfEncodedBody() {
    if headers["content-length"] != "\(body.count)" { headers["content-length"] = nil }
  }

  func header(_ name: String) -> String? { headers[name.lowercased()] }

  var control: NetworkCacheControl { NetworkCacheControl(header("Cache-Control")) }

  /// Whether the server can confirm the response with a 304. It does that only for a success (RFC 9110 §13.2.1).
  var canBeValidated: Bool {
    let hasValidator = header("ETag") != nil || header("Last-Modified") != nil
    return hasValidator && 200..<300 ~= status
  }

  /// Whether the response may be served if the server cannot be reached. An error would hide what is wrong.
  var mayReplaceError: Bool { !isFailure && !control.has("must-revalidate") && !control.has("no-cache") }

  /// False if the response must not be stored, or could never be served. A success without a lifetime or a validator is
  /// stale at once, and is served only if that is wanted, such as while the server cannot be reached. The session adds
  /// cookies after the cache has read the request, so a response that depends on them could belong to another user.
  var isStorable: Bool {
    if control.has("no-store") { return false }
    if isFailure, lifetime <= 0 { return false }
    // What is not a field name could mean any field.
    return NetworkListField.elements(of: header("Vary")).allSatisfy {
      $0.isToken && $0.name != "*" && $0.name != "cookie"
    }
  }

  // MARK: Variants

  /// Whether the response depends on header fields of the request.
  var hasVariants: Bool { !varyingFields.isEmpty }

  /// The names of the header fields that Vary lists, in alphabetical order.
  var varyingFields: [String] { Set(NetworkListField.elements(of: header("Vary")).map(\.name)).sorted() }

  /// The ``ResponseKey/variant`` of the response to a request, if this is an index: a hash of the request's values for
  /// the fields that Vary lists. A field that is absent is not an empty one.
  func variant(of request: URLRequest) -> String {
    let fields = varyingFields.map { name in
      guard let value = request.value(forHTTPHeaderField: name) else { return name }
      return "\(name):\(Self.withoutSpaceAroundCommas(value))"
    }
    let id = indexID ?? ""
    return NetworkHash.text(of: ([id] + fields).joined(separator: "\n"))
  }

  /// White space around the commas of a list means nothing (RFC 9110 §5.6.1). In a quoted string it does.
  private static func withoutSpaceAroundCommas(_ value: String) -> String {
    if value.contains("\"") { return value }
    return value.components(separatedBy: ",").map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: ",")
  }

  // MARK: Serving

  /// The response as a caller receives it. Throws the error if it is one. `error` is why the server did not confirm it.
  func served(
    as source: NetworkResponseSource, allowEmptyData: Bool, because error: NetworkError? = nil
  ) throws(NetworkError) -> NetworkResponse<Data> {
    var fields = headers
    if source == .cache { fields["age"] = "\(Int(min(max(0, age(at: Foundation.Date())), Double(1 << 31))))" }
    let head = HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
    guard let head else { throw .noResponse }
    if isFailure { throw .endpointError(head, body) }
    let received = NetworkOutcome(data: body, response: head)
    // Another call may have accepted the empty body.
    if case .failure(.noResponseData(let head)) = received.result(isHead: false, allowEmptyData: allowEmptyData) {
      throw .noResponseData(head)
    }
    return NetworkResponse(value: body, response: head, data: body, source: source, revalidationError: error)
  }
}
