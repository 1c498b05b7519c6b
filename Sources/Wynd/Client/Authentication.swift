public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// What a request proves itself with.
nonisolated public protocol NetworkCredential: Sendable {
  /// The header field that carries it.
  var header: URLRequest.Header { get }
  /// Does this answer say that it is no longer good? A 401 does, by default.
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
/// at the same time. Belongs among ``NetworkClient/attemptMiddleware``.
///
/// ```swift
/// let authentication = Authentication<BearerToken>(for: baseURL) { old, client in
///   try await client.load(.newToken(after: old))
/// }
/// let client = NetworkClient(baseURL: baseURL, attemptMiddleware: [authentication])
/// authentication.credential = token       // signed in; nil: signed out
/// ```
///
/// - A call whose credential is rejected is sent once more with the new one, which is not counted as a retry. A second
///   rejection is final.
/// - A rejection of a credential that has been renewed meanwhile is answered by the new one, without renewing it again.
/// - If renewing fails, every call that waits for it fails with that error, in ``NetworkError/middlewareError(_:)``; the
///   next call may try again.
/// - Cancelling a call that waits does not cancel the renewal, for which others may wait.
/// - What the closure sends goes without the credential and cannot cause another renewal.
/// - No other origin than `origin` gets the credential, by a redirect neither, whatever field carries it.
nonisolated public final class Authentication<Credential: NetworkCredential>: NetworkMiddleware, @unchecked Sendable {
  private let origin: String
  private let renew: @Sendable (Credential?, NetworkClient) async throws -> Credential
  private let lock = NSLock()
  // Under the lock.
  private var current: Credential?
  // What the credential was before it was ever renewed: it stands for who is signed in.
  private var first: String?
  private var name: String?
  private var generation = 0
  private var isRenewing = false
  private var waiting: [UUID: CheckedContinuation<Credential, any Error>] = [:]

  /// Makes one for one service.
  ///
  /// - Parameters:
  ///   - origin: A URL of the service: scheme, host and port count.
  ///   - credential: What is known already. Without one, a call renews first.
  ///   - renew: Gets the credential that was rejected and the client of the call; returns a new one.
  public init(
    for origin: URL, _ credential: Credential? = nil,
    renew: @escaping @Sendable (Credential?, NetworkClient) async throws -> Credential
  ) {
    self.origin = RedirectGuard.origin(origin)
    self.renew = renew
    current = credential
    first = credential?.header.value
  }

  /// What requests are sent with from now on. A renewal that is under way does not overwrite what is set here.
  public var credential: Credential? {
    get { lock.withLock { current } }
    set {
      lock.withLock {
        current = newValue
        first = newValue?.header.value
        generation += 1
      }
    }
  }

  /// Who is signed in, if the app knows: a ``ResponseCache`` keeps answers for this account, also over renewals and
  /// launches. Without it, they are kept for the credential that was set, as long as the process runs.
  public var account: String? {
    get { lock.withLock { name } }
    set { lock.withLock { name = newValue } }
  }

  /// With the credential; after a rejection once more, with a new one.
  public func respond(
    to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
  ) async throws -> NetworkResponse {
    if AuthenticationInProgress.current.contains(ObjectIdentifier(self)) || RedirectGuard.origin(request.url) != origin
    {
      return try await next(request)
    }
    let (known, generation) = lock.withLock { (current, self.generation) }
    let credential: Credential
    if let known { credential = known } else { credential = try await renewed(after: generation, call.client) }
    do {
      return try await next(signed(request, credential))
    } catch NetworkError.endpointError(let response, _)
      where known != nil && credential.isRejected(by: response) && request.httpBodyStream == nil
    {
      return try await next(signed(request, try await renewed(after: generation, call.client)))
    }
  }

  /// Answers to one user are not another's.
  public func cacheScope(of request: URLRequest) -> String? {
    RedirectGuard.origin(request.url) == origin ? lock.withLock { name ?? first } : nil
  }

  private func signed(_ request: URLRequest, _ credential: Credential) throws -> URLRequest {
    let field = credential.header
    if let flaw = field.flaw ?? SessionTransport.flaw(inField: field.name, field.value) {
      throw NetworkError.invalidRequest(reason: flaw)
    }
    RedirectGuard.protect(field: field.name)
    var request = request
    request.setValue(field.value, forHTTPHeaderField: field.name)
    return request
  }

  /// The credential after the one of that generation. All who ask meanwhile wait for the same renewal.
  private func renewed(after old: Int, _ client: NetworkClient) async throws -> Credential {
    let id = UUID()
    do {
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          let (known, isFirst) = lock.withLock { () -> (Credential?, Bool) in
            if !isRenewing, generation != old, let current { return (current, false) }
            waiting[id] = continuation
            defer { isRenewing = true }
            return (nil, !isRenewing)
          }
          if let known { return continuation.resume(returning: known) }
          if isFirst { start(client) }
          // It may have been cancelled before there was anything to let go.
          if Task.isCancelled { letGo(id) }
        }
      } onCancel: {
        letGo(id)
      }
    } catch is CancellationError {
      throw NetworkError.cancelled
    } catch {
      // Whatever it is, it is no answer to this request: nothing here is to be tried again for it.
      throw NetworkError.middlewareError(error)
    }
  }

  private func letGo(_ id: UUID) {
    lock.withLock { waiting.removeValue(forKey: id) }?.resume(throwing: CancellationError())
  }

  private func start(_ client: NetworkClient) {
    let (old, generation) = lock.withLock { (current, self.generation) }
    // A task of its own: the call that began it may be cancelled.
    Task {
      let inProgress = AuthenticationInProgress.current.union([ObjectIdentifier(self)])
      let result: Result<Credential, any Error>
      do {
        result = .success(
          try await AuthenticationInProgress.value.withValue(inProgress) { try await renew(old, client) })
      } catch {
        result = .failure(error)
      }
      end(result, generation)
    }
  }

  private func end(_ result: Result<Credential, any Error>, _ old: Int) {
    let (result, waiting) = lock.withLock {
      () -> (Result<Credential, any Error>, [CheckedContinuation<Credential, any Error>]) in
      isRenewing = false
      var result = result
      if generation != old {
        // Somebody signed in or out meanwhile.
        result = current.map { .success($0) } ?? .failure(URLError(.userAuthenticationRequired))
      } else if case .success(let credential) = result {
        current = credential
        first = first ?? credential.header.value
        generation += 1
      }
      defer { self.waiting = [:] }
      return (result, Array(self.waiting.values))
    }
    for continuation in waiting { continuation.resume(with: result) }
  }
}

/// Which authentications are being renewed by whatever runs here: their own requests go without.
nonisolated enum AuthenticationInProgress {
  static let value = TaskLocal<Set<ObjectIdentifier>>(wrappedValue: [])
  static var current: Set<ObjectIdentifier> { value.get() }
}
