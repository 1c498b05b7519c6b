import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An attempt that middleware carries out, perhaps with several requests.
nonisolated final class NetworkMiddlewareAttempt: Sendable {
  private let outgoing: NetworkOutgoing
  private let plan: NetworkCallPlan
  private let client: NetworkClient
  private let send: NetworkSend
  /// Combines what the retry decision has to know about all requests of the attempt.
  private let combined = NetworkLock(NetworkOutcome())

  init(
    _ outgoing: NetworkOutgoing, _ plan: NetworkCallPlan, of client: NetworkClient, _ send: @escaping NetworkSend
  ) {
    self.outgoing = outgoing
    self.plan = plan
    self.client = client
    self.send = send
  }

  /// Whether the latest response is to a redirected request, whose URL and method may differ from the original.
  var hasFollowedRedirect: Bool { combined.withLock { $0.hasFollowedRedirect } }

  func run() async -> NetworkOutcome {
    let call = NetworkMiddlewareCall(client: client, plan, attempt: outgoing.attempt, self)
    let send: NetworkMiddlewareNext = { [self] in try await response(to: $0) }
    let next = client.middleware.reversed().reduce(send) { next, middleware in middleware.around(next, in: call) }
    do {
      let response = try await next(outgoing.request)
      combined.withLock { $0.accepted = NetworkBox(response) }
    } catch {
      combined.withLock { $0.error = NetworkError(thrown: error) }
    }
    return combined.withLock { $0 }
  }

  /// The `next` of the last middleware: sends a request.
  private func response(to request: URLRequest) async throws(NetworkError) -> NetworkResponse<Data> {
    plan.values[NetworkCredentialNote.self]?.note(request, before: outgoing.request, client.middleware)
    var outgoing = outgoing
    outgoing.request = request
    outgoing.secretFields = plan.clientMiddleware.secretFields
    let outcome = await send(outgoing)
    let result = outcome.result(isHead: request.networkMethod == "HEAD", allowEmptyData: plan.allowEmptyData)
    note(outcome, result)
    return try result.get()
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
  fileprivate func around(_ next: @escaping NetworkMiddlewareNext, in call: NetworkMiddlewareCall)
    -> NetworkMiddlewareNext
  {
    { request in
      // What `next` has thrown last. The middleware may throw another error in its place.
      let cause = NetworkLock<NetworkError?>(nil)
      do {
        return try await respond(to: request, in: call) { request in
          do {
            let response = try await next(request)
            cause.withLock { $0 = nil }
            return response
          } catch {
            cause.withLock { $0 = error as? NetworkError }
            throw error
          }
        }
      } catch {
        throw NetworkError(thrown: error, inPlaceOf: cause.withLock { $0 })
      }
    }
  }
}
