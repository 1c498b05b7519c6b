#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Describes a call before it starts. A performer of the app may change the public properties.
nonisolated public struct NetworkCallPlan: Sendable {
  /// Identifies the call in its events. A different number for each call of the process.
  public internal(set) var id = nextID()
  private static let ids = NetworkLock((1...Int.max).makeIterator())
  static func nextID() -> Int { ids.withLock { $0.next() ?? 0 } }
  /// What to send.
  public var request: URLRequest
  /// The retry rule, without what a client adds to it; see ``RetryPolicy/inheriting(from:)``.
  public var policy: RetryPolicy
  /// Whether the request only reads; nil means what its method says. A POST that searches is true, and is retried like
  /// a GET. A GET that changes something is false, and is retried like a POST: only if nothing was sent, or the server
  /// refused it.
  public var isReadOnly: Bool?

  // MARK: From the method that makes the call

  /// Whether a 2xx response with an empty body is a success.
  var allowEmptyData = true
  /// What a download, an upload or a stream puts around each request; nil for any other call.
  var transfer: (@Sendable (@escaping NetworkSend) -> NetworkSend)?
  /// Whether the response must not go into the session's `URLCache`, because another cache stores it.
  var bypassesURLCache = false

  // MARK: From the start of the call

  /// The session and its delegate at the start of the call; nil until then.
  var transport: NetworkSessionTransport?
  /// Whether every request runs on a private session, because the app may have invalidated its own since the start.
  var usesPrivateSession = false

  // MARK: From the clients that the call passes

  /// The middleware of the clients, around each attempt. It may send several requests. It receives the plan as it has
  /// reached the session, with what each client has added.
  var middleware: (@Sendable (NetworkCallPlan, @escaping NetworkSend) -> NetworkSend)?
  /// What other folders add: the endpoint, the users, and the defaults of the performer at the start of the call.
  var values = NetworkTypedValues()
}

nonisolated extension NetworkCallPlan: CustomStringConvertible {
  /// The number of the call, the method and the URL: no query value, no header and nothing of the body.
  public var description: String { "[\(id)] \(request.redactedForLog)" }
}

nonisolated extension NetworkCallPlan {
  /// The plan of a call that starts now. A client calls this again for a plan that has started: the transport and the
  /// values that are set remain.
  func started(on performer: some NetworkPerformer, _ defaults: NetworkDefaults) -> NetworkCallPlan {
    var plan = self
    // A client or a performer of the app may send the first request later.
    if !(performer is URLSession) { plan.usesPrivateSession = true }
    if transport == nil { plan.transport = defaults.session.map(NetworkSessionTransport.init) }
    plan.values.add(defaults.values)
    return plan
  }

  /// The plan of another call with the same settings, such as the next connection of an event stream. It has events of
  /// its own, and the retry budget counts it as another call.
  func withNewID() -> NetworkCallPlan {
    var plan = self
    plan.id = Self.nextID()
    return plan
  }

  /// What reports that the response of this call cannot be parsed; nil without `onEvent`. It does not hold the plan, which
  /// may hold a body.
  func undecodableReport(
    on queue: DispatchQueue?, attempt: Int, elapsed: Swift.Duration
  ) -> (@Sendable (NetworkError) -> Void)? {
    guard let queue, let onEvent = policy.onEvent else { return nil }
    return { [id, request] error in
      let event = NetworkEvent(
        callID: id, request: request, attempt: attempt, elapsed: elapsed, kind: .undecodable(error))
      queue.async { onEvent(event) }
    }
  }

  /// The transport of this call on a session. It has the delegate that the session had at the start of the call.
  func transport(on session: URLSession) -> NetworkSessionTransport {
    if let transport, transport.session === session { return transport }
    return NetworkSessionTransport(session: session)
  }

  /// Returns the function that carries out an attempt: a request, inside everything that is put around it. Nil if
  /// nothing is: the loop starts the request itself then.
  ///
  /// The layers of a call, from the outside:
  ///
  ///     performer       a client completes the request, a cache may respond           once per call
  ///       retry loop    decides about each failure, waits                             RetryLoop
  ///         middleware  of the clients, the outermost first                           once per attempt
  ///           transfer  a download, an upload or a stream                             once per request of a middleware
  ///             transport  validates the request, and starts it on a session          NetworkSessionTransport
  ///               hop   on Linux: one task for each redirect; on Apple's platforms one task in all
  func attempt(on transport: any NetworkTransport) -> NetworkSend? {
    if transfer == nil, middleware == nil { return nil }
    let send: NetworkSend = { await transport.send($0) }
    let sendRequest = transfer?(send) ?? send
    return middleware?(self, sendRequest) ?? sendRequest
  }

  init(
    _ request: URLRequest, policy: RetryPolicy = .default, allowEmptyData: Bool = true, isReadOnly: Bool? = nil
  ) {
    self.init(request: request, policy: policy, isReadOnly: isReadOnly, allowEmptyData: allowEmptyData)
  }
}
