import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One call that a cache may serve. ``result()`` is what happens, from top to bottom (RFC 9111 §4).
nonisolated final class NetworkCachedCall: Sendable {
  typealias Result = Swift.Result<NetworkResponse<Data>, NetworkError>

  private let cache: ResponseCache
  private let plan: NetworkCallPlan
  private let permissions: NetworkCachePermissions
  private let key: ResponseKey
  private let credential = NetworkCredentialNote()
  private let startedAt = Foundation.Date()

  init(_ cache: ResponseCache, _ plan: NetworkCallPlan, _ permissions: NetworkCachePermissions) {
    self.cache = cache
    var plan = plan
    plan.values[NetworkCredentialNote.self] = credential
    plan.bypassesURLCache = true
    self.plan = plan
    self.permissions = permissions
    key = ResponseKey(plan, fieldsOfSession: cache.fieldsOfSession)
  }

  func result() async -> Result {
    let (call, found) = await cache.store.start(key, plan.request)
    defer { cache.store.end(call) }

    let now = Foundation.Date()
    let stored = found.flatMap { permissions.mayUse($0, at: now) ? $0 : nil }
    if let stored, permissions.mayServe(stored, at: now) { return served(stored, as: .cache) }
    if permissions.isStoredOnly { return .failure(.urlError(URLError(.resourceUnavailable))) }

    // One attempt is enough if the stored response can be served in place of an error: not one with must-revalidate or
    // no-cache, but of any age.
    let mayBeStale = cache.servesStaleIfError && stored?.mayReplaceError == true
    var plan = plan
    if mayBeStale { plan.policy.maxRetries = 0 }
    plan.request = request(ifChanged: stored)
    var result = await cache.base.perform(plan)

    if let stored, stored.canBeValidated, case .success(let response) = result, response.statusCode == 304 {
      if let renewed = await renewed(stored, by: response, call) {
        return served(renewed, as: .revalidated, after: response)
      }
      // The 304 is about another version or another user, so there is no body for it.
      result = await cache.base.perform(secondPlan(plan, after: response))
    }

    await store(result, call)
    guard let stored, mayBeStale, case .failure(let error) = result, error.isOutage else { return result }
    // Removed meanwhile, for example at a sign-out.
    guard isOfSameUser, await cache.store.isCurrent(call) else { return result }
    return served(stored, as: .cache, because: error)
  }

  /// Whether the same user is still signed in, and no other credential was sent. Otherwise, the response could belong
  /// to another user.
  private var isOfSameUser: Bool { key.hasUsers(ResponseKey.users(of: plan)) && !credential.wasAdded }

  // MARK: Requests

  /// The request as the server receives it.
  private func request(ifChanged stored: StoredResponse?) -> URLRequest {
    var request = plan.request
    // The session's own cache must not respond in place of the server.
    if !permissions.isReload { request.cachePolicy = .reloadIgnoringLocalCacheData }
    if let directive = permissions.directiveForOtherCaches, request.value(forHTTPHeaderField: "Cache-Control") == nil {
      request.setValue(directive, forHTTPHeaderField: "Cache-Control")
    }
    if let stored, stored.canBeValidated {
      request.setValue(stored.header("ETag"), forHTTPHeaderField: "If-None-Match")
      request.setValue(stored.header("Last-Modified"), forHTTPHeaderField: "If-Modified-Since")
    }
    return request
  }

  /// The plan of a second request without conditions. It has attempts and events of its own, and what is left of the
  /// deadline.
  private func secondPlan(_ plan: NetworkCallPlan, after response: NetworkResponse<Data>) -> NetworkCallPlan {
    var second = plan.withNewID()
    second.request = request(ifChanged: nil)
    if let deadline = plan.policy.deadline, deadline < .noLimit, let last = response.success {
      second.policy.deadline = max(.zero, deadline - last.startedAt - last.duration)
    }
    return second
  }

  // MARK: Responses

  /// The stored response as the caller receives it, or the error if it is one for the caller. `notModified` has
  /// confirmed it; `error` is why the server did not.
  private func served(
    _ stored: StoredResponse, as source: NetworkResponseSource, after notModified: NetworkResponse<Data>? = nil,
    because error: NetworkError? = nil
  ) -> Result {
    do throws(NetworkError) {
      var response = try stored.served(as: source, allowEmptyData: plan.allowEmptyData, because: error)
      response.onUndecodable = plan.undecodableReport(on: .network("onEvent"), attempt: 0, elapsed: .zero)
      // The attempts that it took to receive the 304.
      if let notModified {
        response.failures = notModified.failures
        response.success = notModified.success
        response.onUndecodable = notModified.onUndecodable
      }
      return .success(response)
    } catch { return .failure(error) }
  }

  /// The stored response after a 304. Nil if that is about another version or another user. It is served even if it was
  /// removed meanwhile, because the server has just confirmed it. It is not stored again then.
  private func renewed(
    _ stored: StoredResponse, by notModified: NetworkResponse<Data>, _ call: ResponseStore.Call
  ) async -> StoredResponse? {
    if !isOfSameUser { return nil }
    switch stored.match(notModified.response) {
    case .differs: return nil
    case .confirms: return stored
    case .updates:
      let new = StoredResponse(
        notModified.response, renewing: stored, to: plan.request, requestedAt: requestedAt(notModified))
      if let new { await replace(by: new, call) }
      return new
    }
  }

  /// Stores the response, or removes the stored one if this shows that it is out of date (RFC 9111 §4.3.3).
  private func store(_ result: Result, _ call: ResponseStore.Call) async {
    if !isOfSameUser { return }
    switch result {
    case .success(let response):
      if response.statusCode != 304 { await replace(by: stored(response, requestedAt(response)), call) }
    case .failure(let error):
      let lastError = error.failure?.lastError ?? error
      // The start of the last attempt is not known. With an earlier time, the response appears older.
      switch lastError {
      case .endpointError(let head, let data):
        let failure = stored(NetworkResponse(data: data ?? Data(), response: head), isFailure: true, startedAt)
        if let failure, failure.isStorable { return await replace(by: failure, call) }
      case .noResponseData(let head):
        // A success for a call that accepts an empty body.
        return await replace(by: stored(NetworkResponse(data: Data(), response: head), startedAt), call)
      default: break
      }
      // A server that is failing or busy says nothing about the response. Neither does the response to another request,
      // such as the renewal of a credential.
      let isClientError = 400..<500 ~= lastError.errorResponse?.statusCode ?? 0
      if isClientError, !error.isOutage { await replace(by: nil, call) }
    }
  }

  private func stored(
    _ response: NetworkResponse<Data>, isFailure: Bool = false, _ requestedAt: Foundation.Date
  ) -> StoredResponse? {
    StoredResponse(response, isFailure: isFailure, to: plan.request, requestedAt: requestedAt)
  }

  private func replace(by new: StoredResponse?, _ call: ResponseStore.Call) async {
    await cache.store.replace(by: new?.isStorable == true ? new : nil, call)
  }

  /// When this response was requested, which has just arrived. Earlier attempts and the waits after them do not make it
  /// older.
  private func requestedAt(_ response: NetworkResponse<Data>) -> Foundation.Date {
    guard let attempt = response.success else { return startedAt }
    return Foundation.Date(timeIntervalSinceNow: -attempt.duration.secondsAsDouble)
  }
}

nonisolated extension NetworkError {
  /// Whether the server, or the one that renews a credential, cannot be reached or is failing: a retry may help. A stored
  /// response is served then, whatever its age.
  fileprivate var isOutage: Bool { inner?.isOutage ?? shouldRetry }
}
