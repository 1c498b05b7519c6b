#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Describes a call before it starts.
nonisolated public struct NetworkCallPlan: Sendable {
  /// Identifies the call in its events. A different number for each call of the process.
  public let id = ids.withLock { $0.next() ?? 0 }
  private static let ids = NetworkLock((1...Int.max).makeIterator())
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
  /// Whether the first request may be sent while the app is inside the public call, so that the session is certainly
  /// valid. False as soon as something has waited since then, or may have.
  var isInsideCall = true
  /// Who was signed in when an earlier call began that this one continues: a connection of the same event stream.
  var signIns: NetworkSignIns?
  /// The endpoint of the call, for the middleware.
  var endpoint: (any Sendable)?
  /// Whether this is a download, an upload or a stream.
  var isTransfer = false
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

/// For each `Authentication`, the number of the sign-in whose credential a call uses; 0 without a credential.
typealias NetworkSignIns = [ObjectIdentifier: Int]

nonisolated extension NetworkCallPlan {
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
