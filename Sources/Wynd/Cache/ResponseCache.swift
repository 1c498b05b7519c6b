public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Stores responses to GET requests and revalidates them (RFC 9111), also on Linux, where `URLCache` stores nothing.
/// Downloads, uploads and streams are not cached.
///
/// ```swift
/// let cache = ResponseCache(try DiskStore(folder, capacity: 50_000_000), servesStaleIfError: true)
/// let client = NetworkClient(baseURL: baseURL, middleware: [cache, authentication])
/// for try await expenses in client.values(of: .expenses) { show(expenses.value, isOld: expenses.source == .cache) }
/// ```
///
/// Until its `max-age` or `Expires` has passed, a stored response is served without a request. After that, the request
/// is sent with `If-None-Match` and `If-Modified-Since`, and a 304 serves the stored response. If the 304 has another
/// validator, the request is sent again without conditions. `no-store`, `no-cache`, `Vary` and the `cachePolicy` of a
/// request are respected. It is a private cache, so `private` responses are stored.
///
/// A response is served only to requests with the same credential, whether the request, the session or an
/// ``Authentication`` adds it. Sessions with different `httpAdditionalHeaders` share no responses. A response that
/// depends on cookies is not stored if it has `Vary: Cookie`. Other fields that `Vary` may list must be set before the
/// request reaches the cache, not in the ``MiddlewareStage/attempt`` stage.
///
/// An unsafe request (POST, PUT, PATCH, DELETE) removes the stored responses for its URL, for all credentials.
nonisolated public struct ResponseCache: NetworkMiddleware, NetworkPlanMiddleware {
  private let store: any ResponseStore
  private let servesStaleIfError: Bool

  /// Once per call.
  public var stage: MiddlewareStage { .call }

  /// Makes a cache.
  ///
  /// - Parameters:
  ///   - store: Where responses are stored.
  ///   - servesStaleIfError: Whether to serve a stored response if the server cannot be reached or is failing. If a
  ///     response is stored, only one attempt is made, and its error is in ``NetworkResponse/revalidationError``. A
  ///     response with `must-revalidate` or `no-cache` is never served in place of an error.
  public init(_ store: any ResponseStore, servesStaleIfError: Bool = false) {
    (self.store, self.servesStaleIfError) = (store, servesStaleIfError)
  }

  /// Serves a stored response, or sends the request.
  public func respond(
    to request: URLRequest, in call: NetworkCall, next: @escaping NetworkMiddlewareNext
  ) async throws -> NetworkResponse<Data> {
    try await respond(to: NetworkCallPlan(request), in: call) { try await next($0.request) }
  }

  func respond(
    to plan: NetworkCallPlan, in call: NetworkCall, next perform: @escaping NetworkPerform
  ) async throws -> NetworkResponse<Data> {
    let request = plan.request
    let key = Self.key(request, call)
    let control = NetworkCacheControl(request.value(forHTTPHeaderField: "Cache-Control"))
    // A request for a range, or with a condition of its own, must receive the server's response to it.
    let conditions = ["Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"]
    let isConditional = conditions.contains { request.value(forHTTPHeaderField: $0) != nil }
    let isGET = request.networkMethod == "GET"
    let isCacheable = isGET && !isConditional && !call.isTransfer && !control.has("no-store")
    let isReload = [.reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData].contains(request.cachePolicy)
    let stored = isCacheable && !isReload ? store.response(for: key)?.matching(request) : nil
    let isStoredOnly = request.cachePolicy == .returnCacheDataDontLoad
    let mayServe =
      switch request.cachePolicy {
      case .returnCacheDataElseLoad: true
      case .reloadRevalidatingCacheData: false
      default: isStoredOnly || !control.has("no-cache") && stored?.isFresh(at: Date(), maxAge: control.maxAge) == true
      }
    if mayServe, let response = stored?.served(as: .cache) { return response }
    if isStoredOnly { throw NetworkError.urlError(URLError(.resourceUnavailable)) }
    guard isCacheable else {
      // An unsafe request invalidates stored responses (RFC 9111 §4.4), even if it fails: it may have been applied.
      defer {
        if !["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"].contains(request.networkMethod) { store.remove(key) }
      }
      return try await perform(plan)
    }
    var unconditional = request
    // The session's own cache must not respond in place of the server.
    unconditional.cachePolicy = isReload ? request.cachePolicy : .reloadIgnoringLocalCacheData
    var conditional = unconditional
    conditional.setValue(stored?.header("ETag"), forHTTPHeaderField: "If-None-Match")
    conditional.setValue(stored?.header("Last-Modified"), forHTTPHeaderField: "If-Modified-Since")
    let fallback = servesStaleIfError && stored?.mayReplaceError == true ? stored : nil
    let next: NetworkMiddlewareNext = { request in
      var plan = plan
      plan.request = request
      if fallback != nil { plan.maxRetries = 0 }
      return try await perform(plan)
    }
    do {
      var response = try await next(conditional)
      var renewed = response.statusCode == 304 && stored?.hasValidator == true ? stored : nil
      switch renewed?.match(response.response) {
      case .differs:
        // The stored body would be served as another version from then on.
        response = try await next(unconditional)
        renewed = nil
      case .confirms:
        guard Self.key(request, call) == key else { return try await next(unconditional) }
        return renewed?.served(as: .revalidated) ?? response
      case .updates, nil: break
      }
      let new = StoredResponse(response, renewing: renewed, to: request)
      // If another user has signed in since, the response could belong to either user.
      guard Self.key(request, call) == key, renewed == nil || new != nil else {
        return renewed == nil ? response : try await next(unconditional)
      }
      if let new, new.isStorable { store.store(new, for: key) } else { store.remove(key) }
      return renewed == nil ? response : new?.served(as: .revalidated) ?? response
    } catch let error as NetworkError where error.isOutage && Self.key(request, call) == key {
      guard let response = fallback?.served(as: .cache, because: error) else { throw error }
      return response
    }
  }

  /// The URL, and a hash of everything that makes a response specific to a user or a session.
  private static func key(_ request: URLRequest, _ call: NetworkCall) -> String {
    var scope = call.client.allMiddleware.compactMap { $0.cacheScope(of: request) }
    let secretFields = call.client.secretFields
    let own = (request.allHTTPHeaderFields ?? [:]).filter { name, value in
      // A CSRF token is not a credential, and is sent only with unsafe requests.
      let isCSRFToken = ["csrf", "xsrf"].contains { name.lowercased().contains($0) }
      return NetworkSensitiveHeader.matches(name, value, known: secretFields) && !isCSRFToken
    }
    scope += own.map { "\($0.key.lowercased()):\($0.value)" }.sorted()
    scope += call.client.headersOfSession.map { "\($0.key):\($0.value)" }.sorted()
    // The session adds Accept-Language, and the URL may contain a user name and a password.
    scope += Locale.preferredLanguages + [request.url?.absoluteString ?? ""]
    let url = request.url?.networkAddress?.absoluteString ?? ""
    return "\(url) \(NetworkStoreKey.hash(scope.joined(separator: "\n").utf8))"
  }
}
