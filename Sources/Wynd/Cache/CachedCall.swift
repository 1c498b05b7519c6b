import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One call that a cache may serve: it serves a stored response, or sends the request and stores what it receives.
nonisolated struct NetworkCachedCall: Sendable {
  private let cache: ResponseCache
  private let plan: NetworkCallPlan
  private let credential = NetworkUnknownCredential()
  private var request: URLRequest { plan.request }
  private let permissions: NetworkCachePermissions
  /// The key of the request at the start of the call, without a variant.
  private let key: ResponseKey
  /// The key of the response that suits the request.
  private let storedKey: ResponseKey
  /// The response that suits the request, if it is stored.
  private let stored: StoredResponse?
  /// When this call had looked into the store.
  private let startedAt: Foundation.Date

  init(_ cache: ResponseCache, _ plan: NetworkCallPlan, _ permissions: NetworkCachePermissions) async {
    self.cache = cache
    var plan = plan
    plan.values[NetworkUnknownCredential.self] = credential
    self.plan = plan
    self.permissions = permissions
    key = cache.key(plan)
    let request = plan.request
    let found = await cache.store.response(for: key)
    if let found, found.isVariantIndex {
      storedKey = key.withVariant(found.variant(of: request))
      stored = await cache.store.response(for: storedKey)
    } else {
      storedKey = key
      stored = found
    }
    startedAt = Foundation.Date()
  }

  func respond() async throws(NetworkError) -> NetworkResponse<Data> {
    if let stored = usableStored, permissions.use(of: stored, at: Foundation.Date()) == .serve {
      return try served(stored, as: .cache)
    }
    if permissions.isStoredOnly { throw NetworkError.urlError(URLError(.resourceUnavailable)) }
    return try await load(ifChanged: usableStored)
  }

  /// The stored response, if it may be served or validated. A stored error that is no longer fresh is not used, because
  /// its cause may have gone away.
  private var usableStored: StoredResponse? {
    guard let stored, !permissions.isReload else { return nil }
    return stored.isFailure && !stored.isFresh(at: Foundation.Date()) ? nil : stored
  }

  /// Whether the same user is still signed in, and no other credential was sent. Otherwise, the response could belong
  /// to another user.
  private var isOfSameUser: Bool { cache.key(plan) == key && !credential.wasAdded }

  /// The stored response as the caller receives it. Throws the error if it is one for the caller. `error` is why the
  /// server did not confirm it.
  private func served(
    _ stored: StoredResponse, as source: NetworkResponseSource, because error: NetworkError? = nil
  ) throws(NetworkError) -> NetworkResponse<Data> {
    try stored.served(as: source, allowEmptyData: plan.allowEmptyData, because: error)
  }

  // MARK: Requests

  /// Requests the response, and serves the stored one if that is wanted and the server cannot be reached.
  private func load(ifChanged stored: StoredResponse?) async throws(NetworkError) -> NetworkResponse<Data> {
    guard cache.servesStaleIfError, let stored, stored.mayReplaceError else { return try await validated(stored, plan) }
    var plan = plan
    plan.policy.maxRetries = 0
    do {
      return try await validated(stored, plan)
    } catch {
      // Removed meanwhile, for example at a sign-out.
      let isStillStored = await cache.store.response(for: storedKey) != nil
      guard error.isOutage, isOfSameUser, isStillStored else { throw error }
      return try served(stored, as: .cache, because: error)
    }
  }

  /// Requests the response. A 304 serves the stored one.
  private func validated(
    _ stored: StoredResponse?, _ plan: NetworkCallPlan
  ) async throws(NetworkError) -> NetworkResponse<Data> {
    guard let stored, stored.canBeValidated else { return try await received(unconditional, plan) }
    var conditional = unconditional
    conditional.setValue(stored.header("ETag"), forHTTPHeaderField: "If-None-Match")
    conditional.setValue(stored.header("Last-Modified"), forHTTPHeaderField: "If-Modified-Since")
    let response = try await received(conditional, plan)
    if response.statusCode != 304 { return response }
    if isOfSameUser, let renewed = await renewed(stored, by: response) {
      var revalidated = try served(renewed, as: .revalidated)
      // The attempts that it took to receive the 304.
      revalidated.failures = response.failures
      revalidated.success = response.success
      return revalidated
    }
    // The 304 is about another version or another user, so there is no body for it.
    return try await received(unconditional, secondPlan(plan, after: response))
  }

  /// The plan of a second request, which has attempts and events of its own, and what is left of the deadline.
  private func secondPlan(_ plan: NetworkCallPlan, after response: NetworkResponse<Data>) -> NetworkCallPlan {
    var second = plan.withNewID()
    if let deadline = plan.policy.deadline, deadline < .noLimit, let last = response.success {
      second.policy.deadline = max(.zero, deadline - last.startedAt - last.duration)
    }
    return second
  }

  private func renewed(_ stored: StoredResponse, by notModified: NetworkResponse<Data>) async -> StoredResponse? {
    switch stored.match(notModified.response) {
    case .differs: return nil
    case .confirms: return stored
    case .updates:
      let requestedAt = requestedAt(notModified)
      let renewed = StoredResponse(notModified.response, renewing: stored, to: request, requestedAt: requestedAt)
      guard let renewed else { return nil }
      await save(renewed)
      return renewed
    }
  }

  /// The request as the server receives it. The session's own cache must not respond in place of the server.
  private var unconditional: URLRequest {
    var request = request
    if !permissions.isReload { request.cachePolicy = .reloadIgnoringLocalCacheData }
    if let directive = permissions.directiveForOtherCaches, request.value(forHTTPHeaderField: "Cache-Control") == nil {
      request.setValue(directive, forHTTPHeaderField: "Cache-Control")
    }
    return request
  }

  /// Carries out a call, and stores what it receives, except a 304.
  private func received(
    _ request: URLRequest, _ plan: NetworkCallPlan
  ) async throws(NetworkError) -> NetworkResponse<Data> {
    var plan = plan
    plan.request = request
    do {
      let response = try await cache.base.perform(plan).get()
      if response.statusCode != 304 { await keep(response, requestedAt: requestedAt(response)) }
      return response
    } catch {
      // The start of the last attempt is not known. With an earlier time, the response appears older.
      await store(error, requestedAt: startedAt)
      throw error
    }
  }

  /// When this response was requested, which has just arrived. Earlier attempts and the waits after them do not make it
  /// older.
  private func requestedAt(_ response: NetworkResponse<Data>) -> Foundation.Date {
    let attempt = response.success.map(Self.start) ?? Foundation.Date()
    return response.failures.isEmpty ? min(startedAt, attempt) : attempt
  }

  /// The start of an attempt that has just ended.
  private static func start(of attempt: NetworkAttempt) -> Foundation.Date {
    Foundation.Date(timeIntervalSinceNow: -attempt.duration.secondsAsDouble)
  }

  // MARK: Storing

  /// Stores the error that the request failed with, such as a 404, if the server says how long it is fresh. Any other
  /// refusal shows that the stored response is out of date (RFC 9111 §4.3.3).
  private func store(_ error: NetworkError, requestedAt: Foundation.Date) async {
    if !isOfSameUser { return }
    let lastError = error.failure?.lastError ?? error
    switch lastError {
    case .endpointError(let head, let data):
      let response = NetworkResponse(data: data ?? Data(), response: head)
      let failure = StoredResponse(response, isFailure: true, to: request, requestedAt: requestedAt)
      if let failure, failure.isStorable { return await save(failure) }
    case .noResponseData(let head):
      // A success for a call that accepts an empty body.
      return await keep(NetworkResponse(data: Data(), response: head), requestedAt: requestedAt)
    default: break
    }
    // A server that is failing or busy says nothing about the response. Neither does the response to another request,
    // such as the renewal of a credential.
    let isClientError = 400..<500 ~= lastError.errorResponse?.statusCode ?? 0
    let isRefused = isClientError && !error.isOutage
    if isRefused { await cache.store.remove(storedKey, requestedAt: requestedAt) }
  }

  /// Stores a response. One that cannot be stored shows that the stored one is out of date.
  private func keep(_ response: NetworkResponse<Data>, requestedAt: Foundation.Date) async {
    if !isOfSameUser { return }
    guard let new = StoredResponse(response, to: request, requestedAt: requestedAt) else {
      return await cache.store.remove(storedKey, requestedAt: requestedAt)
    }
    await save(new)
  }

  private func save(_ new: StoredResponse) async {
    guard new.isStorable else { return await cache.store.remove(storedKey, requestedAt: new.requestedAt) }
    guard new.hasVariants else { return await cache.store.store(new, for: key) }
    let variant = await index(for: new).variant(of: request)
    await cache.store.store(new, for: key.withVariant(variant))
  }

  /// The index of the variants of which `new` is one. If the server now varies by other fields, or did not vary in
  /// between, the index is new, and earlier variants are no longer found. A newer response may have suited their
  /// requests, and the most recent one counts (RFC 9111 §4.1).
  private func index(for new: StoredResponse) async -> StoredResponse {
    if let found = await cache.store.response(for: key), found.isVariantIndex, found.varyingFields == new.varyingFields
    {
      return found
    }
    let index = StoredResponse(indexOfVariants: new)
    await cache.store.store(index, for: key)
    return index
  }
}
