import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An attempt that middleware carries out, perhaps with several requests.
nonisolated final class NetworkMiddlewareAttempt: Sendable {
  private let outgoing: NetworkOutgoing
  private let allowEmptyData: Bool
  private let send: NetworkSend
  /// Combines what the retry decision has to know about all requests of the attempt.
  private let combined = NetworkLock(NetworkOutcome())

  init(_ outgoing: NetworkOutgoing, allowEmptyData: Bool, _ send: @escaping NetworkSend) {
    self.outgoing = outgoing
    self.allowEmptyData = allowEmptyData
    self.send = send
  }

  /// Whether the latest response is to a redirected request, whose URL and method may differ from the original.
  var hasFollowedRedirect: Bool { combined.withLock { $0.hasFollowedRedirect } }

  func run(in call: NetworkCall) async -> NetworkOutcome {
    let call = NetworkCall(client: call.client, call.plan, attempt: call.attempt, self)
    let next = call.client.middleware.reversed().reduce(sending(in: call)) { next, middleware in
      middleware.around(next, in: call)
    }
    do {
      let response = try await next(outgoing.request)
      var outcome = combined.withLock { $0 }
      outcome.accepted = NetworkBox(response)
      return outcome
    } catch {
      var outcome = combined.withLock { $0 }
      outcome.error = NetworkError(thrown: error)
      return outcome
    }
  }

  /// The `next` of the last middleware: sends a request.
  private func sending(in call: NetworkCall) -> NetworkMiddlewareNext {
    { [self] request in
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
      let delivery = outcome.delivery ?? delivery(after: result)
      if delivery == .mayHaveBeenApplied { combined.delivery = delivery }
    }
  }

  /// What a result says about its request. A 401 means that the server has not applied it.
  private func delivery(after result: RetryLoop.CallResult) -> NetworkDelivery {
    guard case .failure(let error) = result else { return .mayHaveBeenApplied }
    return error.statusCode == 401 ? .refused : error.delivery
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
