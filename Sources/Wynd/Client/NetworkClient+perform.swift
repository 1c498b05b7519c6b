public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// A call of a client is a call of its performer, with functions put around it:
//
//     complete the request ─ the middleware of the call ─ the performer: the retry loop ─ the middleware of the attempt
//     ─ the attempt

/// Carries out a call, and returns its response or throws its error.
typealias NetworkPerform = @Sendable (NetworkCallPlan) async throws -> NetworkResponse<Data>

nonisolated extension NetworkClient {
  /// Carries out a call with the settings and the middleware of this client.
  #if compiler(>=6.2)
    @concurrent
  #endif
  public func perform(_ plan: NetworkCallPlan) async -> Result<NetworkResponse<Data>, NetworkError> {
    do {
      let client = beginningCall()
      var plan = plan
      try complete(&plan.request)
      plan.policy = plan.policy?.inheriting(from: policy) ?? policy
      // A middleware of the call may sign a user in before it sends the request.
      let signedIn = plan.signIns ?? signIns.filter { $0.value != 0 }
      let ofCall = middleware.filter { $0.stage == .call }
      // Without them, the request is sent at once. Otherwise the app may invalidate its session while they work.
      let performer = ofCall.isEmpty ? performerInForce : client.performerInForce
      let endpoint = plan.endpoint as? any Endpoint
      let call = NetworkCall(
        client: client, endpoint: endpoint, isTransfer: plan.isTransfer, isReadOnly: plan.isReadOnly, signIns: signedIn)
      let perform: NetworkPerform = { plan in
        var call = call
        call.signIns = signedIn.merging(signIns) { began, _ in began }
        var plan = plan
        plan.addMiddlewareOfAttempt(in: call)
        return try await performer.begin(plan).get()
      }
      let performThroughMiddleware = ofCall.reversed().reduce(perform) { perform, middleware in
        middleware.around(perform, in: call)
      }
      return .success(try await performThroughMiddleware(plan))
    } catch {
      return .failure(NetworkError(thrown: error))
    }
  }

  /// Carries out a call in a task.
  public func perform(
    _ plan: NetworkCallPlan,
    completionHandler: @escaping @Sendable (Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask {
    let client = beginningCall()
    return start(completionHandler) { await client.perform(plan) }
  }

  /// Adds the base URL and the header fields.
  private func complete(_ request: inout URLRequest) throws(NetworkError) {
    if let url = request.url, url.scheme == nil, url.host?.isEmpty != false {
      let path = url.path(percentEncoded: true)
      let query = url.query(percentEncoded: true)
      request.url = try NetworkEndpointURL.url(path: path, query: query, baseURL: settings.baseURL)
    }
    let isSameOrigin = baseURL == nil || NetworkOrigin(request.url) == NetworkOrigin(baseURL)
    for field in headers where request.value(forHTTPHeaderField: field.name) == nil {
      // A credential for this service must not be sent to another origin.
      let isSecret = NetworkSensitiveHeader.matches(field.name, field.value, known: secretFields)
      if isSameOrigin || !isSecret { try field.add(to: &request) }
    }
  }
}

nonisolated extension NetworkMiddleware {
  /// Puts this middleware around a call.
  fileprivate func around(_ perform: @escaping NetworkPerform, in call: NetworkCall) -> NetworkPerform {
    { plan in
      let cause = NetworkErrorCause()
      let perform = cause.observing(perform)
      do {
        if let own = self as? any NetworkPlanMiddleware {
          return try await own.respond(to: plan, in: call, next: perform)
        }
        return try await respond(to: plan.request, in: call) { request in
          var plan = plan
          plan.request = request
          return try await perform(plan)
        }
      } catch {
        throw NetworkError(thrown: error, inPlaceOf: cause.last)
      }
    }
  }

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

/// A middleware of the call that may also change how the call is retried.
nonisolated protocol NetworkPlanMiddleware: NetworkMiddleware {
  func respond(
    to plan: NetworkCallPlan, in call: NetworkCall, next: @escaping NetworkPerform
  ) async throws -> NetworkResponse<Data>
}

nonisolated extension NetworkCallPlan {
  /// Puts the client's middleware of the attempt around each attempt. For the retry loop it is still one attempt: the
  /// deadline and a cancellation apply to the middleware too, and additional requests that a middleware sends do not
  /// count as retries.
  fileprivate mutating func addMiddlewareOfAttempt(in call: NetworkCall) {
    let ofAttempt = call.client.middleware.filter { $0.stage == .attempt }
    if ofAttempt.isEmpty, call.client.secretFields.isEmpty { return }
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
  private struct State: Sendable {
    /// Combines what the retry decision has to know about all requests of the attempt.
    var combined = NetworkOutcome()
    var hasLatestFollowedRedirect = false
  }
  private let outgoing: NetworkOutgoing
  private let allowEmptyData: Bool
  private let send: NetworkSend
  private let state = NetworkLock(State())

  fileprivate init(_ outgoing: NetworkOutgoing, allowEmptyData: Bool, _ send: @escaping NetworkSend) {
    self.outgoing = outgoing
    self.allowEmptyData = allowEmptyData
    self.send = send
  }

  /// Whether the latest response is to a redirected request, whose URL and method may differ from the original.
  var hasFollowedRedirect: Bool { state.withLock { $0.hasLatestFollowedRedirect } }

  fileprivate func run(through middleware: [any NetworkMiddleware], in call: NetworkCall) async -> NetworkOutcome {
    var call = call
    call.attempt = self
    let next = middleware.reversed().reduce(sending(in: call)) { next, middleware in
      middleware.around(next, in: call)
    }
    do {
      let response = try await next(outgoing.request)
      var outcome = state.withLock { $0.combined }
      outcome.accepted = response
      return outcome
    } catch {
      var outcome = state.withLock { $0.combined }
      outcome.error = NetworkError(thrown: error)
      return outcome
    }
  }

  /// The end of the middleware: sends a request.
  private func sending(in call: NetworkCall) -> NetworkMiddlewareNext {
    { request in
      var outgoing = outgoing
      outgoing.request = request
      outgoing.secretFields.formUnion(call.client.secretFields)
      let outcome = await send(outgoing)
      let result = outcome.result(isHead: request.networkMethod == "HEAD", allowEmptyData: allowEmptyData)
      note(outcome, mayBeApplied: mayBeApplied(outcome, result))
      return try result.get()
    }
  }

  private func note(_ outcome: NetworkOutcome, mayBeApplied: Bool) {
    state.withLock { state in
      state.hasLatestFollowedRedirect = outcome.hasFollowedRedirect
      if outcome.hasProgressed { state.combined.hasProgressed = true }
      // Once a request may have been applied, a later failure does not prove otherwise, as after a redirect.
      if outcome.hasFollowedRedirect || mayBeApplied { state.combined.hasFollowedRedirect = true }
    }
  }

  /// Whether the server may have applied the request, assuming a POST without an Idempotency-Key. A 401 means that it
  /// has not.
  private func mayBeApplied(_ outcome: NetworkOutcome, _ result: RetryLoop.CallResult) -> Bool {
    guard case .failure(let error) = result else { return true }
    return error.statusCode != 401 && RepeatSafety.proven(by: error, in: outcome) == nil
  }
}
