public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// What a request proves itself with.
nonisolated public protocol NetworkCredential: Sendable {
  /// The header field that carries it.
  var header: URLRequest.Header { get }
  /// Does this answer, of status 400 and up, say that it is no longer good? A 401 does, by default.
  func isRejected(by response: HTTPURLResponse) -> Bool
}

nonisolated extension NetworkCredential {
  /// On status 401.
  public func isRejected(by response: HTTPURLResponse) -> Bool { response.statusCode == 401 }
}

/// A bearer token (RFC 6750).
nonisolated public struct BearerToken: NetworkCredential, Hashable, Codable {
  /// As the server gave it.
  public var token: String
  /// Makes one.
  public init(_ token: String) { self.token = token }
  /// `Authorization: Bearer …`
  public var header: URLRequest.Header { .authorization(bearer: token) }
}

/// Adds a credential to each attempt, and renews it when it is rejected: once, whatever the number of calls that find out
/// at the same time.
///
/// ```swift
/// let authentication = Authentication<BearerToken>(for: baseURL) { old, client in
///   try await client.load(.newToken(after: old))
/// }
/// let client = NetworkClient(baseURL: baseURL, middleware: [authentication])
/// authentication.credential = BearerToken(token)       // signed in; nil: signed out
/// ```
///
/// - A call whose credential is rejected is sent once more with the new one, which is not counted as a retry. A second
///   rejection is final.
/// - A rejection of a credential that has been renewed meanwhile is answered by the new one, without renewing it again.
/// - If renewing fails, every call that waits for it fails with that error, in ``NetworkError/middlewareError(_:)``; the
///   next call may try again.
/// - Cancelling a call that waits does not cancel the renewal, for which others may wait.
/// - What the closure sends goes without the credential and cannot cause another renewal, as long as it sends from the
///   task it runs in, or one made there. What it sends past its client needs a policy without a budget: the renewal could
///   be held for the call that waits for it.
/// - A request that carries the field already is left as it is.
/// - No other origin than `origin` gets the credential, by a redirect neither, whatever field carries it.
nonisolated public final class Authentication<Credential: NetworkCredential>: NetworkMiddleware, @unchecked Sendable {
  private let origin: NetworkOrigin
  private let field: String
  private let renew: @Sendable (Credential?, NetworkClient) async throws -> Credential
  private let lock = NSLock()
  // Under the lock.
  private var current: Credential?
  // What the credential was before it was ever renewed: it stands for who is signed in.
  private var first: String?
  private var name: String?
  private var generation = 0
  // Counts sign-ins and sign-outs: what one user began is not finished as another.
  private var epoch = 0
  private var renewal: (epoch: Int, task: Task<Credential, any Error>)?
  // With those of who was signed in before.
  private var renewals = 0

  /// Makes one for one service.
  ///
  /// - Parameters:
  ///   - origin: A URL of the service: scheme, host and port count.
  ///   - credential: What is known already. Without one, a call renews first.
  ///   - account: Whose it is; see ``account``.
  ///   - field: The header field that will carry it, as long as none is known.
  ///   - renew: Gets the credential that was rejected and the client of the call; returns a new one.
  public init(
    for origin: URL, _ credential: Credential? = nil, as account: String? = nil, field: String = "Authorization",
    renew: @escaping @Sendable (Credential?, NetworkClient) async throws -> Credential
  ) {
    self.origin = NetworkOrigin(origin)
    self.field = field
    self.renew = renew
    (current, first, name) = (credential, credential?.header.value, account)
  }

  /// Who is signed in: set at sign-in, nil at sign-out. A renewal that is under way does not overwrite it, and calls that
  /// were begun before end with `URLError.userAuthenticationRequired`: they would be finished as somebody else.
  public var credential: Credential? {
    get { lock.withLock { current } }
    set { signIn(newValue) }
  }

  /// Sets ``credential`` and ``account`` at once: a call between the two would be one user's under the other's name.
  public func signIn(_ credential: Credential?, as account: String? = nil) {
    lock.withLock {
      (current, first, name) = (credential, credential?.header.value, account)
      generation += 1
      epoch += 1
    }
  }

  /// The name of who is signed in, if the app knows it. A ``ResponseCache`` keeps answers for this account, also over
  /// renewals and launches; without it, for the credential that was set.
  public var account: String? { lock.withLock { name } }

  /// With the credential; after a rejection once more, with a new one.
  public func respond(
    to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
  ) async throws -> NetworkResponse {
    let isOurs = AuthenticationInProgress.current.contains(ObjectIdentifier(self))
    let (known, generation, now, isFree) = lock.withLock {
      (current, self.generation, self.epoch, isOurs && renewals > 0)
    }
    let field = known?.header.name ?? self.field
    // A request that brings its own, to sign in for one, is left as it is.
    if isFree || NetworkOrigin(request.url) != origin || request.value(forHTTPHeaderField: field) != nil {
      return try await next(request)
    }
    let epoch = call.history.epoch(of: self, now: now)
    guard let known else {
      return try await next(signed(request, try await renewed(after: generation, epoch, call.client)))
    }
    guard epoch == now else { throw URLError(.userAuthenticationRequired) }
    do {
      return try await next(signed(request, known))
    } catch NetworkError.endpointError(let response, _)
      where known.isRejected(by: response) && request.httpBodyStream == nil
      && NetworkOrigin(response.url) == origin
      && (!call.history.hasFollowedRedirect
        || RetryPolicy.default.safety(.noResponse, RetryRequestFacts(request), RetryCallState()).isSafe)
    {
      return try await next(signed(request, try await renewed(after: generation, epoch, call.client)))
    }
  }

  /// Answers to one user are not another's.
  public func cacheScope(of request: URLRequest) -> String? {
    NetworkOrigin(request.url) == origin ? lock.withLock { name ?? first } : nil
  }

  private func signed(_ request: URLRequest, _ credential: Credential) throws -> URLRequest {
    let field = credential.header
    if let flaw = field.flaw ?? SessionTransport.validationError(forField: field.name, field.value) {
      throw NetworkError.invalidRequest(reason: flaw)
    }
    SensitiveHeader.add(field.name)
    var request = request
    request.setValue(field.value, forHTTPHeaderField: field.name)
    return request
  }

  /// The credential after the one of that generation. All who ask meanwhile wait for the same renewal; a call that is
  /// cancelled is ended by its loop, and what waits for it here does no harm.
  private func renewed(after old: Int, _ epoch: Int, _ client: NetworkClient) async throws -> Credential {
    do {
      let task = try lock.withLock {
        if self.epoch != epoch { throw URLError(.userAuthenticationRequired) }
        if let renewal, renewal.epoch == epoch { return renewal.task }
        if generation != old, let current { return Task { current } }
        let task = renewing(current, epoch, client)
        renewal = (epoch, task)
        return task
      }
      let credential = try await task.value
      // Nobody is given what belongs to who was signed in before.
      if lock.withLock({ self.epoch }) != epoch { throw URLError(.userAuthenticationRequired) }
      return credential
    } catch {
      // Whatever it is, it is no answer to this request: nothing here is to be tried again for it.
      throw Task.isCancelled ? NetworkError.cancelled : .middlewareError(error)
    }
  }

  /// A task of its own: the call that began it may be cancelled. Under the lock.
  private func renewing(_ old: Credential?, _ epoch: Int, _ client: NetworkClient) -> Task<Credential, any Error> {
    renewals += 1
    return Task {
      defer {
        lock.withLock {
          renewals -= 1
          if renewal?.epoch == epoch { renewal = nil }
        }
      }
      let inProgress = AuthenticationInProgress.current.union([ObjectIdentifier(self)])
      let credential = try await AuthenticationInProgress.value.withValue(inProgress) { try await renew(old, client) }
      lock.withLock {
        guard self.epoch == epoch else { return }
        current = credential
        first = first ?? credential.header.value
        generation += 1
      }
      return credential
    }
  }
}

/// Which authentications are being renewed by whatever runs here: their own requests go without.
nonisolated enum AuthenticationInProgress {
  static let value = TaskLocal<Set<ObjectIdentifier>>(wrappedValue: [])
  static var current: Set<ObjectIdentifier> { value.get() }
}
