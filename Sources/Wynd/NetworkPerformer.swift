/// Carries out network calls: a `URLSession`, a ``NetworkClient``, or in a test a ``NetworkScript``.
///
/// The calls are methods in extensions of this protocol, so code that takes a performer works with all three:
///
/// ```swift
/// struct Weather {
///   let network: any NetworkPerformer
///   func forecast() async throws -> Data { try await network.performNetworkRequest(url) }
/// }
/// Weather(network: URLSession.shared)
/// Weather(network: NetworkScript.scripted([.ok("sunny")]))
/// ```
///
/// Only these three can make a ``NetworkCaller``. Another type can conform by passing on that of one of them.
nonisolated public protocol NetworkPerformer: Sendable {
  /// Makes its calls.
  var networkCaller: NetworkCaller { get }
}

nonisolated extension URLSession: NetworkPerformer, RetryLoopFactory {
  /// Makes the calls of this session.
  public var networkCaller: NetworkCaller { NetworkCaller(source: self) }
  var completionQueue: OperationQueue { delegateQueue }
  func loop(for call: NetworkCallPlan) -> RetryLoop {
    RetryLoop(call, on: SessionTransport(session: self, sessionMayHaveEnded: call.sessionMayHaveEnded))
  }
}

/// Makes the calls of a ``NetworkPerformer``.
nonisolated public struct NetworkCaller: Sendable {
  let source: any RetryLoopFactory
  /// Runs calls through the middleware of a client. Nil for a session or a script alone.
  var client: (any NetworkCallRunner)?

  func run(_ call: NetworkCallPlan) async -> RetryLoop.CallResult {
    if let client { return await client.run(call) }
    return await source.loop(for: call).run()
  }

  func start(_ call: NetworkCallPlan, completion: @escaping @Sendable (RetryLoop.CallResult) -> Void) -> NetworkTask {
    guard let client else { return source.loop(for: call).start(on: source.completionQueue, completion: completion) }
    return start(completion) { await client.run(call) }
  }

  /// Runs async work, and calls the completion handler with its result.
  func start<Value: Sendable>(
    _ completion: @escaping @Sendable (Value) -> Void, _ work: @escaping @Sendable () async -> Value
  ) -> NetworkTask {
    let task = NetworkTask()
    task.run {
      let value = await work()
      task.setCancellation(nil)
      source.completionQueue.addOperation { completion(value) }
    }
    return task
  }
}

/// Makes the retry loop of a call: a session or a script.
nonisolated protocol RetryLoopFactory: AnyObject, Sendable {
  /// Where completion handlers are called.
  var completionQueue: OperationQueue { get }
  func loop(for call: NetworkCallPlan) -> RetryLoop
}

/// Runs a call with everything that a client adds around its retry loop.
nonisolated protocol NetworkCallRunner: Sendable { func run(_ call: NetworkCallPlan) async -> RetryLoop.CallResult }

/// Describes a call before it starts.
nonisolated struct NetworkCallPlan: Sendable {
  /// A different number for each call.
  let id = ids.withLock { $0.next() ?? 0 }
  private static let ids = NetworkLock((1...Int.max).makeIterator())
  var request: URLRequest
  /// Nil is the policy of the client, or the default.
  var policy: RetryPolicy?
  var maxRetries: Int?
  var allowEmptyData = true
  /// The caller's session may have been invalidated since the call began.
  var sessionMayHaveEnded = false
  /// Who was signed in when the call began; see `NetworkCall`. The connections of an event stream share it.
  var signIns: NetworkLock<[ObjectIdentifier: Int]>?
  /// The endpoint of the call, for the middleware.
  var endpoint: (any Sendable)?
  /// Makes the attempts of a download, an upload or a stream, and those with middleware. Nil sends the request alone.
  var makeAttempt: NetworkTransport.MakeAttempt?
}
