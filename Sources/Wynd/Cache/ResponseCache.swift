// Cache: a performer that stores responses and revalidates them (RFC 9111), with a store in memory and one on disk.
// It needs Core, Body, Endpoint and Client.
// Read this file, NetworkCachedCall (what happens in a call, from top to bottom), StoredResponse (what a response
// says about itself), ResponseStore and ResponseFolder, in this order: none of them uses one before it.

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
/// A response is served only to requests for the same URL and `Host` with the same credential in a header field, whether
/// the request, the session or an ``Authentication`` adds it. Sessions with different `httpAdditionalHeaders` share no
/// responses. Cookies and the credentials of the session's delegate are not compared: the server has to send
/// `Vary: Cookie`, which is not stored, or the app calls ``removeAll()`` when the user changes. Other fields that `Vary`
/// may list must be set in the request or by a client's ``NetworkClient/headers``: the middleware of a client runs after
/// the cache has read the request.
///
/// An error that a middleware threw in place of a response is not stored, because it could not be served again. Neither
/// is a response to a request to which a middleware without a ``NetworkMiddleware/cacheScope(of:)``, such as a closure,
/// has added a credential: the cache does not know whose it is. A key of the app belongs in the client's header fields.
///
/// An unsafe request (POST, PUT, PATCH, DELETE) removes the stored responses for its URL, for all credentials, unless
/// the server refused it with an error status other than 404, 409, 410 and 412, or it was not sent. One that is declared
/// to only read (``Endpoint/isReadOnly``) removes nothing. The response to a call that was under way is not stored then,
/// because the server may have read it before the change.
nonisolated public struct ResponseCache: Sendable {
  let store: ResponseStore
  let servesStaleIfError: Bool
  /// Carries out the calls. It adds no credential of its own.
  let base: any NetworkPerformer
  /// The header fields that the session adds. They are part of each key.
  let fieldsOfSession: [String]

  /// Makes a cache in memory.
  ///
  /// - Parameters:
  ///   - capacity: The size of all stored responses, in bytes. The least recently used one is evicted first.
  ///   - servesStaleIfError: Whether to serve a stored response, whatever its age, if the server cannot be reached or is
  ///     failing, or after another error that would be retried. If a response is stored, only one attempt is made, also
  ///     of a renewal of the credential, and its error is in ``NetworkResponse/revalidationError``. A response with
  ///     `must-revalidate` or `no-cache` is never served in place of an error.
  ///   - performer: Sends the requests: a session, or in a test a ``NetworkScript``. A client or another performer
  ///     cannot be below a cache, because a credential that it adds would be unknown to the cache.
  public init(
    capacity: Int = 20_000_000, servesStaleIfError: Bool = false,
    on performer: some NetworkSendingPerformer = URLSession.shared
  ) {
    self.init(ResponseStore(capacity: capacity), servesStaleIfError, performer)
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
    self.init(try ResponseStore.shared(in: folder, capacity: capacity), servesStaleIfError, performer)
  }

  private init(_ store: ResponseStore, _ servesStaleIfError: Bool, _ performer: any NetworkPerformer) {
    self.store = store
    self.servesStaleIfError = servesStaleIfError
    base = performer
    let fields = performer.defaults.session?.configuration.httpAdditionalHeaders ?? [:]
    fieldsOfSession = fields.map { "\($0.key):\($0.value)" }.networkSorted
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
  @concurrent
  public func perform(_ plan: NetworkCallPlan) async -> Swift.Result<NetworkResponse<Data>, NetworkError> {
    let permissions = NetworkCachePermissions(plan.request, isTransfer: plan.transfer != nil)
    let isReadOnly = plan.isReadOnly ?? RepeatSafety.isReadOnly(plan.request.networkMethod)
    if isReadOnly, permissions.isCacheable { return await NetworkCachedCall(self, plan, permissions).result() }
    if permissions.isStoredOnly { return .failure(.urlError(URLError(.resourceUnavailable))) }
    let result = await base.perform(plan)
    if isReadOnly || !Self.mayHaveChanged(after: result) { return result }
    await store.removeAll(for: ResponseKey.target(of: plan.request))
    return result
  }

  /// The error statuses that say that the resource is not what is stored. After a lost connection, they are often the
  /// response to the repetition of a request that was carried out.
  private static let statusesOfChangedResource = [404, 409, 410, 412]

  /// Whether an unsafe request may have changed its resource: not if each attempt had another error status as its
  /// response (RFC 9111 §4.4), or was not sent.
  private static func mayHaveChanged(after result: Swift.Result<NetworkResponse<Data>, NetworkError>) -> Bool {
    guard case .failure(let error) = result else { return true }
    let errors = error.failure?.attempts.compactMap(\.error) ?? [error]
    return errors.contains { error in
      if let response = error.errorResponse { return statusesOfChangedResource.contains(response.statusCode) }
      return error.delivery != .notSent
    }
  }
}
