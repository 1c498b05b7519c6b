public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Stores responses to GET requests and revalidates them (RFC 9111), even on Linux, where `URLCache` stores nothing.
/// Downloads, uploads and streams are not cached.
///
/// ```swift
/// let cache = try ResponseCache(in: folder, capacity: 50_000_000, servesStaleIfError: true, on: session)
/// let client = NetworkClient(baseURL: baseURL, on: cache, middleware: [authentication])
/// for try await expenses in client.values(of: .expenses) { show(expenses.value, isOld: expenses.source == .cache) }
/// ```
///
/// Until its `max-age` or `Expires` has passed, a stored response is served without a request. After that, the request
/// is sent with `If-None-Match` and `If-Modified-Since`, and a 304 serves the stored response. If the 304 has another
/// validator, the request is sent again without conditions. `no-store`, `no-cache`, `Vary` and the `cachePolicy` of a
/// request are respected. It is a private cache, so `private` responses are stored.
///
/// A success without a validator or a lifetime is stored too, and is stale at once: a normal call sends its request as
/// it is. The stored response is served while the server cannot be reached or fails (`servesStaleIfError`), by
/// `.returnCacheDataElseLoad` and `.returnCacheDataDontLoad`, and first by ``NetworkClient/values(of:policy:)``.
///
/// A 404 or another status that is cacheable by default is served again, as a response or an error, as long as its
/// `max-age` or `Expires` says so. A freshness that the server does not state is not guessed. A 4xx without a stated
/// freshness, such as a 410, removes the stored response, unless a retry might help.
///
/// A response is served only to requests with the same credential, whether the request, the session or an
/// ``Authentication`` adds it. Sessions with different `httpAdditionalHeaders` share no responses. A response that
/// depends on cookies is not stored if it has `Vary: Cookie`. Other fields that `Vary` may list must be set in the
/// request or by a client's ``NetworkClient/headers``: the middleware of a client runs after the cache has read the
/// request.
///
/// An error that a middleware threw in place of a response is not stored, because it could not be served again. Neither
/// is a response to a request to which a middleware without a ``NetworkMiddleware/cacheScope(of:)``, such as a closure,
/// has added a credential: the cache does not know whose it is. A key of the app belongs in the client's header fields.
///
/// An unsafe request (POST, PUT, PATCH, DELETE) removes the stored responses for its URL, for all credentials, unless
/// the server refused it with an error status other than 404, 409, 410 and 412, or it was not sent. One that is declared
/// to only read (``Endpoint/isReadOnly``) removes nothing. A response that was requested before such a removal is not
/// stored, because the server may have read it before the change. Neither is one that arrives after a newer one.
nonisolated public struct ResponseCache: Sendable {
  let store: ResponseStore
  let servesStaleIfError: Bool
  /// Carries out the calls. It adds no credential of its own.
  let base: any NetworkPerformer

  /// Makes a cache in memory.
  ///
  /// - Parameters:
  ///   - capacity: The size of all stored responses, in bytes. The least recently used one is evicted first.
  ///   - servesStaleIfError: Whether to serve a stored response if the server cannot be reached or is failing. If a
  ///     response is stored, only one attempt is made, also of a renewal of the credential, and its error is in
  ///     ``NetworkResponse/revalidationError``. A response with `must-revalidate` or `no-cache` is never served in
  ///     place of an error.
  ///   - performer: Sends the requests: a session, or in a test a ``NetworkScript``. A client or another performer
  ///     cannot be below a cache, because a credential that it adds would be unknown to the cache.
  public init(
    capacity: Int = 20_000_000, servesStaleIfError: Bool = false,
    on performer: some NetworkSendingPerformer = URLSession.shared
  ) {
    store = ResponseStore(capacity: capacity)
    self.servesStaleIfError = servesStaleIfError
    base = performer
  }

  /// Makes a cache in a folder, which only the user can read. Other caches of the process on the same folder share what
  /// is stored, and the capacity of the first of them. Two processes, such as an app and its extension, may use the same
  /// folder too, but a change that one of them makes removes nothing that the other one has stored.
  ///
  /// - Parameters:
  ///   - folder: A folder in the app's caches directory, which must not be used for anything else. It is created if it
  ///     does not exist.
  ///   - capacity: The size of all files, in bytes. The least recently used one is evicted first.
  ///   - servesStaleIfError: Whether to serve a stored response if the server cannot be reached or is failing, as in
  ///     memory.
  ///   - performer: Sends the requests: a session, or in a test a ``NetworkScript``.
  /// - Throws: A Foundation error if the folder cannot be created or read.
  public init(
    in folder: URL, capacity: Int = 50_000_000, servesStaleIfError: Bool = false,
    on performer: some NetworkSendingPerformer = URLSession.shared
  ) throws {
    store = try ResponseStore.shared(in: folder, capacity: capacity)
    self.servesStaleIfError = servesStaleIfError
    base = performer
  }

  /// The compiler says what the argument is called.
  @available(*, unavailable, renamed: "init(in:capacity:servesStaleIfError:on:)")
  public init(
    directory folder: URL, capacity: Int = 50_000_000, servesStaleIfError: Bool = false,
    on performer: some NetworkSendingPerformer = URLSession.shared
  ) throws {
    try self.init(in: folder, capacity: capacity, servesStaleIfError: servesStaleIfError, on: performer)
  }

  /// Removes all stored responses. Call this when the user signs out.
  public func removeAll() async { await store.removeAll() }
}

nonisolated extension ResponseCache: NetworkPerformer {
  /// The queue of the session.
  public var delegateQueue: OperationQueue { base.delegateQueue }

  /// The defaults of the session.
  public var defaults: NetworkDefaults {
    var defaults = base.defaults
    defaults.values[ResponseCache.self] = self
    return defaults
  }

  /// Serves a stored response, or carries out the call.
  #if compiler(>=6.2)
    @concurrent
  #endif
  public func perform(_ plan: NetworkCallPlan) async -> Swift.Result<NetworkResponse<Data>, NetworkError> {
    let permissions = NetworkCachePermissions(plan.request, isTransfer: plan.transfer != nil)
    let isReadOnly = plan.isReadOnly ?? RepeatSafety.isReadOnly(plan.request.networkMethod)
    if isReadOnly, permissions.isCacheable {
      do throws(NetworkError) {
        let url = Self.url(of: plan.request)
        store.start(url)
        defer { store.end(url) }
        return .success(try await NetworkCachedCall(self, plan, permissions).respond())
      } catch { return .failure(error) }
    }
    if permissions.isStoredOnly { return .failure(.urlError(URLError(.resourceUnavailable))) }
    let result = await base.perform(plan)
    if !isReadOnly { await invalidate(Self.url(of: plan.request), after: result) }
    return result
  }
}

nonisolated extension ResponseCache {
  /// The error statuses that say that the resource is not what is stored. After a lost connection, they are often the
  /// response to the repetition of a request that was carried out.
  private static let statusesOfChangedResource: Set = [404, 409, 410, 412]

  /// An unsafe request invalidates the stored responses, unless its response is another error status (RFC 9111 §4.4),
  /// or it was not sent.
  private func invalidate(_ url: String, after result: Swift.Result<NetworkResponse<Data>, NetworkError>) async {
    if case .failure(let error) = result {
      if case .invalidRequest = error { return }
      let lastError = error.failure?.lastError ?? error
      let isRefused = lastError.errorResponse.map { !Self.statusesOfChangedResource.contains($0.statusCode) } ?? false
      if isRefused || lastError.delivery == .notSent { return }
    }
    await store.removeAll(for: url)
  }

  // MARK: Keys

  /// The URL, and a hash of everything that makes a response specific to a user or a session.
  func key(_ plan: NetworkCallPlan) -> ResponseKey {
    let request = plan.request
    var scope = plan.ofClients.cacheScopes.compactMap { $0(request) }
    let own = (request.allHTTPHeaderFields ?? [:]).filter { name, value in
      // A CSRF token is not a credential, and is sent only with unsafe requests.
      let isOfForm = ["csrf", "xsrf"].contains { name.lowercased().contains($0) }
      return NetworkSensitiveHeader.matches(name, value, known: plan.ofClients.secretFields) && !isOfForm
    }
    scope += own.map { "\($0.key.lowercased()):\($0.value)" }.sorted()
    let fieldsOfSession = base.defaults.session?.configuration.httpAdditionalHeaders ?? [:]
    scope += fieldsOfSession.map { "\($0.key):\($0.value)" }.sorted()
    // The session adds Accept-Language.
    scope += Locale.preferredLanguages
    // The URL may contain a user name and a password.
    scope.append(request.url?.absoluteString ?? "")
    return ResponseKey(url: Self.url(of: request), scope: NetworkHash.text(of: scope.joined(separator: "\n")))
  }

  private static func url(of request: URLRequest) -> String {
    request.url?.networkWithoutUserAndFragment?.absoluteString ?? ""
  }
}
