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

/// The call that a request belongs to, as a middleware sees it.
nonisolated public struct NetworkMiddlewareCall: Sendable {
  /// The client that performs the call.
  public let client: NetworkClient
  /// The endpoint that is loaded, or nil for a `URLRequest`.
  public var endpoint: (any Endpoint)? { plan.endpoint }
  /// The number of the attempt, counted from 1; of a parsed value, that of the attempt with the response.
  public let attempt: Int
  /// Whether this is a download, an upload or a stream, including a call of an endpoint whose body is not in memory.
  /// The ``NetworkResponse`` of an upload has the body of the response. The one of a download or a stream has none.
  public var isTransfer: Bool { plan.transfer != nil }
  /// The plan of the call, as it has reached the session.
  let plan: NetworkCallPlan
  /// The requests of the attempt; nil for a parsed value.
  let requests: NetworkMiddlewareAttempt?

  init(client: NetworkClient, _ plan: NetworkCallPlan, attempt: Int, _ requests: NetworkMiddlewareAttempt? = nil) {
    self.client = client
    self.plan = plan
    self.attempt = attempt
    self.requests = requests
  }

  /// The `Authentication` objects whose credential the current task renews. Its requests must not wait for these
  /// renewals.
  static let renewals = TaskLocal<[ObjectIdentifier]>(wrappedValue: [])
}

nonisolated extension NetworkMiddlewareCall: CustomStringConvertible {
  /// The number of the call, and the type of its endpoint.
  public var description: String { "[\(plan.id)] \(endpoint.map { "\(type(of: $0))" } ?? "URLRequest")" }
}
