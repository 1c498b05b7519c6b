// Client: shared settings for the calls to one service, middleware around each attempt, and authentication.
// It needs Core, Body and Endpoint.
// Start with NetworkClient.swift.

public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Adds a credential to every attempt. If the credential has expired or is rejected, it is renewed once for all calls
/// that need it.
///
/// ```swift
/// let authentication = Authentication<SignIn>(
///   for: baseURL, onSessionEnd: { _ in await showSignIn() }
/// ) { old, client in
///   try await client.load(.newToken(old.refreshToken))
/// }
/// let client = NetworkClient(baseURL: baseURL, middleware: [authentication])
/// authentication.signIn(try await client.load(.signIn(name, password)))
/// ```
///
/// A credential that cannot be renewed, such as an API key, needs no closure. A rejection is then an error like any
/// other, and the credential is kept:
///
/// ```swift
/// let key = Authentication(for: baseURL, NetworkHeader("X-Api-Key", UserSettings.key))
/// let client = NetworkClient(baseURL: baseURL, middleware: [key])
/// key.signIn(NetworkHeader("X-Api-Key", newKey))        // for the calls that start from now on
/// ```
///
/// - Without a credential, requests are sent unauthenticated. To renew before the first request, start with an expired
///   credential.
/// - If the credential is rejected, the request is sent once more with a renewed one, which does not count as a retry.
///   A second rejection is final. A credential that was renewed in the meantime is not renewed again.
/// - If the renewal fails, every call that waits for it fails with that error in ``NetworkError/generalError(_:)``.
///   The next call renews again, unless the renewal was refused: the response had status 400, 401 or 403, or the
///   closure threw `URLError(.userAuthenticationRequired)`. A refused renewal ends the user's session, and
///   ``credential`` becomes nil. A call that was rejected then fails with its own response, in
///   ``NetworkError/mappedError(_:_:)`` with the error of the renewal.
/// - A call waits for a renewal no longer than the `timeoutInterval` of its request, and not beyond its deadline.
/// - Canceling a call does not cancel the renewal, because other calls may wait for it.
/// - The client that is passed to the closure has neither this middleware nor a retry budget. A client that it is made
///   on keeps both. All other requests of the closure, with any client, are sent without the credential and never wait
///   for the renewal. A cache treats them as requests without a user. Only the requests of a detached task wait, until
///   their `timeoutInterval`.
/// - A request that already has the header field is sent unchanged.
/// - The credential is never sent to another origin, not even after a redirect. This applies to every header field.
/// - It belongs in the client's ``NetworkClient/middleware``. A middleware that contains it has to pass on
///   ``cacheScope(of:)`` and ``secretFields``. The user of a call is then known at its first attempt, not at its start.
nonisolated public final class Authentication<Credential: NetworkCredential>: NetworkMiddleware {
  private typealias Renew = @Sendable (Credential, NetworkClient) async throws -> Credential

  private struct Renewal: Sendable {
    let work: _Concurrency.Task<Credential, any Error>
    /// The number of retries of the call that started it.
    var maxRetries = Int.max
  }

  private struct State: Sendable {
    var credential: Credential?
    /// The header field of the credential when it was set.
    var header: NetworkHeader?
    var account: String?
    /// The header value of the credential at sign-in. It identifies the user across renewals.
    var signInHeader: String?
    /// Counts sign-ins and sign-outs, so that a call never completes with another user's credential.
    var signIn = 1
    /// The last renewal gave a credential that had expired already: the clock of the device is ahead.
    var ignoresExpiry = false
    var renewal: Renewal?
    /// The names of the header fields of all credentials so far.
    var fieldNames: Set<String> = []

    /// 0 without a credential.
    var currentSignIn: Int { credential == nil ? 0 : signIn }
  }
  private let origin: NetworkOrigin
  private let onChange: @Sendable (Credential?) -> Void
  private let onSessionEnd: @Sendable (any Error) async -> Void
  private let renew: Renew?
  private let state: NetworkLock<State>
  private let hasSaidNotice = NetworkLock(false)
  private let changes = DispatchQueue(label: "Wynd.Authentication")

  /// Makes a middleware that authenticates the requests to one service.
  ///
  /// - Parameters:
  ///   - origin: A URL of the service. Only its scheme, host and port are used.
  ///   - credential: The credential, if the user is already signed in.
  ///   - account: The name of the user; see ``account``.
  ///   - onChange: Called with the credential after each sign-in, renewal and sign-out, in this order, on a queue of
  ///     its own. Save it here: a renewal may end after the user has signed out, and has no effect then.
  ///   - onSessionEnd: Called with the error if a renewal is refused, after `onChange`, in a task of its own. Ask the
  ///     user to sign in: `{ _ in await showSignIn() }` calls a function of the main actor.
  ///   - renew: Receives the old credential and a client for the request, and returns the new credential.
  public convenience init(
    for origin: URL, _ credential: Credential? = nil, as account: String? = nil,
    onChange: @escaping @Sendable (Credential?) -> Void = { _ in },
    onSessionEnd: @escaping @Sendable (any Error) async -> Void = { _ in },
    renew: @escaping @Sendable (Credential, NetworkClient) async throws -> Credential
  ) {
    self.init(origin, credential, account, onChange, onSessionEnd, renew)
  }

  /// Makes a middleware whose credential cannot be renewed. If it is rejected or has expired, the call fails with the
  /// server's response, and the credential is kept.
  ///
  /// - Parameters:
  ///   - origin: A URL of the service. Only its scheme, host and port are used.
  ///   - credential: The credential, if there is one already.
  ///   - account: The name of the user; see ``account``.
  public convenience init(for origin: URL, _ credential: Credential? = nil, as account: String? = nil) {
    self.init(origin, credential, account, { _ in }, { _ in }, nil)
  }

  private init(
    _ origin: URL, _ credential: Credential?, _ account: String?,
    _ onChange: @escaping @Sendable (Credential?) -> Void,
    _ onSessionEnd: @escaping @Sendable (any Error) async -> Void, _ renew: Renew?
  ) {
    self.origin = NetworkOrigin(origin)
    self.onChange = onChange
    self.onSessionEnd = onSessionEnd
    self.renew = renew
    let header = credential?.header
    var state = State(credential: credential, header: header, account: account, signInHeader: header?.value)
    if let header { state.fieldNames.insert(header.name) }
    self.state = NetworkLock(state)
  }

  // MARK: - The user

  /// The credential of the signed-in user, nil without one.
  public var credential: Credential? { state.withLock { $0.credential } }

  /// The name of the signed-in user, if the app has set it. A ``ResponseCache`` stores responses separately for each
  /// account, across renewals and launches. Without a name, it separates them by the credential that was set at
  /// sign-in.
  public var account: String? { state.withLock { $0.account } }

  /// Signs a user in, in place of another one. Calls that started with another user's credential are not sent again,
  /// but fail with `URLError.userAuthenticationRequired`. A renewal for that user has no effect.
  ///
  /// - Parameters:
  ///   - credential: The credential of the user.
  ///   - account: The name of the user; see ``account``. It is set together with the credential, so that no call
  ///     combines one user's credential with another user's name.
  public func signIn(_ credential: Credential, as account: String? = nil) { change(to: credential, account) }

  /// Removes the credential. Requests are then sent without one, and calls that started with it are not sent again, but
  /// fail with `URLError.userAuthenticationRequired`.
  public func signOut() { change(to: nil, nil) }

  private func change(to credential: Credential?, _ account: String?) {
    // Not while the state is locked: a credential of the app may read this object.
    let header = credential?.header
    state.withLock { state in
      var changed = State(credential: credential, header: header, account: account, signInHeader: header?.value)
      changed.signIn = state.signIn + 1
      changed.fieldNames = state.fieldNames
      if let header { changed.fieldNames.insert(header.name) }
      state = changed
      report(credential)
    }
  }

  /// Called while the state is locked, so that changes are reported in their order.
  private func report(_ credential: Credential?) { changes.async { [onChange] in onChange(credential) } }

  // MARK: - The middleware

  /// Sends the request with the credential. If the credential is rejected, sends it once more with a renewed one.
  public func respond(
    to request: URLRequest, in call: NetworkCall, next: @escaping NetworkMiddlewareNext
  ) async throws -> NetworkResponse<Data> {
    let known = state.withLock { $0 }
    guard isSigned(request, known) else { return try await next(request) }
    let current = known.currentSignIn
    let users = call.plan.values[NetworkSignedInUsers.self]
    let signIn = users?.signIn(of: ObjectIdentifier(self), current: current) ?? current
    if signIn == 0 { return try await next(request) }
    guard let credential = known.credential, signIn == known.signIn else {
      throw URLError(.userAuthenticationRequired)
    }
    let sendRenewed = { [self] (rejection: NetworkError?) in
      var client = call.client
      // A call that must not be retried, such as one for which a response is stored, does not wait for the retries of a
      // renewal either.
      client.policy.maxRetries = call.plan.policy.maxRetries
      let renewed = try await renewed(known, client, within: request.timeoutInterval, rejection)
      return try await next(signed(request, renewed))
    }
    if renew != nil, credential.hasExpired, !known.ignoresExpiry { return try await sendRenewed(nil) }
    do {
      return try await next(signed(request, credential))
    } catch let error as NetworkError {
      // Even if a middleware threw another error in place of the response.
      guard let response = error.errorResponse, mayRenew(credential, after: response, to: request, call)
      else { throw error }
      return try await sendRenewed(error)
    }
  }

  /// Whether a request is sent with the credential.
  private func isSigned(_ request: URLRequest, _ known: State) -> Bool {
    if NetworkOrigin(request.url) != origin { return false }
    // A request of a renewal must not wait for the renewal.
    if NetworkCall.renewals.get().contains(ObjectIdentifier(self)) { return false }
    guard let field = known.header?.name else { return true }
    return request.value(forHTTPHeaderField: field) == nil
  }

  /// Whether a rejected credential is renewed, and the request sent again.
  private func mayRenew(
    _ credential: Credential, after response: HTTPURLResponse, to request: URLRequest, _ call: NetworkCall
  ) -> Bool {
    if renew == nil || !credential.isRejected(by: response) { return false }
    // The rejection has to come from the service itself, not from another server after a redirect.
    if NetworkOrigin(response.url) != origin { return false }
    if request.httpBodyStream != nil { return false }
    if RepeatSafety(of: request, isReadOnly: call.plan.isReadOnly).isSafe { return true }
    // A server before a redirect may have applied the request.
    return call.attempt?.hasFollowedRedirect == false
  }

  private func signed(_ request: URLRequest, _ credential: Credential) throws(NetworkError) -> URLRequest {
    var request = request
    try credential.header.add(to: &request)
    return request
  }

  /// Identifies the user, so that cached responses are not served to another user.
  public func cacheScope(of request: URLRequest) -> String? {
    if NetworkOrigin(request.url) != origin { return nil }
    // Requests of a renewal are sent without the credential.
    if NetworkCall.renewals.get().contains(ObjectIdentifier(self)) { return nil }
    return state.withLock { $0.account ?? $0.signInHeader }
  }

  /// The header fields of all credentials so far.
  public var secretFields: Set<String> { state.withLock { $0.fieldNames } }

  // MARK: - The renewal

  /// Renews the credential now, or waits for a renewal in progress.
  ///
  /// - Parameter client: Sends the request.
  /// - Returns: The new credential.
  /// - Throws: ``NetworkError/generalError(_:)`` with the error of the renewal; ``NetworkError/cancelled``;
  ///   ``NetworkError/invalidRequest(reason:)`` if the closure that renews calls it, or there is no such closure.
  @discardableResult
  public func renew(with client: NetworkClient) async throws(NetworkError) -> Credential {
    if renew == nil { throw .invalidRequest(reason: "the Authentication has no closure that renews its credential") }
    if NetworkCall.renewals.get().contains(ObjectIdentifier(self)) {
      throw .invalidRequest(reason: "a renewal cannot wait for itself")
    }
    return try await renewed(state.withLock { $0 }, client, within: .infinity)
  }

  /// The credential that replaces the known one. Calls that need it at the same time share one renewal. `rejection` is
  /// the error of the call so far.
  private func renewed(
    _ known: State, _ client: NetworkClient, within limit: TimeInterval, _ rejection: NetworkError? = nil
  ) async throws(NetworkError) -> Credential {
    do {
      while true {
        guard let renewal = renewal(of: known, client) else { throw URLError(.userAuthenticationRequired) }
        do { return try await Self.value(of: renewal.work, within: limit) } catch {
          // Another call, which may be retried less often than this one, has started the renewal.
          let hasMoreRetries = renewal.maxRetries < client.policy.maxRetries ?? .max
          let hasEnded = state.withLock { $0.renewal?.work != renewal.work }
          guard hasEnded, hasMoreRetries, !Self.isRefused(error), !_Concurrency.Task.isCancelled else { throw error }
        }
      }
    } catch {
      if _Concurrency.Task.isCancelled { throw .cancelled }
      // The error is wrapped, because a retryable error of the renewal does not make the request retryable.
      guard let rejection, Self.isRefused(error) else { throw .generalError(error) }
      throw .mappedError(error as? NetworkError ?? .generalError(error), rejection)
    }
  }

  /// Waits for a renewal, but not longer than the limit. A renewal that never ends, or that waits for this call, must
  /// not block the call.
  private static func value(
    of renewal: _Concurrency.Task<Credential, any Error>, within limit: TimeInterval
  ) async throws -> Credential {
    let completion = NetworkAttemptCompletion()
    completion.setDeadline(.bounded(seconds: limit > 0 ? limit : 60), ContinuousRetryClock())
    _Concurrency.Task {
      _ = await renewal.result
      completion.end(NetworkOutcome())
    }
    switch await completion.outcome().end {
    case .finished: return try await renewal.value
    case .deadline: throw URLError(.timedOut)
    case .cancelled: throw NetworkError.cancelled
    }
  }

  /// The renewal in progress, a new one, or one that has ended already. Nil if the user has changed.
  private func renewal(of known: State, _ client: NetworkClient) -> Renewal? {
    state.withLock { state in
      guard state.signIn == known.signIn, let current = state.credential, let renew else { return nil }
      if let renewal = state.renewal { return renewal }
      // Renewed since the request was signed.
      if state.header != known.header { return Renewal(work: _Concurrency.Task { current }) }
      let work = startRenewal(of: current, known.signIn, client, renew)
      let renewal = Renewal(work: work, maxRetries: client.policy.maxRetries ?? .max)
      state.renewal = renewal
      return renewal
    }
  }

  /// Runs in its own task, because the call that started it may be canceled.
  private func startRenewal(
    of old: Credential, _ signIn: Int, _ client: NetworkClient, _ renew: @escaping Renew
  ) -> _Concurrency.Task<Credential, any Error> {
    var client = client
    client.middleware.removeAll { $0 as? Authentication === self }
    client.policy.budget = .unlimited
    let running = NetworkCall.renewals.get().union([ObjectIdentifier(self)])
    return _Concurrency.Task { [client] in
      do {
        let new = try await NetworkCall.renewals.withValue(running) { try await renew(old, client) }
        guard finish(signIn, with: new) else { throw URLError(.userAuthenticationRequired) }
        return new
      } catch {
        fail(signIn, with: error)
        throw error
      }
    }
  }

  /// Ends a renewal. Returns false and changes nothing if the user has signed in or out since it started.
  private func finish(_ signIn: Int, with new: Credential) -> Bool {
    let header = new.header
    let hasExpired = new.hasExpired
    return state.withLock { state in
      if state.signIn != signIn { return false }
      state.renewal = nil
      state.credential = new
      state.header = header
      state.ignoresExpiry = hasExpired
      state.fieldNames.insert(header.name)
      report(new)
      return true
    }
  }

  /// Ends a renewal that failed, and with it the session of its user if it was refused.
  private func fail(_ signIn: Int, with error: any Error) {
    let isRefused = Self.isRefused(error)
    let endsSession = state.withLock { state in
      if state.signIn != signIn { return false }
      state.renewal = nil
      if !isRefused { return false }
      state = State(signIn: signIn + 1, fieldNames: state.fieldNames)
      report(nil)
      return true
    }
    if endsSession { changes.async { [onSessionEnd] in _Concurrency.Task { await onSessionEnd(error) } } }
  }

  /// Whether the renewal was refused, by the status of the response or by the closure.
  private static func isRefused(_ error: any Error) -> Bool {
    if let error = error as? URLError { return error.code == .userAuthenticationRequired }
    guard let thrown = error as? NetworkError else { return false }
    let error = (thrown.failure?.lastError ?? thrown).unmapped
    // An error that another `Authentication` threw is about another credential.
    switch error {
    case .generalError, .mappedError: return false
    default: break
    }
    // A 403 may be a rate limit.
    if error.shouldRetry { return false }
    return [400, 401, 403].contains(error.statusCode) || error.urlError?.code == .userAuthenticationRequired
  }
}

nonisolated extension Authentication: NetworkUser {
  var currentSignIn: Int { state.withLock { $0.currentSignIn } }

  func notice(about baseURL: URL?) -> String? {
    guard let baseURL, NetworkOrigin(baseURL) != origin else { return nil }
    let hasBeenSaid = hasSaidNotice.withLock { hasBeenSaid in
      defer { hasBeenSaid = true }
      return hasBeenSaid
    }
    if hasBeenSaid { return nil }
    return
      "an Authentication for \(origin.scheme)://\(origin.host):\(origin.port) adds nothing to requests to other "
      + "origins, such as the base URL of the client, \(baseURL.redactedForLog)"
  }
}
