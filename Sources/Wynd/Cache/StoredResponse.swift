import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A response in a ``ResponseStore``. What its header fields say to a cache is read once, when it is made.
nonisolated struct StoredResponse: Sendable, Codable {
  private let url: URL
  private let status: Int
  private let body: Data
  /// With names in lowercase.
  private let headers: [String: String]
  /// Whether the call that received the response failed with it, for example with a 404.
  let isFailure: Bool
  let freshness: ResponseFreshness
  /// False if the response must not be stored, or could never be served. A success without a lifetime or a validator is
  /// stale at once, and is served only if that is wanted, such as while the server cannot be reached.
  let isStorable: Bool
  /// Whether the response may be served if the server cannot be reached. An error would hide what is wrong.
  let mayReplaceError: Bool
  /// The names of the header fields that Vary lists, in alphabetical order.
  let varyingFields: [String]

  /// The estimated size in bytes.
  var size: Int {
    var size = 200 + body.count
    for (name, value) in headers { size += name.utf8.count + value.utf8.count }
    return size
  }

  /// The status codes that are cacheable by default (RFC 9110 §15.1), without 206.
  private static let storableStatuses = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

  /// Makes a stored response from a response of the server. Returns nil for a status that is not cacheable by default,
  /// and for a response from another URL after a redirect.
  init?(
    _ response: NetworkResponse<Data>, isFailure: Bool = false, to request: URLRequest, requestedAt: Foundation.Date
  ) {
    let status = response.statusCode
    guard Self.storableStatuses.contains(status), let url = Self.url(of: response.response, to: request) else {
      return nil
    }
    let headers = Self.headers(of: response.response)
    self.init(url, status, response.data, headers, isFailure: isFailure, requestedAt: requestedAt)
  }

  /// Makes a stored response from a 304 that updates one (RFC 9111 §3.2). Returns nil if the 304 is from another URL.
  init?(
    _ notModified: HTTPURLResponse, renewing old: StoredResponse, to request: URLRequest, requestedAt: Foundation.Date
  ) {
    guard let url = Self.url(of: notModified, to: request) else { return nil }
    var headers = Self.headers(of: notModified)
    // A 304 does not change the fields that describe the stored body.
    for name in ["content-type", "content-length", "content-range"] { headers[name] = old.headers[name] }
    for (name, value) in old.headers where headers[name] == nil {
      // These would make the response as old as it was before.
      if name != "age", name != "date" { headers[name] = value }
    }
    self.init(url, old.status, old.body, headers, isFailure: false, requestedAt: requestedAt)
  }

  private init(
    _ url: URL, _ status: Int, _ body: Data, _ fields: [String: String], isFailure: Bool, requestedAt: Foundation.Date
  ) {
    var headers = fields
    // If the body was decoded, its length has changed.
    if headers["content-length"] != "\(body.count)" { headers["content-length"] = nil }
    let control = NetworkCacheControl(headers["cache-control"])
    let vary = NetworkListField.elements(of: headers["vary"])
    freshness = ResponseFreshness(control, headers, requestedAt: requestedAt)
    varyingFields = Array(Set(vary.map(\.name))).networkSorted
    // What is not a field name could mean any field. The session adds cookies after the cache has read the request, so a
    // response that depends on them could belong to another user.
    let isSelectable = vary.allSatisfy { $0.isToken && $0.name != "*" && $0.name != "cookie" }
    isStorable = !control.noStore && isSelectable && (!isFailure || freshness.lifetime > 0)
    mayReplaceError = !isFailure && !control.mustRevalidate && !control.noCache
    self.url = url
    self.status = status
    self.body = body
    self.headers = headers
    self.isFailure = isFailure
  }

  /// The URL of a request, if the response has it, too.
  private static func url(of head: HTTPURLResponse, to request: URLRequest) -> URL? {
    guard let url = request.url?.networkWithoutUserAndFragment else { return nil }
    return head.url?.networkWithoutUserAndFragment == url ? url : nil
  }

  /// The header fields without cookies, the encoding of a body that was decoded, and what applies to one connection
  /// (RFC 9111 §3.1).
  private static func headers(of head: HTTPURLResponse) -> [String: String] {
    var headers: [String: String] = [:]
    for case (let name as String, let value as String) in head.allHeaderFields { headers[name.lowercased()] = value }
    for name in ["age", "date", "etag", "expires", "last-modified"] { headers[name] = head.networkValue(of: name) }
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
    return headers
  }

  func header(_ name: String) -> String? { headers[name.lowercased()] }

  /// Whether the server can confirm the response with a 304. It does that only for a success (RFC 9110 §13.2.1).
  var canBeValidated: Bool {
    let hasValidator = header("ETag") != nil || header("Last-Modified") != nil
    return hasValidator && 200..<300 ~= status
  }

  /// The response as a caller receives it. Throws the error if it is one. `error` is why the server did not confirm it.
  func served(
    as source: NetworkResponseSource, allowEmptyData: Bool, because error: NetworkError? = nil
  ) throws(NetworkError) -> NetworkResponse<Data> {
    var fields = headers
    if source == .cache {
      fields["age"] = "\(Int64(min(max(0, freshness.age(at: Foundation.Date())), ResponseFreshness.longest)))"
    }
    let head = HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
    guard let head else { throw .noResponse }
    if isFailure { throw .endpointError(head, body) }
    let received = NetworkOutcome(data: body, response: head)
    // Another call may have accepted the empty body.
    if case .failure(.noResponseData(let head)) = received.result(isHead: false, allowEmptyData: allowEmptyData) {
      throw .noResponseData(head)
    }
    var response = NetworkResponse(data: body, response: head)
    response.source = source
    response.revalidationError = error
    response.values[StoredResponse.self] = self
    return response
  }
}
