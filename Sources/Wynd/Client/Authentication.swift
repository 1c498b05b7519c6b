public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Adds a credential to every attempt. If the credential has expired or is rejected, it is renewed once for all calls
/// that need it.
///
/// ```swift
/// let authentication = Authentication<SignIn>(for: baseURL) { old, client in
///   try await client.load(.newToken(old.refreshToken))
/// } onChange: { signIn, error in
///   keychain.save(signIn)
///   if error != nil { Task { await showSignIn() } }
/// }
/// let client = NetworkClient(baseURL: baseURL, middleware: [authentication])
/// authentication.signIn(try await client.load(.signIn(name, password)))
/// ```
///
/// A credential that cannot be renewed, such as an API key, needs no closure. A rejection is then an error like any
/// other, and the credential is kept:
///
/// ```swift
/// let key = Authentication(for: baseURL, try BasicCredential(user: name, password: password))
/// let client = NetworkClient(baseURL: baseURL, middleware: [key])
/// key.signIn(try BasicCredential(user: name, password: newPassword))        // for the calls that start from now on
/// ```
///
/// - Without a credential, requests are sent unauthenticated. To renew before the first request, start with an expired
///   credential.
/// - If the credential is rejected, the request is sent once more with a renewed one, which does not count as a retry.
///   A second rejection is final. A credential that was renewed in the meantime is not renewed again.
/// - A call that starts while a renewal is running waits for it, and is sent with the new credential only.
/// - If the renewal fails, every call that waits for it fails with that error in ``NetworkError/generalError(_:)``, or
///   renews once more, if it has more retries than the call that renewed. The next call renews again, unless the
///   renewal was refused: the response had status 400, 401 or 403, or the closure threw
///   `URLError(.userAuthenticationRequired)`. A refused renewal ends the user's session, and ``credential`` becomes nil.
///   A call that was rejected then fails with its own response, in ``NetworkError/middlewareError(_:_:)`` with the error
///   of the renewal.
/// - A call waits for a renewal until its deadline, and without one, which is the default, until the renewal ends. So
///   the closure may show a page for signing in. It has to end when the user closes that page.
/// - Canceling a call does not cancel the renewal, because other calls may wait for it.
/// - The client that is passed to the closure has neither this middleware nor a retry budget. A client that it is made
///   on keeps both. All other requests of the closure, with any client, are sent without the credential and never wait
///   for the renewal. A cache treats them as requests without a user. Only the requests of a detached task wait for the
///   renewal, until their deadline.
/// - A request that already has one of the header fields is sent unchanged.
/// - The credential is never sent to another origin, not even after a redirect. This applies to every header field.
/// - It belongs in the client's ``NetworkClient/middleware``. A middleware that contains it has to pass on
///   ``cacheScope(of:)`` and ``secretFields``. The user of a call is then known at its first attempt, not at its start.
nonisolated public final class Authentication<Credential: NetworkCredential>: NetworkMiddleware {
  private typealias Renew = @Sendable (Credential, NetworkClient) async throws -> Credential

  private struct Renewal: Sendable {
    let work: _Concurrency.Task<Credential, any Swift.Error>
    /// The number of retries of the call that started it.
    var maxRetries = Int.max
  }

  private struct State: Sendable {
    var credential: Credential?
    /// The header fields of the credential when it was set.
    var headers: [String: String]
    let account: String?
    /// Identifies the user across renewals: the name, or the header fields of the credential at sign-in.
    let user: String?
    /// Counts sign-ins and sign-outs, so that a call never completes with another user's credential.
    let number: Int
    /// The last renewal gave a credential that had expired already: the clock of the device is ahead.
    var ignoresExpiry = false
    var renewal: Renewal?

    /// After a sign-in, or a sign-out without a credential.
    init(_ credential: Credential?, _ headers: [String: String], as account: String?, number: Int) {
      self.credential = credential
      self.headers = headers
      self.account = account
      self.number = number
      let fields = headers.networkSorted.map { "\($0.key):\($0.value)" }
      user = account ?? (fields.isEmpty ? nil : fields.joined(separator: "\n"))
    }

    /// 0 without a credential.
    var signInNumber: Int { credential == nil ? 0 : number }
  }
  private let origin: NetworkOrigin
  /// The names of the header fields of all credentials so far: a request that was signed with an earlier one may still
  /// be redirected.
  private let fieldNames = NetworkLock<Set<String>>([])
  private let onChange: @Sendable (Credential?, (any Swift.Error)?) -> Void
  private let renew: Renew?
  private let state: NetworkLock<State>
  private let changes = DispatchQueue(label: "Wynd.Authentication")

  /// Makes a middleware that authenticates the requests to one service.
  ///
  /// - Parameters:
  ///   - origin: A URL of the service. Only its scheme, host and port are used.
  ///   - credential: The credential, if the user is already signed in.
  ///   - account: The name of the user; see ``account``.
  ///   - renew: Receives the old credential and a client for the request, and returns the new credential. Without it, a
  ///     credential that is rejected or has expired is kept, and the call fails with the server's response.
  ///   - onChange: Called with the credential after each sign-in, renewal and sign-out, in this order, on a queue of
  ///     its own. Save it here: a renewal may end after the user has signed out, and has no effect then. If a renewal
  ///     was refused, the credential is nil, and the error says why: ask the user to sign in.
  public init(
    for origin: URL, _ credential: Credential? = nil, as account: String? = nil,
    renew: (@Sendable (Credential, NetworkClient) async throws -> Credential)? = nil,
    onChange: @escaping @Sendable (Credential?, (any Swift.Error)?) -> Void = { _, _ in }
  ) {
    self.origin = NetworkOrigin(origin)
    self.onChange = onChange
    self.renew = renew
    let headers = credential?.headers ?? [:]
    state = NetworkLock(State(credential, headers, as: account, number: 1))
    note(headers)
  }

  private func note(_ headers: [String: String]) { fieldNames.withLock { $0.formUnion(headers.keys) } }

  // MARK: - The user

  /// The credential of the signed-in user, nil without one.
  public var credential: Credential? { state.withLock { $0.credential } }

  /// The name of the signed-in user, if the app has set it. A ``ResponseCache`` stores responses separately for each
  /// account, across renewals and launches. Without a name, it separates them by the credential that was set at
  /// sign-in.
  public var account: String? { state.withLock { $0.account } }

  /// Signs a user in, in place of another one. Calls that started with another user's credential are not sent again,
  /// but fail with `URLError.userAuthenticationRequired`. A renewal for that user is canceled, and has no effect.
  ///
  /// - Parameters:
  ///   - credential: The credential of the user.
  ///   - account: The name of the user; see ``account``. It is set together with the credential, so that no call
  ///     combines one user's credential with another user's name.
  public func signIn(_ credential: Credential, as account: String? = nil) { change(to: credential, account) }

  /// Removes the credential. Requests are then sent without one, and calls that started with it are not sent again, but
  /// fail with `URLError.userAuthenticationRequired`. A renewal is canceled, and has no effect.
  public func signOut() { change(to: nil, nil) }

  private func change(to credential: Credential?, _ account: String?) {
    // Not while the state is locked: a credential of the app may read this object.
    let headers = credential?.headers ?? [:]
    note(headers)
    let renewal = state.withLock { state in
      let renewal = state.renewal
      state = State(credential, headers, as: account, number: state.number + 1)
      report(credential)
      return renewal
    }
    // Its result is not needed any more, and calls wait for it.
    renewal?.work.cancel()
  }

  /// Called while the state is locked, so that changes are reported in their order.
  private func report(_ credential: Credential?, because error: (any Swift.Error)? = nil) {
    changes.async { [onChange] in onChange(credential, error) }
  }

  // MARK: - The middleware

  /// Sends the request with the credential. If the credential is rejected, sends it once more with a renewed one.
  public func respond(
    to request: URLRequest, in call: NetworkMiddlewareCall, next: @escaping NetworkMiddlewareNext
  ) async throws -> NetworkResponse<Data> {
    let known = state.withLock { $0 }
    guard isSigned(request, known) else { return try await next(request) }
    let current = known.signInNumber
    let users = call.plan.values[NetworkSignedInUsers.self]
    let number = users?.number(of: ObjectIdentifier(self), current: current) ?? current
    if number == 0 { return try await next(request) }
    guard let credential = known.credential, number == known.number else {
      throw URLError(.userAuthenticationRequired)
    }
    let sendRenewed = { [self] (rejection: NetworkError?) in
      var client = call.client
      // A call that must not be retried, such as one for which a response is stored, does not wait for the retries of a
      // renewal either.
      client.policy.maxRetries = call.plan.policy.maxRetries
      let renewed = try await renewed(known, client, rejection)
      return try await next(request.addingHeaders(renewed.headers))
    }
    let mustBeRenewed = renew != nil && credential.hasExpired && !known.ignoresExpiry
    // A credential that is being renewed has been rejected, or has expired. The request of another credential's renewal
    // does not wait: that renewal may wait for this one.
    let isBeingRenewed = known.renewal != nil && NetworkMiddlewareCall.renewals.get().isEmpty
    if mustBeRenewed || isBeingRenewed { return try await sendRenewed(nil) }
    do {
      return try await next(request.addingHeaders(credential.headers))
    } catch let error as NetworkError {
      // Even if a middleware threw another error in place of the response.
      guard let response = error.errorResponse, isRejected(credential, by: response) else { throw error }
      if mayRepeat(request, call) { return try await sendRenewed(error) }
      // The next call has a new credential.
      _ = renewal(of: known, call.client)
      throw error
    }
  }

  /// Whether a request is sent with the credential.
  private func isSigned(_ request: URLRequest, _ known: State) -> Bool {
    isResponsible(for: request) && known.headers.keys.allSatisfy { request.value(forHTTPHeaderField: $0) == nil }
  }

  /// Whether the service itself, and not another server after a redirect, has rejected a credential that can be renewed.
  private func isRejected(_ credential: Credential, by response: HTTPURLResponse) -> Bool {
    renew != nil && credential.isRejected(by: response) && NetworkOrigin(response.url) == origin
  }

  /// Whether a request whose credential was rejected is sent again.
  private func mayRepeat(_ request: URLRequest, _ call: NetworkMiddlewareCall) -> Bool {
    if request.httpBodyStream != nil { return false }
    if RepeatSafety(of: request, isReadOnly: call.plan.isReadOnly).isSafe { return true }
    // A server before a redirect may have applied the request.
    return call.requests?.hasFollowedRedirect == false
  }

  /// Whether the request goes to the service. One of a renewal is sent without the credential, because it must not wait
  /// for the renewal.
  private func isResponsible(for request: URLRequest) -> Bool {
    if NetworkOrigin(request.url) != origin { return false }
    return !NetworkMiddlewareCall.renewals.get().contains(ObjectIdentifier(self))
  }

  /// Identifies the user, so that cached responses are not served to another user.
  public func cacheScope(of request: URLRequest) -> String? {
    isResponsible(for: request) ? state.withLock { $0.user } : nil
  }

  /// The header fields of all credentials so far.
  public var secretFields: Set<String> { fieldNames.withLock { $0 } }

  // MARK: - The renewal

  /// The credential that replaces the known one. Calls that need it at the same time share one renewal. `rejection` is
  /// the error of the call so far.
  private func renewed(
    _ known: State, _ client: NetworkClient, _ rejection: NetworkError?
  ) async throws(NetworkError) -> Credential {
    do {
      while true {
        guard let renewal = renewal(of: known, client) else { throw URLError(.userAuthenticationRequired) }
        do {
          let credential = try await renewal.work.value
          try _Concurrency.Task.checkCancellation()
          return credential
        } catch {
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
      throw .middlewareError(error as? NetworkError ?? .generalError(error), rejection)
    }
  }

  /// The renewal in progress, a new one, or one that has ended already. Nil if the user has changed.
  private func renewal(of known: State, _ client: NetworkClient) -> Renewal? {
    state.withLock { state in
      guard state.number == known.number, let current = state.credential, let renew else { return nil }
      if let renewal = state.renewal { return renewal }
      // Renewed since the request was signed.
      if state.headers != known.headers {
        return Renewal(work: _Concurrency.Task<Credential, any Swift.Error> { current })
      }
      let work = startRenewal(of: current, known.number, client, renew)
      let renewal = Renewal(work: work, maxRetries: client.policy.maxRetries ?? .max)
      state.renewal = renewal
      return renewal
    }
  }

  /// Runs in its own task, because the call that started it may be canceled.
  private func startRenewal(
    of old: Credential, _ number: Int, _ client: NetworkClient, _ renew: @escaping Renew
  ) -> _Concurrency.Task<Credential, any Swift.Error> {
    var client = client
    client.middleware.removeAll { $0 as? Authentication === self }
    client.policy.budget = .unlimited
    let running = NetworkMiddlewareCall.renewals.get() + [ObjectIdentifier(self)]
    return _Concurrency.Task { [client] in
      do {
        let new = try await NetworkMiddlewareCall.renewals.withValue(running) { try await renew(old, client) }
        guard finish(number, with: new) else { throw URLError(.userAuthenticationRequired) }
        return new
      } catch {
        throw fail(number, with: error)
      }
    }
  }

  /// Ends a renewal. Returns false and changes nothing if the user has signed in or out since it started.
  private func finish(_ number: Int, with new: Credential) -> Bool {
    let headers = new.headers
    let hasExpired = new.hasExpired
    note(headers)
    return state.withLock { state in
      if state.number != number { return false }
      state.renewal = nil
      state.credential = new
      state.headers = headers
      state.ignoresExpiry = hasExpired
      report(new)
      return true
    }
  }

  /// Ends a renewal that failed, and with it the session of its user if it was refused. Returns the error for the calls
  /// that wait: if the user has signed in or out since it started, that is the reason.
  private func fail(_ number: Int, with error: any Swift.Error) -> any Swift.Error {
    let isRefused = Self.isRefused(error)
    return state.withLock { state in
      if state.number != number { return URLError(.userAuthenticationRequired) }
      state.renewal = nil
      if !isRefused { return error }
      state = State(nil, [:], as: nil, number: number + 1)
      report(nil, because: error)
      return error
    }
  }

  /// Whether the renewal was refused, by the status of the response or by the closure.
  private static func isRefused(_ error: any Swift.Error) -> Bool {
    if let error = error as? URLError { return error.code == .userAuthenticationRequired }
    guard let thrown = error as? NetworkError else { return false }
    let error = (thrown.failure?.lastError ?? thrown).unmapped
    // An error that another `Authentication` threw is about another credential.
    switch error {
    case .generalError, .middlewareError: return false
    default: break
    }
    // A 403 may be a rate limit.
    if error.shouldRetry { return false }
    return [400, 401, 403].contains(error.statusCode) || error.urlError?.code == .userAuthenticationRequired
  }
}

nonisolated extension Authentication: NetworkUser {
  var signInNumber: Int { state.withLock { $0.signInNumber } }
}
