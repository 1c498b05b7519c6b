public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// A call of a client is a call of its performer, with functions put around it:
//
//     complete the request ─ the middleware of the call ─ the performer: the retry loop ─ the middleware of the attempt
//     ─ the attempt

nonisolated extension NetworkClient {
  /// Carries out a call with the settings and the middleware of this client.
  #if compiler(>=6.2)
    @concurrent
  #endif
  public func perform(_ plan: NetworkCallPlan) async -> Result<NetworkResponse<Data>, NetworkError> {
    do {
      let call = NetworkCall(client: self, plan)
      call.signIns.begin(with: signIns)
      var plan = plan
      try complete(&plan.request, in: call)
      plan.policy = plan.policy?.inheriting(from: policy) ?? policy
      plan.signIns = call.signIns
      let outerMiddleware = call.outerMiddleware + middleware
      if !outerMiddleware.isEmpty { plan.outerMiddleware = outerMiddleware }
      let ofCall = middleware.filter { $0.stage == .call }
      let perform: NetworkMiddlewareNext = { [plan] request in
        var plan = plan
        plan.request = request
        plan.addMiddlewareOfAttempt(in: call)
        if let changes = NetworkCacheChanges.current.get(), changes.callID == call.id {
          if let maxRetries = changes.maxRetries { plan.maxRetries = maxRetries }
          if changes.isAnotherCall { plan = plan.asAnotherCall() }
        }
        return try await performer.begin(plan).get()
      }
      let performThroughMiddleware = ofCall.reversed().reduce(perform) { next, middleware in
        middleware.around(next, in: call)
      }
      return .success(try await performThroughMiddleware(plan.request))
    } catch {
      return .failure(NetworkError(thrown: error))
    }
  }

  /// Carries out a call in a task.
  public func perform(
    _ plan: NetworkCallPlan,
    completionHandler: @escaping @Sendable (Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask {
    start(completionHandler) { await perform(plan) }
  }

  /// Adds the base URL and the header fields.
  private func complete(_ request: inout URLRequest, in call: NetworkCall) throws(NetworkError) {
    if let url = request.url, url.scheme == nil, url.host?.isEmpty != false {
      let path = url.path(percentEncoded: true)
      let query = url.query(percentEncoded: true)
      request.url = try NetworkEndpointURL.url(path: path, query: query, baseURL: settings.baseURL)
    }
    let baseURL = settings.baseURL
    let isSameOrigin = baseURL == nil || NetworkOrigin(request.url) == NetworkOrigin(baseURL)
    let secretFields = headers.isEmpty ? [] : call.secretFields
    for field in headers where request.value(forHTTPHeaderField: field.name) == nil {
      // A credential for this service must not be sent to another origin.
      let isSecret = NetworkSensitiveHeader.matches(field.name, field.value, known: secretFields)
      if isSameOrigin || !isSecret { try field.add(to: &request) }
    }
  }
}

nonisolated extension NetworkMiddleware {
  /// Puts this middleware around a call, or around an attempt.
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
  /// Puts the client's middleware of the attempt around each attempt. For the retry loop it is still one attempt: the
  /// deadline and a cancellation apply to the middleware too, and additional requests that a middleware sends do not
  /// count as retries.
  fileprivate mutating func addMiddlewareOfAttempt(in call: NetworkCall) {
    let ofAttempt = call.client.middleware.filter { $0.stage == .attempt }
    if ofAttempt.isEmpty, call.secretFields.isEmpty { return }
    // That of a client that is made on this one.
    let outer = middleware
    let allowEmptyData = allowEmptyData
    middleware = { send in
      let attempt: NetworkSend = { outgoing in
        let attempt = NetworkMiddlewareAttempt(outgoing, allowEmptyData: allowEmptyData, send)
        return await attempt.run(through: ofAttempt, in: call)
      }
      return outer?(attempt) ?? attempt
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

  fileprivate func run(through middleware: [any NetworkMiddleware], in call: NetworkCall) async -> NetworkOutcome {
    var call = call
    call.attempt = self
    let next = middleware.reversed().reduce(sending(in: call)) { next, middleware in
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

  /// The end of the middleware: sends a request.
  private func sending(in call: NetworkCall) -> NetworkMiddlewareNext {
    { request in
      var outgoing = outgoing
      outgoing.request = request
      outgoing.secretFields.formUnion(call.secretFields)
      let outcome = await send(outgoing)
      let result = outcome.result(isHead: request.networkMethod == "HEAD", allowEmptyData: allowEmptyData)
      note(outcome, mayBeApplied: mayBeApplied(outcome, result))
      return try result.get()
    }
  }

  private func note(_ outcome: NetworkOutcome, mayBeApplied: Bool) {
    combined.withLock { combined in
      combined.hasFollowedRedirect = outcome.hasFollowedRedirect
      if outcome.hasProgressed { combined.hasProgressed = true }
      // Once a request may have been applied, a later failure does not prove otherwise.
      if outcome.hasFollowedRedirect || outcome.mayBeApplied || mayBeApplied { combined.mayBeApplied = true }
    }
  }

  /// Whether the server may have applied the request, assuming a POST without an Idempotency-Key. A 401 means that it
  /// has not.
  private func mayBeApplied(_ outcome: NetworkOutcome, _ result: RetryLoop.CallResult) -> Bool {
    guard case .failure(let error) = result else { return true }
    return error.statusCode != 401 && RepeatSafety.proven(by: error, in: outcome) == nil
  }
}
