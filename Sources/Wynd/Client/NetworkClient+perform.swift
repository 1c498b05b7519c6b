public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// A client completes the request, puts its middleware around each attempt, and passes the call to its performer:
//
//     complete the plan ─ the performer: a cache, if there is one, and the retry loop ─ the middleware ─ the request

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

/// The base URL of a client, taken apart once, when it is set: Foundation takes microseconds for each part of a URL.
nonisolated final class NetworkBaseURL: Sendable {
  private let parts: Swift.Result<(origin: String, path: String), NetworkError>
  private let origin: NetworkOrigin

  init(_ url: URL) {
    parts = Swift.Result { () throws(NetworkError) in try NetworkEndpointURL.parts(ofBase: url) }
    origin = NetworkOrigin(url)
  }

  /// Completes the URL of a request, if it has no host.
  ///
  /// - Returns: Whether the request goes to the origin of this base URL.
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if one of the two URLs is not valid.
  func complete(_ request: inout URLRequest) throws(NetworkError) -> Bool {
    guard let url = request.url, url.scheme == nil, url.host?.isEmpty != false else {
      return NetworkOrigin(request.url) == origin
    }
    let parts = try parts.get()
    request.url = try NetworkEndpointURL.url(parts.origin, url, after: parts.path)
    return true
  }
}

/// The header fields of a client, checked once, when they are set.
nonisolated final class NetworkClientHeaders: Sendable {
  /// Why no call with these fields can be sent; nil if they are valid.
  private let invalid: NetworkError?
  private let fields: [(name: String, value: String)]
  let contentType: String?
  let accept: String?

  init(_ headers: [String: String]) {
    let fields = headers.networkSorted.map { (name: $0.key, value: $0.value) }
    func value(of name: String) -> String? { fields.first { $0.name.lowercased() == name }?.value }
    self.fields = fields
    contentType = value(of: "content-type")
    accept = value(of: "accept")
    do throws(NetworkError) {
      try NetworkRequestValidation.check(headers)
      invalid = nil
    } catch { invalid = error }
  }

  /// Adds the fields that the request does not already have. `isOwnOrigin`: whether the request goes to the service of
  /// the client; no other one must receive a credential.
  ///
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if a field is not valid.
  func add(to plan: inout NetworkCallPlan, isOwnOrigin: Bool) throws(NetworkError) {
    if let invalid { throw invalid }
    for (name, value) in fields where plan.request.value(forHTTPHeaderField: name) == nil {
      if !isOwnOrigin, NetworkSensitiveHeader.matches(name, value, known: plan.clientMiddleware.secretFields) {
        continue
      }
      plan.request.setValue(value, forHTTPHeaderField: name)
    }
  }
}

nonisolated extension NetworkCallPlan {
  /// The middleware of all clients that the call passes.
  var clientMiddleware: [any NetworkMiddleware] {
    get { values[[any NetworkMiddleware].self] ?? [] }
    set { values[[any NetworkMiddleware].self] = newValue }
  }
}

nonisolated extension [any NetworkMiddleware] {
  /// The names of the header fields in which they send a secret. A sign-in or a renewal may add one during a call.
  var secretFields: Set<String> { reduce(into: []) { $0.formUnion($1.secretFields) } }
}
