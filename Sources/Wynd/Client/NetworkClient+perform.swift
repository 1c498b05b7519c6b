public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// A client completes the request, puts its middleware around each attempt, and passes the call to its performer:
//
//     complete the plan ─ the performer: the retry loop ─ the middleware ─ the attempt

nonisolated extension NetworkClient {
  /// Carries out a call with the settings and the middleware of this client.
  #if compiler(>=6.2)
    @concurrent
  #endif
  public func perform(_ plan: NetworkCallPlan) async -> Swift.Result<NetworkResponse<Data>, NetworkError> {
    do throws(NetworkError) {
      let defaults = defaults
      var plan = plan.started(on: self, defaults)
      plan.policy = plan.policy.inheriting(from: policy)
      if !middleware.isEmpty { plan.add(middleware, of: self) }
      try complete(&plan)
      return await performer.perform(plan)
    } catch {
      return .failure(error)
    }
  }

  /// Adds the base URL and the header fields.
  private func complete(_ plan: inout NetworkCallPlan) throws(NetworkError) {
    let base = ownBase ?? performer.defaults.baseURL.map(NetworkBaseURL.init)
    var isOwnOrigin = true
    if let base {
      isOwnOrigin = try base.complete(&plan.request.url)
    } else if let url = plan.request.url, url.scheme == nil, url.host?.isEmpty != false {
      throw .invalidRequest(reason: "the call names no host, and the base URL is nil")
    }
    try ownHeaders.add(to: &plan.request, isOwnOrigin: isOwnOrigin, plan.ofClients.secretFields)
  }
}

nonisolated extension NetworkMiddleware {
  /// Puts this middleware around an attempt.
  fileprivate func around(_ next: @escaping NetworkMiddlewareNext, in call: NetworkCall) -> NetworkMiddlewareNext {
    { request in
      let cause = NetworkErrorCause()
      do {
        return try await respond(to: request, in: call, next: cause.observing(next))
      } catch {
        throw NetworkError(thrown: error, inPlaceOf: cause.last)
      }
    }
  }
}

nonisolated extension NetworkCallPlan {
  /// Puts a client's middleware around each attempt. For the retry loop it is still one attempt: the deadline and a
  /// cancellation apply to the middleware too, and additional requests that a middleware sends do not count as retries.
  fileprivate mutating func add(_ added: [any NetworkMiddleware], of client: NetworkClient) {
    for added in added {
      ofClients.secretFields.formUnion(added.secretFields)
      ofClients.cacheScopes.append { added.cacheScope(of: $0) }
    }
    // The middleware of a client that is made on this one is outside.
    let outer = middleware
    middleware = { plan, send in
      let attempt: NetworkSend = { outgoing in
        let call = NetworkCall(client: client, plan)
        return await NetworkMiddlewareAttempt(outgoing, allowEmptyData: plan.allowEmptyData, send).run(in: call)
      }
      return outer?(plan, attempt) ?? attempt
    }
  }
}

/// An attempt that middleware carries out, perhaps with several requests.
nonisolated struct NetworkMiddlewareAttempt: Sendable {
  private let outgoing: NetworkOutgoing
  private let allowEmptyData: Bool
  private let send: NetworkSend
  /// Combines what the retry decision has to know about all requests of the attempt.
  private let combined = NetworkLock(NetworkOutcome())

  fileprivate init(_ outgoing: NetworkOutgoing, allowEmptyData: Bool, _ send: @escaping NetworkSend) {
    self.outgoing = outgoing
    self.allowEmptyData = allowEmptyData
    self.send = send
  }

  /// Whether the latest response is to a redirected request, whose URL and method may differ from the original.
  var hasFollowedRedirect: Bool { combined.withLock { $0.hasFollowedRedirect } }

  fileprivate func run(in call: NetworkCall) async -> NetworkOutcome {
    var call = call
    call.attempt = self
    let next = call.client.middleware.reversed().reduce(sending(in: call)) { next, middleware in
      middleware.around(next, in: call)
    }
    do {
      let response = try await next(outgoing.request)
      var outcome = combined.withLock { $0 }
      outcome.accepted = response
      return outcome
    } catch {
      var outcome = combined.withLock { $0 }
      outcome.error = NetworkError(thrown: error)
      return outcome
    }
  }

  /// The `next` of the last middleware: sends a request.
  private func sending(in call: NetworkCall) -> NetworkMiddlewareNext {
    { request in
      let credential = call.plan.values[NetworkUnknownCredential.self]
      credential?.note(request, before: outgoing.request, call.client.middleware)
      var outgoing = outgoing
      outgoing.request = request
      outgoing.secretFields.formUnion(call.secretFields)
      let outcome = await send(outgoing)
      let result = outcome.result(isHead: request.networkMethod == "HEAD", allowEmptyData: allowEmptyData)
      note(outcome, result)
      return try result.get()
    }
  }

  private func note(_ outcome: NetworkOutcome, _ result: RetryLoop.CallResult) {
    combined.withLock { combined in
      combined.hasFollowedRedirect = outcome.hasFollowedRedirect
      if outcome.hasProgressed { combined.hasProgressed = true }
      // Once a request may have been applied, a later failure does not prove otherwise.
      if outcome.mayBeApplied || mayBeApplied(result) { combined.mayBeApplied = true }
    }
  }

  /// Whether the server may have applied the request, assuming a POST without an Idempotency-Key. A 401 means that it
  /// has not.
  private func mayBeApplied(_ result: RetryLoop.CallResult) -> Bool {
    guard case .failure(let error) = result else { return true }
    return error.statusCode != 401 && error.delivery == .maybeApplied
  }
}
