#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Keeps answers to GET and asks the server whether they are still right (RFC 9111); on Linux too, where `URLCache` stores
/// nothing. A download, an upload or a stream passes it by.
///
/// ```swift
/// let cache = ResponseCache(try DiskStore(folder, capacity: 50_000_000), servesStaleIfError: true)
/// let client = NetworkClient(baseURL: baseURL, middleware: [cache, authentication])
/// for try await expenses in client.values(of: .expenses) { show(expenses.value, isOld: expenses.source == .cache) }
/// ```
///
/// While `max-age` lasts, or until `Expires`, nothing is sent. After that the server is asked with `If-None-Match` and
/// `If-Modified-Since`, and a 304 is served from the store. `no-store` and `Vary` are respected; it is a private cache, so `private` is stored.
/// What was got with one credential is never served to another: neither one that the request or the session carries nor
/// one that an ``Authentication`` adds. What depends on cookies must say so (`Vary: Cookie`), and is not stored then. Other
/// fields on which an answer depends must be there before the cache, not added once an attempt.
nonisolated public struct ResponseCache: NetworkMiddleware {
  private let store: any ResponseStore
  private let servesStaleIfError: Bool
  private let now: @Sendable () -> Date

  /// Once a call.
  public var stage: MiddlewareStage { .call }

  /// Makes a cache.
  ///
  /// - Parameters:
  ///   - store: Where answers are kept.
  ///   - servesStaleIfError: Serve what is stored where the server cannot be reached or is failing, unless it forbade
  ///     that (`must-revalidate`).
  public init(_ store: any ResponseStore, servesStaleIfError: Bool = false) {
    self.init(store, servesStaleIfError: servesStaleIfError) { Date() }
  }

  init(_ store: any ResponseStore, servesStaleIfError: Bool, now: @escaping @Sendable () -> Date) {
    self.store = store
    self.servesStaleIfError = servesStaleIfError
    self.now = now
  }

  // What `values(of:)` asks for first.
  static let isOnlyAsked = TaskLocal(wrappedValue: false)
  struct NotStored: Error {}

  /// From the store if it may, else from the server.
  public func respond(
    to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
  ) async throws -> NetworkResponse {
    let seen = Self.withFieldsOfSession(request, call)
    let key = Self.key(seen, call)
    let method = request.httpMethod ?? "GET"
    let wanted = CacheControl(request.value(forHTTPHeaderField: "Cache-Control"))
    // A request with a condition of its own wants the answer to that.
    let own = ["Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"]
    guard method == "GET", !call.isTransfer, request.httpBody == nil, request.httpBodyStream == nil,
      !wanted.has("no-store"),
      own.allSatisfy({ request.value(forHTTPHeaderField: $0) == nil })
    else {
      if Self.isOnlyAsked.get() { throw NotStored() }
      // What it may have changed is out of date (RFC 9111 §4.4).
      defer { if !["GET", "HEAD", "OPTIONS", "TRACE"].contains(method) { store.remove(key) } }
      return try await next(request)
    }
    let stored = store.response(for: key).flatMap { $0.matches(seen) ? $0 : nil }
    if Self.isOnlyAsked.get() {
      guard let stored, let response = stored.served(as: .cache) else { throw NotStored() }
      return response
    }
    let isReload = [.reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData].contains(request.cachePolicy)
    if let stored, !isReload, !wanted.has("no-cache"), stored.isFresh(at: now()),
      let response = stored.served(as: .cache)
    {
      return response
    }
    var asking = request
    // The session's own cache would answer for the server.
    asking.cachePolicy = .reloadIgnoringLocalCacheData
    let unconditional = asking
    for (field, validator) in [("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified")] {
      guard let value = stored?.header(validator) else { continue }
      asking.setValue(value, forHTTPHeaderField: field)
    }
    do {
      let response = try await next(asking)
      // Has somebody else signed in meanwhile? Then nobody knows whose answer it is.
      let isSame = Self.key(seen, call) == key
      if response.response.statusCode == 304, asking.allHTTPHeaderFields != unconditional.allHTTPHeaderFields {
        guard isSame, let renewed = stored?.renewed(by: response.response, at: now()),
          let served = renewed.served(as: .revalidated)
        else { return try await next(unconditional) }
        if renewed.control.has("no-store") { store.remove(key) } else { store.store(renewed, for: key) }
        return served
      }
      if response.response.statusCode == 200, isSame {
        if let new = StoredResponse(response, to: seen, at: now()) {
          store.store(new, for: key)
        } else {
          store.remove(key)
        }
      }
      return response
    } catch let error as NetworkError where servesStaleIfError && error.isOutage {
      guard let stored, !stored.control.has("must-revalidate"), !stored.control.has("no-cache"),
        let response = stored.served(as: .cache)
      else { throw error }
      return response
    }
  }

  /// URL, and a hash of whatever proves who asks.
  private static func key(_ request: URLRequest, _ call: NetworkCall) -> String {
    let scopes = call.client.middleware.compactMap { $0.cacheScope(of: request) }
    let own = (request.allHTTPHeaderFields ?? [:]).filter { name, value in
      // That is not who asks, and comes with changes only.
      SensitiveHeader.matches(name, value) && !["csrf", "xsrf"].contains { name.lowercased().contains($0) }
    }
    .map { "\($0.key.lowercased()):\($0.value)" }.sorted()
    let scope = (scopes + own).joined(separator: "\n")
    return "\(scope.isEmpty ? "" : stableHash(scope)) \(request.url?.absoluteString ?? "")"
  }

  /// What the session adds on the way may tell one answer from another, or one user.
  private static func withFieldsOfSession(_ request: URLRequest, _ call: NetworkCall) -> URLRequest {
    if call.client.script != nil { return request }
    var request = request
    for case (let name as String, let value as String) in call.client.session.configuration.httpAdditionalHeaders ?? [:]
    where request.value(forHTTPHeaderField: name) == nil {
      request.setValue(value, forHTTPHeaderField: name)
    }
    #if !canImport(FoundationNetworking)
      if request.value(forHTTPHeaderField: "Accept-Language") == nil {
        request.setValue(Locale.preferredLanguages.joined(separator: ", "), forHTTPHeaderField: "Accept-Language")
      }
    #endif
    return request
  }

  /// The same in every process: 128 bits of two FNV-1a. It tells texts apart and keeps them out of sight, no more.
  static func stableHash(_ text: String) -> String {
    let parts = [UInt64(0xcbf2_9ce4_8422_2325), 0x6c62_272e_07bb_0142].map { start in
      let hash = text.utf8.reduce(start) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
      let digits = String(hash, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
    return parts.joined()
  }
}

nonisolated extension NetworkError {
  /// The server cannot be reached or is failing, the one that renews a credential among them.
  fileprivate var isOutage: Bool {
    switch self {
    case .middlewareError(let error as NetworkError): error.isOutage
    case .inaccessible(let failure): failure.lastError.isOutage
    default: shouldRetry
    }
  }
}
