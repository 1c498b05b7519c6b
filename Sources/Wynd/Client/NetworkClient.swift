public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Sends requests to one web service with shared settings. It is a value type: to change a setting, copy the client.
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
/// A call runs the ``MiddlewareStage/call`` middleware once, and the ``MiddlewareStage/attempt`` middleware in every
/// attempt. The response passes through them in reverse order:
///
///     caller ─ .call middleware ─ retry loop ─ .attempt middleware ─ URLSession
///                                     │ again and again │
///
/// The client uses ``Endpoint``. If you delete the `Endpoint` folder, delete this folder too.
nonisolated public struct NetworkClient: NetworkPerformer {
  /// Supplies the scheme, host and port for endpoints and request URLs that have no host. Its path is prepended to
  /// theirs.
  public var baseURL: URL?
  /// The session that sends the requests.
  public var session: URLSession
  /// Header fields for every request that does not already have them. If ``baseURL`` is set, fields that look like
  /// credentials are sent only to its origin.
  public var headers: [NetworkHeader]
  /// The retry policy of all calls, in which an endpoint or a call may set other fields.
  public var policy: RetryPolicy
  /// Encodes the JSON bodies of endpoints that specify no encoder. nil means a `JSONEncoder` that sorts the keys.
  public var encoder: JSONEncoder?
  /// Decodes the responses of endpoints that specify no decoder. nil means a `JSONDecoder()`.
  public var decoder: JSONDecoder?
  /// The middleware of every call. In each ``NetworkMiddleware/stage``, the first is the outermost. For
  /// ``MiddlewareStage/call`` middleware, the policy's deadline starts when `next` is called. The deadline and a
  /// cancellation end the work of `next`; a middleware has to end its other work itself.
  public var middleware: [any NetworkMiddleware]
  /// Replaces the session in a test. With a ``NetworkScript``, no network is used, and time is simulated.
  ///
  /// ```swift
  /// var client = AppNetwork.client                      // as the app has made it
  /// client.script = NetworkScript([.status(503), .dropped, .ok("{}")])
  /// ```
  public var script: (any NetworkPerformer)?
  /// The session when the call began, in the client of that call (``NetworkCall/client``).
  private var begun: NetworkSessionTransport?

  /// Makes a client.
  ///
  /// - Parameters:
  ///   - baseURL: The scheme, host, port and path prefix of endpoints that have no host.
  ///   - session: The session that sends the requests.
  ///   - headers: Header fields for every request that does not already have them.
  ///   - policy: The retry policy of all calls.
  ///   - encoder: Encodes the JSON bodies of endpoints that specify no encoder. nil means a `JSONEncoder` that sorts
  ///     the keys.
  ///   - decoder: Decodes the responses of endpoints that specify no decoder. nil means a `JSONDecoder()`.
  ///   - middleware: The middleware of every call.
  ///   - script: Replaces the session in a test.
  public init(
    baseURL: URL? = nil, session: URLSession = .shared, headers: [NetworkHeader] = [],
    policy: RetryPolicy = .default, encoder: JSONEncoder? = nil, decoder: JSONDecoder? = nil,
    middleware: [any NetworkMiddleware] = [], script: (any NetworkPerformer)? = nil
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

  /// The queue of the session.
  public var delegateQueue: OperationQueue { performer.delegateQueue }

  private var performer: any NetworkPerformer {
    if let script { return script }
    if let begun, begun.session === session { return begun }
    return session
  }

  /// Makes a base URL from its components: `try NetworkClient.baseURL(host: "api.example.com", path: "/v2")`.
  ///
  /// - Parameters:
  ///   - scheme: `https` or `http`.
  ///   - host: A domain name, which may be internationalized, or an IP address.
  ///   - port: 1 to 65535. nil means the default port of the scheme.
  ///   - path: The prefix of the path of each endpoint, as plain text.
  /// - Returns: A URL for ``baseURL``.
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if the components do not form a valid URL.
  public static func baseURL(
    scheme: String = "https", host: String, port: Int? = nil, path: String = ""
  ) throws(NetworkError) -> URL {
    try NetworkEndpointURL.url(scheme: scheme, host: host, port: port, path: NetworkPercentEncoding.path(path))
  }
}

nonisolated extension NetworkClient {
  /// Carries out a call with the settings and the middleware of this client.
  #if compiler(>=6.2)
    @concurrent
  #endif
  public func perform(_ plan: NetworkCallPlan) async -> Result<NetworkResponse<Data>, NetworkError> {
    do {
      var plan = plan
      let client = beginningCall()
      try complete(&plan.request)
      plan.policy = plan.policy?.inheriting(from: policy) ?? policy
      let call = NetworkCall(
        client: client, endpoint: plan.endpoint as? any Endpoint, isTransfer: plan.isTransfer,
        isReadOnly: plan.isReadOnly, signIns: plan.signIns ?? NetworkLock([:]))
      let ofAttempt = middleware.filter { $0.stage == .attempt }
      if !ofAttempt.isEmpty { plan.addMiddleware(ofAttempt, in: call) }
      let ofCall = middleware.filter { $0.stage == .call }
      // The app may invalidate its session while they work.
      let performer = ofCall.isEmpty ? performer : client.performer
      let next = NetworkMiddlewareNext(ofCall, in: call) { [plan] request in
        var plan = plan
        plan.request = request
        if call.memory.withLock({ $0.hasFallback }) { plan.maxRetries = 0 }
        return try await performer.perform(plan).get()
      }
      return .success(try await next(plan.request))
    } catch { return .failure(NetworkError(thrown: error)) }
  }

  /// Carries out a call in a task.
  public func perform(
    _ plan: NetworkCallPlan,
    completionHandler: @escaping @Sendable (Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask {
    let client = beginningCall()
    return start(completionHandler) { await client.perform(plan) }
  }

  /// Adds the base URL and the header fields.
  private func complete(_ request: inout URLRequest) throws(NetworkError) {
    if let url = request.url, url.scheme == nil, url.host?.isEmpty != false {
      let (path, query) = (url.path(percentEncoded: true), url.query(percentEncoded: true))
      request.url = try NetworkEndpointURL.url(path: path, query: query, baseURL: baseURL)
    }
    let isSameOrigin = baseURL == nil || NetworkOrigin(request.url) == NetworkOrigin(baseURL)
    for field in headers where request.value(forHTTPHeaderField: field.name) == nil {
      // A credential for this service must not be sent to another origin.
      if isSameOrigin || !NetworkSensitiveHeader.matches(field.name, field.value) { try field.add(to: &request) }
    }
  }
}

nonisolated extension NetworkClient: SessionPerformer {
  func beginningCall() -> NetworkClient {
    var client = self
    if begun?.session !== session { client.begun = session.beginningCall() }
    return client
  }
}

nonisolated extension NetworkClient: NetworkEndpointContext {
  func pass(_ response: inout NetworkResponse<some Sendable>, of endpoint: any Endpoint) async throws(NetworkError) {
    let call = NetworkCall(client: self, endpoint: endpoint, isTransfer: false)
    let received = response.withValue(response.data)
    let ordered = middleware.filter { $0.stage == .call } + middleware.filter { $0.stage == .attempt }
    for middleware in ordered.reversed() {
      do { response.value = try await middleware.parsed(response.value, from: received, in: call) } catch {
        throw NetworkError(thrown: error)
      }
    }
  }
}
