public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// What a request is authenticated with.
///
/// ```swift
/// nonisolated struct SignIn: NetworkCredential {
///   var token: String
///   var refreshToken: String
///   var expiresAt: Date?
///   var header: URLRequest.Header { .authorization(bearer: token) }
/// }
/// ```
nonisolated public protocol NetworkCredential: Sendable {
  /// The header field that carries it.
  var header: URLRequest.Header { get }
  /// When it expires, if that is known: it is then renewed before a request is sent with it. The default is nil.
  var expiresAt: Date? { get }
  /// Whether this response, of status 400 and up, says that the credential is not valid. By default a 401 does.
  func isRejected(by response: HTTPURLResponse) -> Bool
}

nonisolated extension NetworkCredential {
  /// Not known.
  public var expiresAt: Date? { nil }
  /// On status 401.
  public func isRejected(by response: HTTPURLResponse) -> Bool { response.statusCode == 401 }
}

/// A bearer token (RFC 6750).
nonisolated public struct BearerToken: NetworkCredential, Hashable, Codable, CustomStringConvertible {
  /// The token as the server issued it.
  public var token: String
  /// When the token expires, if that is known.
  public var expiresAt: Date?
  /// Makes a credential of a token.
  public init(_ token: String, expiresAt: Date? = nil) { (self.token, self.expiresAt) = (token, expiresAt) }
  /// `Authorization: Bearer …`
  public var header: URLRequest.Header { .authorization(bearer: token) }
  /// Without the token.
  public var description: String { "Bearer …" }
}

/// Adds a credential to every attempt, and renews it when it has expired or is rejected: once, however many calls need it.
///
/// ```swift
/// let authentication = Authentication<SignIn>(for: baseURL, onSessionEnd: { _ in showSignIn() }) { old, client in
///   try await client.load(.newToken(old.refreshToken))
/// }
/// let client = NetworkClient(baseURL: baseURL, middleware: [authentication])
/// authentication.credential = try await client.load(.signIn(name, password))    // nil signs out
/// ```
///
/// - While there is no credential, requests are sent without one. To renew before the first request, start with a credential
///   that has expired.
/// - A call whose credential is rejected is sent once more with the new one, which does not count as a retry. A second
///   rejection is final. A credential that was renewed meanwhile is not renewed again.
/// - If the renewal fails, each call that waits for it fails with that error, in ``NetworkError/middlewareError(_:)``. The
///   next call renews again, unless the renewal was refused: by a response with status 400, 401 or 403, or because the
///   closure threw `URLError(.userAuthenticationRequired)`. That ends the session: ``credential`` becomes nil.
/// - A call waits for a renewal no longer than the `timeoutInterval` of its request, and no longer than its deadline.
/// - Canceling a call does not cancel the renewal, because other calls may wait for it.
/// - The client that the closure gets has neither this middleware nor a retry budget. Other requests of the closure, through
///   whatever client, are sent without the credential and never wait for the renewal.
/// - A request that has the header field already is sent unchanged.
/// - No other origin gets the credential, after a redirect neither, whatever field carries it.
nonisolated public final class Authentication<Credential: NetworkCredential>: NetworkMiddleware {
  private struct State: Sendable {
    var credential: Credential?
    var account: String?
    /// The credential before it was ever renewed: it stands for the user that signed in.
    var first: String?
    /// Counts sign-ins and sign-outs, so that a call of one user never completes as another.
    var epoch = 0
    /// Counts the renewals since the sign-in.
    var generation = 0
    var renewal: Task<Credential, any Error>?
  }
  private let origin: NetworkOrigin
  private let onSessionEnd: @Sendable (any Error) -> Void
  private let renew: @Sendable (Credential, NetworkClient) async throws -> Credential
  private let state = NetworkLock(State())

  /// Makes an authentication for one service.
  ///
  /// - Parameters:
  ///   - origin: A URL of the service: scheme, host and port count.
  ///   - credential: The credential, if there is one already.
  ///   - account: The name of the user; see ``account``.
  ///   - onSessionEnd: Called with the error when a renewal was refused, on any thread. Save the new state of
  ///     ``credential`` there, and ask the user to sign in.
  ///   - renew: Gets the old credential, and a client for the request; returns the new one. Save that as well.
  public init(
    for origin: URL, _ credential: Credential? = nil, as account: String? = nil,
    onSessionEnd: @escaping @Sendable (any Error) -> Void = { _ in },
    renew: @escaping @Sendable (Credential, NetworkClient) async throws -> Credential
  ) {
    (self.origin, self.onSessionEnd, self.renew) = (NetworkOrigin(origin), onSessionEnd, renew)
    signIn(credential, as: account)
  }

  /// The credential of the user that is signed in; set it at sign-in, and set nil at sign-out. Calls that began with another
  /// user's credential end with `URLError.userAuthenticationRequired` instead of being sent again, and a renewal for that
  /// user changes nothing.
  public var credential: Credential? {
    get { state.withLock { $0.credential } }
    set { signIn(newValue) }
  }

  /// Sets ``credential`` and ``account`` at once, so that no call runs with one user's credential and another's name.
  public func signIn(_ credential: Credential?, as account: String? = nil) {
    let first = credential?.header.value
    state.withLock { $0 = State(credential: credential, account: account, first: first, epoch: $0.epoch + 1) }
  }

  /// The name of the user that is signed in, if the app has set it. A ``ResponseCache`` keeps the responses of each account
  /// apart, also across renewals and launches; without a name, those of each credential that was set.
  public var account: String? { state.withLock { $0.account } }

  /// Renews the credential now, or waits for the renewal that is under way.
  ///
  /// - Parameter client: Sends the request.
  /// - Returns: The new credential.
  /// - Throws: ``NetworkError/middlewareError(_:)`` with the error of the renewal.
  @discardableResult
  public func renew(with client: NetworkClient) async throws(NetworkError) -> Credential {
    try await renewed(after: state.withLock { $0 }, client, within: .infinity)
  }

  /// Sends the request with the credential; after a rejection once more, with a new one.
  public func respond(
    to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
  ) async throws -> NetworkResponse {
    let now = state.withLock { $0 }
    guard NetworkOrigin(request.url) == origin, !Renewals.running.get().contains(ObjectIdentifier(self)),
      request.value(forHTTPHeaderField: now.credential?.header.name ?? "") == nil
    else { return try await next(request) }
    let epoch = call.memory.withLock { memory in
      memory.epochs.merge([ObjectIdentifier(self): now.credential == nil ? 0 : now.epoch]) { first, _ in first }
      return memory.epochs[ObjectIdentifier(self)]
    }
    if epoch == 0 { return try await next(request) }
    guard let credential = now.credential, epoch == now.epoch else { throw URLError(.userAuthenticationRequired) }
    if credential.expiresAt.map({ $0 > Date() }) ?? true {
      do {
        return try await next(signed(request, credential))
      } catch NetworkError.endpointError(let response, _)
        where credential.isRejected(by: response) && request.httpBodyStream == nil
        && NetworkOrigin(response.url) == origin
        && (!call.memory.withLock { $0.hasFollowedRedirect }
          || RetryPolicy.default.safety(.noResponse, RetryRequestFacts(request), RetryCallState()).isSafe)
      {}
    }
    return try await next(signed(request, renewed(after: now, call.client, within: request.timeoutInterval)))
  }

  /// The user, so that responses to one are not served to another.
  public func cacheScope(of request: URLRequest) -> String? {
    NetworkOrigin(request.url) == origin ? state.withLock { $0.account ?? $0.first } : nil
  }

  private func signed(_ request: URLRequest, _ credential: Credential) throws(NetworkError) -> URLRequest {
    var request = request
    try credential.header.add(to: &request)
    SensitiveHeader.add(credential.header.name)
    return request
  }

  /// The credential after that of `known`. All calls that need it meanwhile wait for the same renewal.
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
      // The first result counts: a renewal that never ends, or that waits for this call, does not hold it.
      let (results, continuation) = AsyncStream<Result<Credential, any Error>>.makeStream()
      Task { continuation.yield(await renewal.result) }
      let cancelTimer = ContinuousRetryClock().timer(after: .bounded(seconds: limit > 0 ? limit : 60)) {
        continuation.yield(.failure(URLError(.timedOut)))
      }
      defer { cancelTimer() }
      return try await (results.first { _ in true } ?? .failure(NetworkError.cancelled)).get()
    } catch {
      // No error of the renewal says that the request itself may be retried.
      throw Task.isCancelled ? .cancelled : .middlewareError(error)
    }
  }

  /// A task of its own, because the call that started it may be canceled.
  private func startRenewal(of old: Credential, _ epoch: Int, _ client: NetworkClient) -> Task<Credential, any Error> {
    var client = client
    client.middleware.removeAll { $0 as? Authentication === self }
    client.policy.budget = nil
    let running = Renewals.running.get().union([ObjectIdentifier(self)])
    return Task { [client] in
      do {
        let new = try await Renewals.running.withValue(running) { try await renew(old, client) }
        if end(epoch, { ($0.credential, $0.generation) = (new, $0.generation + 1) }) { return new }
        throw URLError(.userAuthenticationRequired)
      } catch {
        let isRefused = Renewals.isRefused(error)
        if end(epoch, { if isRefused { $0 = State(epoch: epoch + 1) } }), isRefused { onSessionEnd(error) }
        throw error
      }
    }
  }

  /// Returns false, and changes nothing, if another user has signed in meanwhile.
  private func end(_ epoch: Int, _ change: (inout State) -> Void) -> Bool {
    state.withLock { state in
      guard state.epoch == epoch else { return false }
      state.renewal = nil
      change(&state)
      return true
    }
  }
}

nonisolated private enum Renewals {
  /// The authentications that this task renews a credential of: its requests must not wait for that.
  static let running = TaskLocal<Set<ObjectIdentifier>>(wrappedValue: [])

  static func isRefused(_ error: any Error) -> Bool {
    let code = (error as? URLError ?? (error as? NetworkError)?.urlError)?.code
    return code == .userAuthenticationRequired || [400, 401, 403].contains((error as? NetworkError)?.statusCode)
  }
}
