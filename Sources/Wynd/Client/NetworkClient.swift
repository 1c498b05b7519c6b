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
/// It is made on any performer: a session, a ``NetworkScript`` in a test, a performer of the app, or another client. The
/// middleware and the header fields of that client are then used too, inside those of this one, and its base URL, its
/// coders and the fields of its policy where this one has none.
nonisolated public struct NetworkClient: NetworkPerformer {
  /// Supplies the scheme, host and port for endpoints and request URLs that have no host. Its path is prepended to
  /// theirs.
  public var baseURL: URL?
  /// Carries out the calls: a session, a ``NetworkScript`` in a test, another client, or a performer of the app.
  ///
  /// ```swift
  /// var client = AppNetwork.client                      // as the app has made it
  /// client.performer = NetworkScript([.status(503), .dropped, .ok("{}")])
  /// ```
  ///
  /// What a performer of the app contains is not known, also if it contains a client: its base URL and coders are not
  /// used, and a ``ResponseCache`` of this client passes every request on.
  public var performer: any NetworkPerformer
  /// Header fields for every request that does not already have them. If there is a ``baseURL``, its own or that of the
  /// client that this one is made on, fields that look like credentials are sent only to its origin.
  public var headers: [NetworkHeader]
  /// The retry policy of all calls, in which an endpoint or a call may set other fields. What it does not set is that
  /// of the client that this one is made on, or the default.
  public var policy: RetryPolicy
  /// Encodes the JSON bodies of endpoints that specify no encoder. nil means a `JSONEncoder` that sorts the keys.
  public var encoder: JSONEncoder?
  /// Decodes the responses of endpoints that specify no decoder. nil means a `JSONDecoder()`.
  public var decoder: JSONDecoder?
  /// The middleware of every call. In each ``NetworkMiddleware/stage``, the first is the outermost. For
  /// ``MiddlewareStage/call`` middleware, the policy's deadline starts when `next` is called. The deadline and a
  /// cancellation end the work of `next`; a middleware has to end its other work itself.
  public var middleware: [any NetworkMiddleware]

  /// Makes a client.
  ///
  /// - Parameters:
  ///   - baseURL: The scheme, host, port and path prefix of endpoints that have no host.
  ///   - performer: Carries out the calls: a session, a ``NetworkScript``, another client, or a performer of the app.
  ///   - headers: Header fields for every request that does not already have them.
  ///   - policy: The retry policy of all calls.
  ///   - encoder: Encodes the JSON bodies of endpoints that specify no encoder. nil means a `JSONEncoder` that sorts
  ///     the keys.
  ///   - decoder: Decodes the responses of endpoints that specify no decoder. nil means a `JSONDecoder()`.
  ///   - middleware: The middleware of every call.
  public init(
    baseURL: URL? = nil, on performer: any NetworkPerformer = URLSession.shared, headers: [NetworkHeader] = [],
    policy: RetryPolicy = .default, encoder: JSONEncoder? = nil, decoder: JSONDecoder? = nil,
    middleware: [any NetworkMiddleware] = []
  ) {
    self.baseURL = baseURL
    self.performer = performer
    self.headers = headers
    self.policy = policy
    self.encoder = encoder
    self.decoder = decoder
    self.middleware = middleware
  }

  /// The queue of the performer.
  public var delegateQueue: OperationQueue { performer.delegateQueue }

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

nonisolated extension NetworkClient: CustomStringConvertible {
  /// The base URL, without what may be secret.
  public var description: String { "NetworkClient(\(baseURL?.redactedForLog ?? "no base URL"))" }
}

// MARK: - A client that is made on another client

nonisolated extension NetworkClient {
  /// The client that this one is made on.
  private var base: NetworkClient? { performer as? NetworkClient }

  /// The middleware that a call passes, also that of the client that this one is made on.
  var allMiddleware: [any NetworkMiddleware] { middleware + (base?.allMiddleware ?? []) }

  /// Whether it is known who adds a credential to the requests, or header fields: not in a performer of the app, which
  /// may contain a client.
  var isPerformerKnown: Bool {
    if let base { return base.isPerformerKnown }
    return performer is URLSession || performer is any NetworkSettingsPerformer
  }

  /// The header fields that the session adds to every request.
  var headersOfSession: [AnyHashable: Any] {
    if let base { return base.headersOfSession }
    return (performer as? URLSession)?.configuration.httpAdditionalHeaders ?? [:]
  }
}

nonisolated extension NetworkClient: NetworkEndpointContext {
  var signIns: NetworkSignIns.Numbers {
    var signIns = base?.signIns ?? [:]
    for case let middleware as any NetworkSignInMiddleware in middleware {
      signIns[ObjectIdentifier(middleware)] = middleware.currentSignIn
    }
    return signIns
  }

  var settings: NetworkClientSettings {
    // Not those of a script: a test should find a client whose base URL is missing.
    let inherited = base?.settings
    let contentType = headers.first { $0.name.lowercased() == "content-type" }?.value
    return NetworkClientSettings(
      baseURL: baseURL ?? inherited?.baseURL, encoder: encoder ?? inherited?.encoder,
      decoder: decoder ?? inherited?.decoder, contentType: contentType ?? inherited?.contentType,
      session: inherited?.session ?? performer as? URLSession)
  }

  func pass(_ response: inout NetworkResponse<some Sendable>, of plan: NetworkCallPlan) async throws(NetworkError) {
    try await base?.pass(&response, of: plan)
    let call = NetworkCall(client: self, plan)
    let received = response.withValue(response.data)
    let ordered = middleware.filter { $0.stage == .call } + middleware.filter { $0.stage == .attempt }
    for middleware in ordered.reversed() {
      do {
        response.value = try await middleware.parsed(response.value, from: received, in: call)
      } catch {
        throw NetworkError(thrown: error)
      }
    }
  }
}

/// A middleware that adds the credential of a user.
nonisolated protocol NetworkSignInMiddleware: NetworkMiddleware, AnyObject {
  /// A number that changes when another user signs in; 0 if nobody is signed in.
  var currentSignIn: Int { get }
}
