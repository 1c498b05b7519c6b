public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// What an app sets once for one web service. A value: copy it, change a field.
///
/// ```swift
/// let client = NetworkClient(
///   baseURL: URL(string: "https://api.example.com/v2"),
///   headers: [.userAgent("Expenses/1.0")],
///   middleware: [cache],                       // once a call
///   attemptMiddleware: [authentication])       // once an attempt
/// let expenses = try await client.load(.expenses)
/// ```
///
/// A call goes from the left to the right, its answer back:
///
///     caller ─ middleware[0] ─ [1] ─ … ─ retry loop ─ attemptMiddleware[0] ─ [1] ─ … ─ URLSession
///                                            │ again and again │
///
/// It uses ``Endpoint``: who deletes that folder deletes this one too.
nonisolated public struct NetworkClient: Sendable {
  /// What endpoints without a host, and requests whose URL has none, are resolved against: scheme, host, port and a path
  /// that comes before theirs.
  public var baseURL: URL?
  /// Sent with every request that has no such fields of its own; what sounds like a credential only to the origin of
  /// ``baseURL``, if there is one.
  public var headers: [URLRequest.Header]
  /// The rule of every call for which neither the call nor its endpoint has one.
  public var policy: RetryPolicy
  /// Once a call, around all its attempts: caching, logging. The first is the outermost. The policy's deadline counts from
  /// where `next` is called, and ends what that does; so does a cancellation. What else a middleware does is its own to end.
  public var middleware: [any NetworkMiddleware]
  /// Once an attempt: tokens, signatures, validation. The first is the outermost. A retry starts on a timer, where task-local
  /// values of the caller are not seen: what needs them belongs into ``middleware``.
  public var attemptMiddleware: [any NetworkMiddleware]
  /// For bodies and answers of endpoints that name no coder of their own; nil is JSON.
  public var encoder: (any EndpointEncoder & Sendable)?
  /// For bodies and answers of endpoints that name no coder of their own; nil is JSON.
  public var decoder: (any EndpointDecoder & Sendable)?
  private(set) var wire: Wire

  enum Wire: Sendable {
    case session(URLSession)
    case script(NetworkScript)
  }

  /// Makes a client.
  ///
  /// - Parameters:
  ///   - baseURL: Scheme, host, port and the path that comes before that of each endpoint.
  ///   - session: What sends.
  ///   - headers: For every request that has no such fields of its own.
  ///   - policy: The retry rule.
  ///   - encoder: For bodies of endpoints that name none; nil is JSON.
  ///   - decoder: For answers to endpoints that name none; nil is JSON.
  ///   - middleware: Once a call; the first is the outermost.
  ///   - attemptMiddleware: Once an attempt; the first is the outermost.
  public init(
    baseURL: URL? = nil, session: URLSession = .shared, headers: [URLRequest.Header] = [],
    policy: RetryPolicy = .default, encoder: (any EndpointEncoder & Sendable)? = nil,
    decoder: (any EndpointDecoder & Sendable)? = nil, middleware: [any NetworkMiddleware] = [],
    attemptMiddleware: [any NetworkMiddleware] = []
  ) {
    self.baseURL = baseURL
    self.headers = headers
    self.policy = policy
    self.encoder = encoder
    self.decoder = decoder
    self.middleware = middleware
    self.attemptMiddleware = attemptMiddleware
    wire = .session(session)
  }

  /// Makes a client that is answered by a script, for tests: no network, and no time passes.
  ///
  /// ```swift
  /// let client = NetworkClient(transport: .scripted([.status(503), .dropped, .ok("{}")]))
  /// let data = try await client.performNetworkRequest(request)
  /// ```
  ///
  /// - Parameters:
  ///   - transport: The script.
  ///   - baseURL: As in the client that is tested.
  ///   - policy: The retry rule. Its budget is left out.
  ///   - middleware: Once a call.
  ///   - attemptMiddleware: Once an attempt.
  public init(
    transport: NetworkScript, baseURL: URL? = nil, policy: RetryPolicy = .default,
    middleware: [any NetworkMiddleware] = [], attemptMiddleware: [any NetworkMiddleware] = []
  ) {
    self.init(baseURL: baseURL, policy: policy, middleware: middleware, attemptMiddleware: attemptMiddleware)
    wire = .script(transport)
  }
}

nonisolated extension NetworkClient {
  /// A base URL of its parts: `try NetworkClient.baseURL(host: "api.example.com", path: "/v2")`.
  ///
  /// - Parameters:
  ///   - scheme: `https` or `http`.
  ///   - host: A name, in any script, or an IP address.
  ///   - port: 1 to 65535; nil is the scheme's own.
  ///   - path: What comes before the path of each endpoint, as plain text.
  /// - Returns: For ``baseURL``.
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if they do not make one.
  public static func baseURL(
    scheme: String = "https", host: String, port: Int? = nil, path: String = ""
  ) throws(NetworkError) -> URL { try Base(scheme: scheme, host: host, port: port, path: path).url }

  private struct Base: Endpoint {
    typealias Response = Data
    var scheme: String
    var host: String
    var port: Int?
    var path: String
  }
}

// How a call is made.
nonisolated extension NetworkClient {
  #if compiler(>=6.2)
    @concurrent
  #endif
  func send(
    _ request: URLRequest, _ spool: MultipartSpool?, _ endpoint: (any Endpoint)?, _ policy: RetryPolicy,
    allowEmptyData: Bool
  ) async throws(NetworkError) -> NetworkResponse {
    var request = request
    let isAtHome = baseURL == nil || NetworkOrigin(request.url) == NetworkOrigin(baseURL)
    for field in headers where request.value(forHTTPHeaderField: field.name) == nil {
      // A key that is meant for the service goes nowhere else.
      if !isAtHome, SensitiveHeader.matches(field.name, field.value) { continue }
      if let flaw = field.flaw ?? SessionTransport.validationError(forField: field.name, field.value) {
        throw .invalidRequest(reason: flaw)
      }
      request.setValue(field.value, forHTTPHeaderField: field.name)
    }
    let call = NetworkCall(client: self, endpoint: endpoint)
    let next = NetworkMiddlewareNext(middleware, in: call) { request in
      try await answer(to: request, spool, call, policy, allowEmptyData)
    }
    do {
      return try await next(request)
    } catch {
      throw NetworkError(thrown: error)
    }
  }

  /// All attempts.
  private func answer(
    to request: URLRequest, _ spool: MultipartSpool?, _ call: NetworkCall, _ policy: RetryPolicy, _ allowEmptyData: Bool
  ) async throws(NetworkError) -> NetworkResponse {
    func through(_ base: any NetworkTransport) -> any NetworkTransport {
      attemptMiddleware.isEmpty
        ? base
        : MiddlewareTransport(
          base: base, middleware: attemptMiddleware, call: call, allowEmptyData: allowEmptyData)
    }
    let policy = call.hasFallback.withLock { $0 } ? policy.with(0) : policy
    switch wire {
    case .session(let session):
      let transport = SessionTransport(session: session, file: spool?.file, isLate: true)
      // The call was begun in a task of its own: its session may have been invalidated since.
      if transport.isInvalidated { throw .urlError(URLError(.cancelled)) }
      let base: any NetworkTransport = spool.map { SpoolTransport(spool: $0, transport: transport) } ?? transport
      let loop = RetryLoop(request, policy: policy, allowEmptyData: allowEmptyData, transport: through(base))
      return try await loop.run().get()
    case .script(let script):
      return try await script.run(request, policy, allowEmptyData, through)
    }
  }

  /// Where handlers are called.
  var queue: OperationQueue {
    switch wire {
    case .session(let session): session.delegateQueue
    case .script(let script): script.queue
    }
  }

  func start<Value: Sendable>(
    _ completionHandler: @escaping @Sendable (Result<Value, NetworkError>) -> Void,
    _ work: @escaping @Sendable () async throws(NetworkError) -> Value
  ) -> NetworkTask {
    let task = NetworkTask()
    task.isCarriedOut(
      by: .retries(
        Task {
          let result = await Self.result(of: work)
          task.end()
          queue.addOperation { completionHandler(result) }
        }))
    return task
  }

  static func result<Value>(
    of work: () async throws(NetworkError) -> Value
  ) async -> Result<Value, NetworkError> {
    do throws(NetworkError) { return .success(try await work()) } catch { return .failure(error) }
  }

  func resolved(_ request: URLRequest) throws(NetworkError) -> URLRequest {
    guard let url = request.url, url.host?.isEmpty != false, url.scheme == nil else { return request }
    guard let baseURL, let parts = URLComponents(url: url, resolvingAgainstBaseURL: false) else {
      throw .invalidRequest(reason: "there is no host, and no base URL")
    }
    guard var base = URLComponents(url: baseURL, resolvingAgainstBaseURL: true) else {
      throw .invalidRequest(reason: "the base URL is none")
    }
    base.percentEncodedPath = try EndpointURL.path(parts.percentEncodedPath, after: base.percentEncodedPath)
    base.percentEncodedQuery = parts.percentEncodedQuery
    var request = request
    request.url = base.url
    return request
  }

  static func policy(_ policy: RetryPolicy, _ maxRetries: Int?) -> RetryPolicy {
    var policy = policy.with(maxRetries)
    // A renewal that was held for a call that waits for it would wait for ever.
    if !AuthenticationInProgress.current.isEmpty { policy.budget = nil }
    return policy
  }
}
