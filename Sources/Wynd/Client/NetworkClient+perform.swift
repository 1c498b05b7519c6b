public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// A client completes the request, puts its middleware around each attempt, and passes the call to its performer:
//
//     complete the plan ─ the performer: the retry loop ─ the middleware ─ the request

nonisolated extension NetworkClient {
  /// Carries out a call with the settings and the middleware of this client.
  @concurrent
  public func perform(_ plan: NetworkCallPlan) async -> Swift.Result<NetworkResponse<Data>, NetworkError> {
    do throws(NetworkError) {
      var plan = plan
      // The method that makes the call has started it already, unless it is one of another performer, which may not have
      // the defaults of this one.
      if plan.values[NetworkSignedInUsers.self] == nil { plan = plan.started(on: self, defaults) }
      plan.policy = plan.policy.inheriting(from: policy)
      if !middleware.isEmpty { plan.addMiddleware(of: self) }
      try complete(&plan)
      return await performer.perform(plan)
    } catch {
      return .failure(error)
    }
  }

  /// Adds the base URL and the header fields.
  private func complete(_ plan: inout NetworkCallPlan) throws(NetworkError) {
    // On Linux, changing a request without a URL stops the process.
    guard let url = plan.request.url else { throw .invalidRequest(reason: "it has no URL") }
    let base = ownBase ?? performer.defaults.baseURL.map(NetworkBaseURL.init)
    var isOwnOrigin = true
    if let base {
      isOwnOrigin = try base.complete(&plan.request)
    } else if url.scheme == nil, url.host?.isEmpty != false {
      throw .invalidRequest(reason: "the call names no host, and the base URL is nil")
    }
    try ownHeaders.add(to: &plan, isOwnOrigin: isOwnOrigin)
  }
}

nonisolated extension NetworkCallPlan {
  /// Puts a client's middleware around each attempt. For the retry loop it is still one attempt: the deadline and a
  /// cancellation apply to the middleware too, and additional requests that a middleware sends do not count as retries.
  fileprivate mutating func addMiddleware(of client: NetworkClient) {
    clientMiddleware += client.middleware
    // The middleware of a client that is made on this one is outside.
    let outer = middleware
    middleware = { plan, send in
      let attempt: NetworkSend = { await NetworkMiddlewareAttempt($0, plan, of: client, send).run() }
      return outer?(plan, attempt) ?? attempt
    }
  }
}
