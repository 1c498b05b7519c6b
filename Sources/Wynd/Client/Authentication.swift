public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A credential that authenticates requests and is sent in a header field.
///
/// ```swift
/// nonisolated struct SignIn: NetworkCredential {
///   var token: String
///   var refreshToken: String
///   var expiresAt: Date?
///   var header: NetworkHeader { .authorization(bearer: token) }
/// }
/// ```
nonisolated public protocol NetworkCredential: Sendable {
  /// The header field that contains the credential.
  var header: NetworkHeader { get }
  /// When the credential expires. An expired credential is renewed before the next request is sent. nil (the default)
  /// means unknown.
  var expiresAt: Date? { get }
  /// Whether this error response (a status of 400 and up) means that the credential is invalid. By default, only a 401
  /// does.
  func isRejected(by response: HTTPURLResponse) -> Bool
}

nonisolated extension NetworkCredential {
  /// nil, which means unknown.
  public var expiresAt: Date? { nil }
  /// True for status 401.
  public func isRejected(by response: HTTPURLResponse) -> Bool { response.statusCode == 401 }

  fileprivate var hasExpired: Bool {
    guard let expiresAt else { return false }
    return expiresAt <= Date()
  }
}

/// A bearer token (RFC 6750).
nonisolated public struct BearerToken: NetworkCredential, Hashable, Codable, CustomStringConvertible {
  /// The token as the server issued it.
  public var token: String
  /// When the token expires, if that is known.
  public var expiresAt: Date?
  /// Makes a credential from a token.
  public init(_ token: String, expiresAt: Date? = nil) {
    self.token = token
    self.expiresAt = expiresAt
  }
  /// `Authorization: Bearer …`
  public var header: NetworkHeader { .authorization(bearer: token) }
  /// A description without the token, for logs.
  public var description: String { "Bearer …" }
}

/// Adds a credential to every attempt. If the credential has expired or is rejected, it is renewed once for all calls
/// that need it.
///
/// ```swift
/// let authentication = Authentication<SignIn>(for: baseURL, onSessionEnd: { _ in showSignIn() }) { old, client in
///   try await client.load(.newToken(old.refreshToken))
/// }
/// let client = NetworkClient(baseURL: baseURL, middleware: [authentication])
/// authentication.credential = try await client.load(.signIn(name, password))    // nil signs out
/// ```
///
/// - Without a credential, requests are sent unauthenticated. To renew before the first request, start with an expired
///   credential.
/// - If the credential is rejected, the request is sent once more with a renewed one, which does not count as a retry.
///   A second rejection is final. A credential that was renewed in the meantime is not renewed again.
/// - If the renewal fails, every call that waits for it fails with that error in ``NetworkError/middlewareError(_:)``.
///   The next call renews again, unless the renewal was refused: the response had status 400, 401 or 403, or the
///   closure threw `URLError(.userAuthenticationRequired)`. A refused renewal ends the user's session, and
///   ``credential`` becomes nil.
/// - A call waits for a renewal no longer than the `timeoutInterval` of its request, and not beyond its deadline.
/// - Canceling a call does not cancel the renewal, because other calls may wait for it.
/// - The client that is passed to the closure has neither this middleware nor a retry budget. All other requests of the
///   closure, with any client, are sent without the credential and never wait for the renewal. (Those of a detached task
///   do wait, until their `timeoutInterval`.)
/// - A request that already has the header field is sent unchanged.
/// - The credential is never sent to another origin, not even after a redirect. This applies to every header field.
nonisolated public final class Authentication<Credential: NetworkCredential>: NetworkMiddleware {
  private struct State: Sendable {
    var credential: Credential?
    var account: String?
    /// The header value of the credential at sign-in. It identifies the user across renewals.
    var first: String?
    /// Counts sign-ins and sign-outs, so that a call never completes with another user's credential.
    var epoch = 0
    /// Counts the renewals since sign-in.
    var generation = 0
    var renewal: Task<Credential, any Error>?
  }
  private let origin: NetworkOrigin
  private let onChange: @Sendable (Credential?) -> Void
  private let onSessionEnd: @Sendable (any Error) -> Void
  private let renew: @Sendable (Credential, NetworkClient) async throws -> Credential
  private let state: NetworkLock<State>
  private let changes = DispatchQueue(label: "Wynd.Authentication")

  /// Makes a middleware that authenticates the requests to one service.
  ///
  /// - Parameters:
  ///   - origin: A URL of the service. Only its scheme, host and port are used.
  ///   - credential: The credential, if the user is already signed in.
  ///   - account: The name of the user; see ``account``.
  ///   - onChange: Called with the credential after each sign-in, renewal and sign-out, in this order, on a queue of its
  ///     own. Save it here: a renewal may end after the user has signed out, and has no effect then.
  ///   - onSessionEnd: Called with the error if a renewal is refused, after `onChange`, on the same queue. Ask the user to
  ///     sign in.
  ///   - renew: Receives the old credential and a client for the request, and returns the new credential.
  public init(
    for origin: URL, _ credential: Credential? = nil, as account: String? = nil,
    onChange: @escaping @Sendable (Credential?) -> Void = { _ in },
    onSessionEnd: @escaping @Sendable (any Error) -> Void = { _ in },
    renew: @escaping @Sendable (Credential, NetworkClient) async throws -> Credential
  ) {
    self.origin = NetworkOrigin(origin)
    self.onChange = onChange
    self.onSessionEnd = onSessionEnd
    self.renew = renew
    let first = credential?.header.value
    state = NetworkLock(State(credential: credential, account: account, first: first, epoch: 1))
  }

  /// The credential of the signed-in user. Set it at sign-in, and set nil at sign-out. Calls that began with another
  /// user's credential are not sent again, but fail with `URLError.userAuthenticationRequired`. A renewal for that user
  /// has no effect.
  public var credential: Credential? {
    get { state.withLock { $0.credential } }
    set { signIn(newValue) }
  }

  /// Sets ``credential`` and ``account`` together, so that no call combines one user's credential with another user's
  /// name.
  public func signIn(_ credential: Credential?, as account: String? = nil) {
    let first = credential?.header.value
    state.withLock { state in
      state = State(credential: credential, account: account, first: first, epoch: state.epoch + 1)
      report(credential)
    }
  }

  /// Called while the state is locked, so that changes are reported in their order.
  private func report(_ credential: Credential?) { changes.async { [onChange] in onChange(credential) } }

  /// The name of the signed-in user, if the app has set it. A ``ResponseCache`` stores responses separately for each
  /// account, across renewals and launches. Without a name, it separates them by the credential that was set at
  /// sign-in.
  public var account: String? { state.withLock { $0.account } }

  /// Renews the credential now, or waits for a renewal in progress.
  ///
  /// - Parameter client: Sends the request.
  /// - Returns: The new credential.
  /// - Throws: ``NetworkError/middlewareError(_:)`` with the error of the renewal, or
  ///   ``NetworkError/invalidRequest(reason:)`` if the closure that renews calls it.
  @discardableResult
  public func renew(with client: NetworkClient) async throws(NetworkError) -> Credential {
    if NetworkCall.renewals.get().contains(ObjectIdentifier(self)) {
      throw .invalidRequest(reason: "a renewal cannot wait for itself")
    }
    return try await renewed(after: state.withLock { $0 }, client, within: .infinity)
  }

  /// Sends the request with the credential. If the credential is rejected, sends it once more with a renewed one.
  public func respond(
    to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
  ) async throws -> NetworkResponse<Data> {
    let now = state.withLock { $0 }
    guard NetworkOrigin(request.url) == origin, !NetworkCall.renewals.get().contains(ObjectIdentifier(self)),
      request.value(forHTTPHeaderField: now.credential?.header.name ?? "") == nil
    else { return try await next(request) }
    let epoch = call.signIns.withLock { epochs in
      epochs.merge([ObjectIdentifier(self): now.credential == nil ? 0 : now.epoch]) { first, _ in first }
      return epochs[ObjectIdentifier(self)]
    }
    if epoch == 0 { return try await next(request) }
    guard let credential = now.credential, epoch == now.epoch else { throw URLError(.userAuthenticationRequired) }
    if !credential.hasExpired {
      do {
        return try await next(signed(request, credential))
      } catch NetworkError.endpointError(let response, _) where mayRenew(credential, after: response, to: request, call)
      {
        // The request is sent once more, with a renewed credential.
      }
    }
    let renewed = try await renewed(after: now, call.client, within: request.timeoutInterval)
    return try await next(signed(request, renewed))
  }

  /// Whether a rejected credential is renewed, and the request sent again.
  private func mayRenew(
    _ credential: Credential, after response: HTTPURLResponse, to request: URLRequest, _ call: NetworkCall
  ) -> Bool {
    // The rejection has to come from the service itself, not from another server after a redirect.
    let isRejected = credential.isRejected(by: response) && NetworkOrigin(response.url) == origin
    if !isRejected || request.httpBodyStream != nil { return false }
    // A server before the redirect may have applied the request.
    let hasFollowedRedirect = call.memory.withLock { $0.hasFollowedRedirect }
    return !hasFollowedRedirect || call.isReadOnly || RepeatSafety.regardlessOfFailure(request) != nil
  }

  /// Identifies the user, so that cached responses are not served to another user.
  public func cacheScope(of request: URLRequest) -> String? {
    NetworkOrigin(request.url) == origin ? state.withLock { $0.account ?? $0.first } : nil
  }

  private func signed(_ request: URLRequest, _ credential: Credential) throws(NetworkError) -> URLRequest {
    var request = request
    try credential.header.add(to: &request)
    NetworkSensitiveHeader.add(credential.header.name)
    return request
  }

  /// The credential that replaces that of `known`. Calls that need it at the same time share one renewal.
  private func renewed(
    after known: State, _ client: NetworkClient, within limit: TimeInterval
  ) async throws(NetworkError) -> Credential {
    let renewal = state.withLock { state -> Task<Credential, any Error>? in
      guard state.epoch == known.epoch, let current = state.credential else { return nil }
      if state.renewal == nil, state.generation != known.generation { return Task { current } }
      state.renewal = state.renewal ?? startRenewal(of: current, known.epoch, client)
      return state.renewal
    }
    do {
      guard let renewal else { throw URLError(.userAuthenticationRequired) }
      // Wait for the renewal or the time limit, so that a renewal that never ends, or that waits for this call, cannot
      // block it.
      let (results, continuation) = AsyncStream<Result<Credential, any Error>>.makeStream()
      Task { continuation.yield(await renewal.result) }
      // In real time, also in a test: a renewal that never ends does not let simulated time pass.
      let cancelTimer = ContinuousRetryClock().timer(after: .bounded(seconds: limit > 0 ? limit : 60)) {
        continuation.yield(.failure(URLError(.timedOut)))
      }
      defer { cancelTimer() }
      return try await (results.first { _ in true } ?? .failure(NetworkError.cancelled)).get()
    } catch {
      // The error is wrapped, because a retryable error of the renewal does not make the request retryable.
      throw Task.isCancelled ? .cancelled : .middlewareError(error)
    }
  }

  /// Runs in its own task, because the call that started it may be canceled.
  private func startRenewal(of old: Credential, _ epoch: Int, _ client: NetworkClient) -> Task<Credential, any Error> {
    var client = client
    client.middleware.removeAll { $0 as? Authentication === self }
    client.policy.budget = nil
    let running = NetworkCall.renewals.get().union([ObjectIdentifier(self)])
    return Task { [client] in
      do {
        let new = try await NetworkCall.renewals.withValue(running) { try await renew(old, client) }
        let isCurrent = end(epoch) { state in
          (state.credential, state.generation) = (new, state.generation + 1)
          report(new)
        }
        if isCurrent { return new }
        throw URLError(.userAuthenticationRequired)
      } catch {
        let network = error as? NetworkError
        // Not that of another credential.
        let code = (error as? URLError ?? (network?.inner == nil ? network?.urlError : nil))?.code
        let isRefused = code == .userAuthenticationRequired || [400, 401, 403].contains(network?.statusCode)
        let isCurrent = end(epoch) { state in
          guard isRefused else { return }
          state = State(epoch: epoch + 1)
          report(nil)
        }
        if isCurrent, isRefused { changes.async { [onSessionEnd] in onSessionEnd(error) } }
        throw error
      }
    }
  }

  /// Ends a renewal. Returns false and changes nothing if the user has signed in or out since it began.
  private func end(_ epoch: Int, _ change: (inout State) -> Void) -> Bool {
    state.withLock { state in
      guard state.epoch == epoch else { return false }
      state.renewal = nil
      change(&state)
      return true
    }
  }
}
