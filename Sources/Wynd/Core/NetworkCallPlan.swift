#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Describes a call before it starts.
nonisolated public struct NetworkCallPlan: Sendable {
  /// Identifies the call in its events. A different number for each call of the process.
  public private(set) var id = nextID()
  private static let ids = NetworkLock((1...Int.max).makeIterator())
  private static func nextID() -> Int { ids.withLock { $0.next() ?? 0 } }
  /// What to send.
  public var request: URLRequest
  /// The retry rule, without what a client adds to it; see ``RetryPolicy/inheriting(from:)``.
  public var policy: RetryPolicy?
  /// Replaces ``RetryPolicy/maxRetries`` of the policy, if it is set.
  var maxRetries: Int?
  /// Whether a 2xx response with an empty body is a success.
  var allowEmptyData = true
  /// Whether the request only reads, although its method does not say so, such as a POST that searches. It is retried
  /// like a GET.
  public var isReadOnly = false

  /// A wait before the first attempt, on the clock of the call. It does not count as time of the call.
  var delay: Duration?
  /// The session of the call with its delegate, as they are when the call begins; nil until then.
  var transport: NetworkSessionTransport?
  /// Whether every request runs on a private session, because the app may have invalidated its own since the call began.
  var usesPrivateSession = false
  /// The sign-ins of the call that this one belongs to: that of a client that is made on this one, or an earlier
  /// connection of the same event stream.
  var signIns: NetworkSignIns?
  /// The middleware of the clients that are made on the performer of this call. A credential of theirs is added below
  /// the cache of that performer.
  var outerMiddleware: (any Sendable)?
  /// The endpoint of the call, for the middleware.
  var endpoint: (any Sendable)?
  /// Whether this is a download, an upload or a stream.
  var isTransfer = false
  /// Whether ``around`` adds the body to each request, with its length.
  var addsBody = false
  /// What is put around each request: a download, an upload or a stream.
  var around: (@Sendable (@escaping NetworkSend) -> NetworkSend)?
  /// What is put around each attempt: the middleware of a client, which may send several requests.
  var middleware: (@Sendable (@escaping NetworkSend) -> NetworkSend)?

  /// Where the completion handlers of performers are called that have no queue of their own.
  static let defaultDelegateQueue: OperationQueue = {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    return queue
  }()
}

/// For each `Authentication`, the number of the sign-in whose credential a call uses; 0 without a credential. All parts
/// of a call share it, so that none is sent with the credential of another user.
nonisolated struct NetworkSignIns: Sendable {
  typealias Numbers = [ObjectIdentifier: Int]
  private let numbers = NetworkLock<Numbers>([:])

  /// Notes who is signed in when a call begins. A middleware of the call may still sign in a user where nobody is.
  func begin(with current: Numbers) {
    let signedIn = current.filter { $0.value != 0 }
    if signedIn.isEmpty { return }
    numbers.withLock { $0.merge(signedIn) { began, _ in began } }
  }

  /// The number that the call uses. With the first request, it is the current one, also if that is 0.
  func number(of authentication: ObjectIdentifier, current: Int) -> Int {
    numbers.withLock { numbers in
      let number = numbers[authentication] ?? current
      numbers[authentication] = number
      return number
    }
  }
}

nonisolated extension NetworkCallPlan: CustomStringConvertible {
  /// The number of the call, the method and the URL: no query value, no header and nothing of the body.
  public var description: String { "[\(id)] \(request.redactedForLog)" }
}

nonisolated extension NetworkCallPlan {
  /// The plan of another call with the same settings, such as the next connection of an event stream. Its events must
  /// not be taken for those of the first call, and the retry budget counts calls.
  func asAnotherCall() -> NetworkCallPlan {
    var plan = self
    plan.id = Self.nextID()
    return plan
  }

  /// The plan of a call that begins now.
  func begun(on performer: some NetworkPerformer) -> NetworkCallPlan {
    var plan = self
    // A client, or a performer of the app, may send the first request later.
    if !(performer is URLSession) { plan.usesPrivateSession = true }
    if transport == nil { plan.transport = performer.endpointSettings.session.map(NetworkSessionTransport.init) }
    return plan
  }

  /// Sends the requests of this call on a session, with the delegate that it had when the call began.
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
  var isWrapped: Bool { around != nil || middleware != nil }

  /// What carries out an attempt: `send`, inside everything that is put around it.
  func attempt(through send: @escaping NetworkSend) -> NetworkSend {
    let request = around?(send) ?? send
    return middleware?(request) ?? request
  }

  init(
    _ request: URLRequest, policy: RetryPolicy? = nil, maxRetries: Int? = nil, allowEmptyData: Bool = true,
    isReadOnly: Bool = false
  ) {
    self.init(
      request: request, policy: policy, maxRetries: maxRetries, allowEmptyData: allowEmptyData, isReadOnly: isReadOnly)
  }
}
