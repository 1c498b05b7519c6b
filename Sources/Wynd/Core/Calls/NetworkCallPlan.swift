#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Describes a call before it starts. A performer of the app may change the public properties.
nonisolated public struct NetworkCallPlan: Sendable {
  /// Identifies the call in its events. A different number for each call of the process.
  public private(set) var id = nextID()
  private static let ids = NetworkLock((1...Int.max).makeIterator())
  private static func nextID() -> Int { ids.withLock { $0.next() ?? 0 } }
  /// What to send.
  public var request: URLRequest
  /// The retry rule, without what a client adds to it; see ``RetryPolicy/inheriting(from:)``.
  public var policy: RetryPolicy
  /// Whether the request only reads, although its method does not say so, such as a POST that searches. It is retried
  /// like a GET.
  public var isReadOnly = false

  // MARK: From the method that makes the call

  /// Whether a 2xx response with an empty body is a success.
  var allowEmptyData = true
  /// The endpoint of the call, for the middleware.
  var endpoint: (any Sendable)?
  /// A wait before the first attempt, on the clock of the call. It does not count as time of the call.
  var delay: Swift.Duration?
  /// What a download, an upload or a stream puts around each request; nil for any other call.
  var transfer: (@Sendable (@escaping NetworkSend) -> NetworkSend)?
  /// Whether ``transfer`` adds the body to each request, with its length.
  var addsBody = false
  /// Releases what the call has stored, such as a temporary file, before its result is returned.
  var onEnd: (@Sendable () -> Void)?

  // MARK: From the start of the call

  /// The session and its delegate at the start of the call; nil until then.
  var transport: NetworkSessionTransport?
  /// Who is signed in at the start of the call; nil until then, and without an ``Authentication``.
  var users: NetworkSignedInUsers?
  /// Whether every request runs on a private session, because the app may have invalidated its own since the start.
  var usesPrivateSession = false

  // MARK: From the clients that the call passes

  /// The middleware of the clients, around each attempt. It may send several requests. It receives the plan as it has
  /// reached the session, with what each client has added.
  var middleware: (@Sendable (NetworkCallPlan, @escaping NetworkSend) -> NetworkSend)?
  /// The names of the header fields in which the clients send a secret.
  var secretFields: Set<String> = []
  /// Identify the users whose credentials the clients add to a request.
  var cacheScopes: [@Sendable (URLRequest) -> String?] = []
  /// What the app should know about the settings of the clients.
  var notices: [String] = []

  /// Where the completion handlers of performers are called that have no queue of their own.
  static let defaultDelegateQueue: OperationQueue = {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    return queue
  }()
}

nonisolated extension NetworkCallPlan: CustomStringConvertible {
  /// The number of the call, the method and the URL: no query value, no header and nothing of the body.
  public var description: String { "[\(id)] \(request.redactedForLog)" }
}

nonisolated extension NetworkCallPlan {
  /// The plan of another call with the same settings, such as the next connection of an event stream. It has events of
  /// its own, and the retry budget counts it as another call.
  func withNewID() -> NetworkCallPlan {
    var plan = self
    plan.id = Self.nextID()
    return plan
  }

  /// The plan of a call that starts now.
  func started(on performer: some NetworkPerformer, _ defaults: NetworkDefaults) -> NetworkCallPlan {
    var plan = self
    // A client or a performer of the app may send the first request later.
    if !(performer is URLSession) { plan.usesPrivateSession = true }
    if transport == nil { plan.transport = defaults.session.map(NetworkSessionTransport.init) }
    if users == nil, !defaults.currentSignIns.isEmpty { plan.users = NetworkSignedInUsers(defaults.currentSignIns) }
    return plan
  }

  /// Sends the requests of this call on a session, with the delegate that the session had at the start of the call.
  func transport(on session: URLSession) -> NetworkSessionTransport {
    if let transport, transport.session === session { return transport }
    return NetworkSessionTransport(session: session)
  }

  /// The request without the length of a body that is not yet in it.
  var requestToValidate: URLRequest {
    guard addsBody else { return request }
    var request = request
    for name in ["Content-Length", "Transfer-Encoding"] { request.setValue(nil, forHTTPHeaderField: name) }
    return request
  }

  /// Whether something is put around each request or attempt.
  var isWrapped: Bool { transfer != nil || middleware != nil }

  /// Carries out an attempt: `send`, inside everything that is put around it.
  func attempt(through send: @escaping NetworkSend) -> NetworkSend {
    let request = transfer?(send) ?? send
    return middleware?(self, request) ?? request
  }

  init(
    _ request: URLRequest, policy: RetryPolicy = .default, allowEmptyData: Bool = true, isReadOnly: Bool = false
  ) {
    self.init(request: request, policy: policy, isReadOnly: isReadOnly, allowEmptyData: allowEmptyData)
  }
}

/// Who is signed in for a call. All its attempts and connections share it, so that none is sent with the credential of
/// another user.
nonisolated struct NetworkSignedInUsers: Sendable {
  /// For each `Authentication`, the number of the sign-in whose credential the call uses; 0 without a credential.
  private let numbers: NetworkLock<[ObjectIdentifier: Int]>

  /// A middleware may still sign in a user where nobody is.
  init(_ current: [ObjectIdentifier: Int]) { numbers = NetworkLock(current.filter { $0.value != 0 }) }

  /// The number of the sign-in that the call uses. With the first request, it is the current one, even if that is 0.
  func signIn(of authentication: ObjectIdentifier, current: Int) -> Int {
    numbers.withLock { numbers in
      let number = numbers[authentication] ?? current
      numbers[authentication] = number
      return number
    }
  }
}
