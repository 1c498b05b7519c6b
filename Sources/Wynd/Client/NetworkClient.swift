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
///   middleware: [cache, authentication])
/// let expenses = try await client.load(.expenses)
/// try await client.performNetworkDownload(URLRequest(url: report), to: file)
/// ```
///
/// A call passes the middleware of the ``MiddlewareStage/call`` stage once and that of the
/// ``MiddlewareStage/attempt`` stage in every attempt; its response passes them in reverse:
///
///     caller ─ .call middleware ─ retry loop ─ .attempt middleware ─ URLSession
///                                     │ again and again │
///
/// It uses ``Endpoint``. If you delete that folder, delete this one, too.
nonisolated public struct NetworkClient: NetworkPerformer {
  /// What endpoints without a host, and requests whose URL has none, are resolved against: scheme, host, port and a path
  /// that comes before theirs.
  public var baseURL: URL?
  /// What sends the requests.
  public var session: URLSession
  /// Sent with every request that has no such fields of its own; what sounds like a credential only to the origin of
  /// ``baseURL``, if there is one.
  public var headers: [URLRequest.Header]
  /// The policy of every call for which neither the call nor its endpoint has one.
  public var policy: RetryPolicy
  /// Encodes the JSON bodies of endpoints that name no encoder; nil is a `JSONEncoder()`.
  public var encoder: JSONEncoder?
  /// Decodes the responses to endpoints that name no decoder; nil is a `JSONDecoder()`.
  public var decoder: JSONDecoder?
  /// What every call passes. Of each ``NetworkMiddleware/stage`` the first is the outermost. The policy's deadline counts
  /// from where `next` is called, and ends what that does; so does a cancellation. What else a middleware does is its own
  /// to end.
  public var middleware: [any NetworkMiddleware]
  /// Responds in place of the session, in a test: no network, and no time passes.
  ///
  /// ```swift
  /// var client = AppNetwork.client                      // as the app has made it
  /// client.script = .scripted([.status(503), .dropped, .ok("{}")])
  /// ```
  public var script: NetworkScript?

  /// Makes a client.
  ///
  /// - Parameters:
  ///   - baseURL: Scheme, host, port and the path that comes before that of each endpoint.
  ///   - session: What sends.
  ///   - headers: For every request that has no such fields of its own.
  ///   - policy: The retry rule.
  ///   - encoder: For JSON bodies of endpoints that name none; nil is a `JSONEncoder()`.
  ///   - decoder: For responses to endpoints that name none; nil is a `JSONDecoder()`.
  ///   - middleware: What every call passes.
  ///   - script: Responds in place of the session, in a test.
  public init(
    baseURL: URL? = nil, session: URLSession = .shared, headers: [URLRequest.Header] = [],
    policy: RetryPolicy = .default, encoder: JSONEncoder? = nil, decoder: JSONDecoder? = nil,
    middleware: [any NetworkMiddleware] = [], script: NetworkScript? = nil
  ) {
    self.baseURL = baseURL
    self.session = session
    self.headers = headers
    self.policy = policy
    self.encoder = encoder
    self.decoder = decoder
    self.middleware = middleware
    self.script = script
  }

  /// The calls of this client.
  public var networkCaller: NetworkCaller { NetworkCaller(source: source, client: self) }
  private var source: any RetryLoopFactory { script ?? session }

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
  ) throws(NetworkError) -> URL {
    try EndpointURL.url(scheme: scheme, host: host, port: port, path: PercentEncoding.path(path))
  }
}

// How a call is made.
nonisolated extension NetworkClient: EndpointCallRunner {
  #if compiler(>=6.2)
    @concurrent
  #endif
  func run(_ plan: NetworkCallPlan) async -> RetryLoop.CallResult {
    do {
      var plan = plan
      try complete(&plan.request)
      // The call was begun in a task of its own: its session may have been invalidated since.
      plan.sessionMayHaveEnded = true
      plan.policy = plan.policy ?? policy
      let call = NetworkCall(client: self, endpoint: plan.endpoint as? any Endpoint, isTransfer: plan.transfer != nil)
      let ofAttempt = middleware.filter { $0.stage == .attempt }
      if !ofAttempt.isEmpty {
        plan.transfer = { [plan] base in
          MiddlewareTransport(
            base: plan.transfer?(base) ?? base, middleware: ofAttempt, call: call, allowEmptyData: plan.allowEmptyData)
        }
      }
      let next = NetworkMiddlewareNext(middleware.filter { $0.stage == .call }, in: call) { [plan, source] request in
        var plan = plan
        plan.request = request
        if call.memory.withLock({ $0.hasFallback }) { plan.maxRetries = 0 }
        let loop = source.loop(for: plan)
        if loop.transport.isInvalidated { throw NetworkError.urlError(URLError(.cancelled)) }
        return try await loop.run().get()
      }
      return .success(try await next(plan.request))
    } catch {
      return .failure(NetworkError(thrown: error))
    }
  }

  /// Adds the base URL and the header fields.
  private func complete(_ request: inout URLRequest) throws(NetworkError) {
    if let url = request.url, url.scheme == nil, url.host?.isEmpty != false {
      let (path, query) = (url.path(percentEncoded: true), url.query(percentEncoded: true))
      request.url = try EndpointURL.url(after: baseURL, path: path, query: query)
    }
    let isSameOrigin = baseURL == nil || NetworkOrigin(request.url) == NetworkOrigin(baseURL)
    for field in headers where request.value(forHTTPHeaderField: field.name) == nil {
      // A key that is meant for the service goes nowhere else.
      if isSameOrigin || !SensitiveHeader.matches(field.name, field.value) { try field.add(to: &request) }
    }
  }

  func afterParsing<Value>(
    _ response: EndpointResponse<Value>, of endpoint: any Endpoint
  ) async throws(NetworkError) -> EndpointResponse<Value> {
    let call = NetworkCall(client: self, endpoint: endpoint, isTransfer: false)
    let ordered = middleware.filter { $0.stage == .call } + middleware.filter { $0.stage == .attempt }
    var response = response
    do {
      for middleware in ordered.reversed() {
        response.value = try await middleware.parsed(response.value, from: response.network, in: call)
      }
    } catch {
      throw NetworkError(thrown: error)
    }
    return response
  }
}
