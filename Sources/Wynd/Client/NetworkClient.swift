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
  /// Sent with every request that has no such fields of its own.
  public var headers: [URLRequest.Header]
  /// The rule of every call for which neither the call nor its endpoint has one.
  public var policy: RetryPolicy
  /// Once a call, around all its attempts: caching, logging. The first is the outermost.
  public var middleware: [any NetworkMiddleware]
  /// Once an attempt: tokens, signatures, validation. The first is the outermost.
  public var attemptMiddleware: [any NetworkMiddleware]
  /// For bodies and answers of endpoints that name no coder of their own; nil is JSON.
  public var encoder: (any EndpointEncoder & Sendable)?
  /// For bodies and answers of endpoints that name no coder of their own; nil is JSON.
  public var decoder: (any EndpointDecoder & Sendable)?
  let wire: Wire

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
    self.baseURL = baseURL
    headers = []
    self.policy = policy
    self.middleware = middleware
    self.attemptMiddleware = attemptMiddleware
    wire = .script(transport)
  }

  // MARK: Requests

  /// Sends the request and returns the body.
  ///
  /// - Parameters:
  ///   - urlRequest: What to send; its URL is resolved against ``baseURL`` if it names no host.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - allowEmptyData: Accept a 2xx answer without a body where there could have been one.
  ///   - policy: Wins over the client's.
  /// - Returns: The body of the answer.
  /// - Throws: ``NetworkError``; nothing else.
  public func performNetworkRequest(
    _ urlRequest: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> Data {
    try await networkResponse(
      for: urlRequest, maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy
    ).data
  }

  /// Sends the request and returns body, head and history of the answer.
  ///
  /// - Parameters:
  ///   - urlRequest: What to send; its URL is resolved against ``baseURL`` if it names no host.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - allowEmptyData: Accept a 2xx answer without a body where there could have been one.
  ///   - policy: Wins over the client's.
  /// - Returns: Body, head and history.
  /// - Throws: ``NetworkError``; nothing else.
  public func networkResponse(
    for urlRequest: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> NetworkResponse {
    try await send(
      try resolved(urlRequest), nil, nil, Self.policy(policy ?? self.policy, maxRetries), allowEmptyData: allowEmptyData
    )
  }

  /// Sends the request and calls back once.
  ///
  /// - Parameters:
  ///   - urlRequest: What to send; its URL is resolved against ``baseURL`` if it names no host.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - allowEmptyData: Accept a 2xx answer without a body where there could have been one.
  ///   - policy: Wins over the client's.
  ///   - completionHandler: Gets the body, or the error, on the session's `delegateQueue`.
  /// - Returns: A handle to cancel the call; it need not be kept.
  @discardableResult
  public func performNetworkRequest(
    _ urlRequest: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (NetworkResult) -> Void
  ) -> NetworkTask {
    start(completionHandler) { () async throws(NetworkError) -> Data in
      try await performNetworkRequest(
        urlRequest, maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy)
    }
  }

  // MARK: Endpoints

  /// Sends what the endpoint describes and returns the parsed answer.
  ///
  /// - Parameters:
  ///   - endpoint: What to send, and how to parse the answer.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - policy: Wins over the endpoint's own, which wins over the client's.
  /// - Returns: The response.
  /// - Throws: ``NetworkError``; nothing else.
  public func load<E: Endpoint>(
    _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> E.Response {
    try await loadResponse(endpoint, maxRetries: maxRetries, policy: policy).value
  }

  /// As ``load(_:maxRetries:policy:)``, and gives head and history of the answer as well.
  ///
  /// - Parameters:
  ///   - endpoint: What to send, and how to parse the answer.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - policy: Wins over the endpoint's own, which wins over the client's.
  /// - Returns: The response, its head, its body and its history.
  /// - Throws: ``NetworkError``; nothing else.
  public func loadResponse<E: Endpoint>(
    _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> EndpointResponse<E.Response> {
    let (request, spool) = try EndpointCoding.with(encoder, decoder) { () throws(NetworkError) in
      try endpoint.makeRequest(baseURL: baseURL)
    }
    let policy = Self.policy(policy ?? endpoint.policy ?? self.policy, maxRetries)
    let answer: RetryLoop.Answer
    do throws(NetworkError) {
      answer = .success(try await send(request, spool, endpoint, policy, allowEmptyData: true))
    } catch {
      answer = .failure(error)
    }
    let parsed = try EndpointCoding.with(encoder, decoder) { () throws(NetworkError) in
      try endpoint.parsed(answer).get()
    }
    var value = parsed.value
    do {
      let response = try answer.get()
      let call = NetworkCall(client: self, endpoint: endpoint)
      for middleware in (middleware + attemptMiddleware).reversed() {
        value = try await middleware.parsed(value, from: response, in: call)
      }
    } catch {
      throw NetworkError(thrown: error)
    }
    return EndpointResponse(
      value: value, response: parsed.response, data: parsed.data, attempts: parsed.attempts, source: parsed.source)
  }

  /// Sends what the endpoint describes and calls back once with the parsed answer.
  ///
  /// - Parameters:
  ///   - endpoint: What to send, and how to parse the answer.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - policy: Wins over the endpoint's own, which wins over the client's.
  ///   - completionHandler: Gets the response, or the error, on the session's `delegateQueue`.
  /// - Returns: A handle to cancel the call; it need not be kept.
  @discardableResult
  public func load<E: Endpoint>(
    _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<E.Response, NetworkError>) -> Void
  ) -> NetworkTask {
    start(completionHandler) { () async throws(NetworkError) -> E.Response in
      try await load(endpoint, maxRetries: maxRetries, policy: policy)
    }
  }
}

// How a call is made.
nonisolated extension NetworkClient {
  private func send(
    _ request: URLRequest, _ spool: MultipartSpool?, _ endpoint: (any Endpoint)?, _ policy: RetryPolicy,
    allowEmptyData: Bool
  ) async throws(NetworkError) -> NetworkResponse {
    var request = request
    for field in headers where request.value(forHTTPHeaderField: field.name) == nil {
      if let flaw = field.flaw ?? SessionTransport.flaw(inField: field.name, field.value) {
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
        ? base : MiddlewareTransport(base, attemptMiddleware, call, allowEmptyData: allowEmptyData)
    }
    switch wire {
    case .session(let session):
      let transport = SessionTransport(session: session, file: spool?.file)
      let base: any NetworkTransport = spool.map { SpoolTransport(spool: $0, transport: transport) } ?? transport
      let loop = RetryLoop(request, policy: policy, allowEmptyData: allowEmptyData, transport: through(base))
      return try await loop.run { $0 }.get()
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

  private func start<Value: Sendable>(
    _ completionHandler: @escaping @Sendable (Result<Value, NetworkError>) -> Void,
    _ work: @escaping @Sendable () async throws(NetworkError) -> Value
  ) -> NetworkTask {
    return NetworkTask(
      TaskFlight(
        Task {
          let result: Result<Value, NetworkError>
          do throws(NetworkError) {
            result = .success(try await work())
          } catch {
            result = .failure(error)
          }
          queue.addOperation { completionHandler(result) }
        }))
  }

  private func resolved(_ request: URLRequest) throws(NetworkError) -> URLRequest {
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

  private static func policy(_ policy: RetryPolicy, _ maxRetries: Int?) -> RetryPolicy {
    var policy = policy
    if let maxRetries { policy.maxRetries = maxRetries }
    return policy
  }
}
