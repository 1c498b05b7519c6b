// Client: shared settings for the calls to one service, middleware around each attempt, and authentication.
// It needs Core, Body and Endpoint. NetworkClient+perform adds the base URL and the header fields of the client,
// NetworkMiddlewareAttempt runs the middleware, and NetworkSignedInUsers says for whom a call is made.

public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Sends requests to one web service with shared settings. It is a value type: to change a setting, copy the client.
///
/// ```swift
/// let client = NetworkClient(
///   baseURL: URL(string: "https://api.example.com/v2"),
///   headers: ["User-Agent": "Expenses/1.0"],
///   middleware: [authentication])
/// let expenses = try await client.load(.expenses)
/// try await client.performNetworkDownload(URLRequest(url: report), to: file)
/// ```
///
/// The middleware runs in every attempt. The response passes through it in reverse order:
///
///     caller ─ cache ─ retry loop ─ middleware ─ URLSession
///                           │ again and again │
///
/// A client is made on any performer: a session, a ``ResponseCache``, a ``NetworkScript`` in a test, a performer of the
/// app, or another client. The settings of that client then apply too: its middleware and its header fields inside
/// those of this one, and its base URL, its coders and the fields of its policy where this one has none.
nonisolated public struct NetworkClient: NetworkPerformer {
  /// Supplies the scheme, host and port for endpoints and request URLs that have no host. Its path is prepended to
  /// theirs.
  public var baseURL: URL? {
    didSet { ownBase = baseURL.map(NetworkBaseURL.init) }
  }
  /// Carries out the calls: a session, a ``NetworkScript`` in a test, another client, or a performer of the app.
  ///
  /// ```swift
  /// var client = AppNetwork.client                      // as the app has made it
  /// client.performer = NetworkScript([.status(503), .dropped, .ok("{}")])
  /// ```
  public var performer: any NetworkPerformer
  /// Header fields for every request that does not already have them. If this client or its performer has a base URL,
  /// fields that look like credentials are sent only to its origin.
  ///
  /// Each of these sets only fields that the earlier ones have not set: the endpoint or the `URLRequest` (the `headers`
  /// of an endpoint, the type of its body, then `Accept`), this client, the clients that it is made on, and the session
  /// (`httpAdditionalHeaders`). ``Endpoint/prepare(request:)`` and middleware may change any field.
  public var headers: [String: String] {
    didSet { ownHeaders = NetworkClientHeaders(headers) }
  }
  /// The retry policy of all calls. The fields that an endpoint or a call sets take precedence. Fields that it does not
  /// set are taken from the client that this one is made on.
  public var policy: RetryPolicy
  /// Encodes the JSON bodies of endpoints that specify no encoder. nil means a `JSONEncoder` that sorts the keys.
  public var encoder: JSONEncoder?
  /// Decodes the responses of endpoints that specify no decoder. nil means one that reads dates as ISO 8601.
  public var decoder: JSONDecoder?
  /// The middleware of every attempt. The first is the outermost. The deadline and a cancellation end the call, and the
  /// work of `next`; a middleware has to end its other work itself.
  public var middleware: [any NetworkMiddleware]
  var ownBase: NetworkBaseURL?
  var ownHeaders: NetworkClientHeaders

  /// Makes a client.
  ///
  /// - Parameters:
  ///   - baseURL: The scheme, host, port and path prefix of endpoints that have no host.
  ///   - performer: Carries out the calls: a session, a ``NetworkScript``, another client, or a performer of the app.
  ///   - headers: Header fields for every request that does not already have them.
  ///   - policy: The retry policy of all calls.
  ///   - encoder: Encodes the JSON bodies of endpoints that specify no encoder. nil means a `JSONEncoder` that sorts
  ///     the keys.
  ///   - decoder: Decodes the responses of endpoints that specify no decoder. nil means one that reads dates as ISO
  ///     8601.
  ///   - middleware: The middleware of every call.
  public init(
    baseURL: URL? = nil, on performer: any NetworkPerformer = URLSession.shared, headers: [String: String] = [:],
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
    ownBase = baseURL.map(NetworkBaseURL.init)
    ownHeaders = NetworkClientHeaders(headers)
  }

  /// The queue of the performer.
  public var delegateQueue: OperationQueue { performer.delegateQueue }
}

nonisolated extension NetworkClient: CustomStringConvertible {
  /// The base URL, without what may be secret.
  public var description: String { "NetworkClient(\(baseURL?.redactedForLog ?? "no base URL"))" }
}

nonisolated extension NetworkClient: NetworkValueMiddleware {
  /// The base URL and the coders of this client, or of its performer where the client has none.
  public var defaults: NetworkDefaults {
    var defaults = performer.defaults
    defaults.baseURL = baseURL ?? defaults.baseURL
    defaults.encoder = encoder ?? defaults.encoder
    defaults.decoder = decoder ?? defaults.decoder
    // Setting a value allocates.
    if let contentType = ownHeaders.contentType { defaults.ofEndpoints.contentType = contentType }
    if let accept = ownHeaders.accept { defaults.ofEndpoints.accept = accept }
    if middleware.isEmpty { return defaults }
    defaults.ofEndpoints.valueMiddleware = self
    let users = NetworkSignedInUsers(of: middleware, and: defaults.values[NetworkSignedInUsers.self])
    defaults.values[NetworkSignedInUsers.self] = users
    return defaults
  }

  func process(_ response: inout NetworkResponse<some Sendable>, of plan: NetworkCallPlan) async throws(NetworkError) {
    try await performer.defaults.ofEndpoints.valueMiddleware?.process(&response, of: plan)
    let received = response.withValue(response.data)
    for middleware in middleware.reversed() {
      let call = NetworkMiddlewareCall(client: self, plan, attempt: received.attempts.last?.number ?? 1)
      do {
        response.value = try await middleware.parsed(response.value, from: received, in: call)
      } catch {
        throw NetworkError(thrown: error)
      }
    }
  }
}
