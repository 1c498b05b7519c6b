public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

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
/// Weather(network: NetworkScript([.ok("sunny")]))
/// ```
///
/// A type of your own can conform too, and do something before and after each call of another performer:
///
/// ```swift
/// struct LoggingPerformer: NetworkPerformer {
///   let base: any NetworkPerformer
///   func perform(_ plan: NetworkCallPlan) async -> Result<NetworkResponse<Data>, NetworkError> {
///     let result = await base.perform(plan)
///     print(plan.id, result)
///     return result
///   }
/// }
/// ```
nonisolated public protocol NetworkPerformer: Sendable {
  /// Carries out a call with all its attempts. Canceling the task cancels the call.
  ///
  /// - Parameter plan: The request and its retry policy. A performer may change them before it passes the plan on.
  /// - Returns: The response, or the error.
  func perform(_ plan: NetworkCallPlan) async -> Result<NetworkResponse<Data>, NetworkError>

  /// The same with a completion handler, which is called once, on ``delegateQueue``. The default runs the async form.
  ///
  /// - Returns: A handle that cancels the call.
  func perform(
    _ plan: NetworkCallPlan,
    completionHandler: @escaping @Sendable (Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask

  /// Where completion handlers are called: the `delegateQueue` of a session. The default is a background queue.
  var delegateQueue: OperationQueue { get }
}

nonisolated extension NetworkPerformer {
  /// Runs the async form in a task, after this has returned.
  public func perform(
    _ plan: NetworkCallPlan,
    completionHandler: @escaping @Sendable (Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask {
    var plan = plan
    plan.usesPrivateSession = true
    return start(completionHandler) { [plan] in await perform(plan) }
  }

  /// A background queue.
  public var delegateQueue: OperationQueue { NetworkCallPlan.defaultDelegateQueue }

  /// Begins a call of the app.
  func begin(_ plan: NetworkCallPlan) async -> Result<NetworkResponse<Data>, NetworkError> {
    await perform(plan.begun(on: self))
  }

  /// The same with a completion handler.
  func begin(
    _ plan: NetworkCallPlan,
    completionHandler: @escaping @Sendable (Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask {
    perform(plan.begun(on: self), completionHandler: completionHandler)
  }

  /// Runs async work, and calls the completion handler with its result on the delegate queue.
  func start<Value: Sendable>(
    _ completion: @escaping @Sendable (Value) -> Void, _ work: @escaping @Sendable () async -> Value
  ) -> NetworkTask {
    NetworkTask { [delegateQueue] in
      let value = await work()
      delegateQueue.addOperation { completion(value) }
    }
  }
}

/// A performer with settings for the calls that are made on it: a client or a script.
nonisolated protocol NetworkSettingsPerformer: NetworkPerformer {
  var settings: NetworkClientSettings { get }
  /// Who is signed in.
  var signIns: NetworkSignIns.Numbers { get }
}

nonisolated extension NetworkSettingsPerformer {
  var signIns: NetworkSignIns.Numbers { [:] }
}

/// What a performer supplies to the calls that are made on it.
nonisolated struct NetworkClientSettings: Sendable {
  /// Supplies the scheme, host and port of requests that have none.
  var baseURL: URL?
  var encoder: JSONEncoder?
  var decoder: JSONDecoder?
  /// The `Content-Type` among the header fields of the client.
  var contentType: String?
  /// The session that sends the calls. Its configuration is read only if it is needed, because it is copied each time.
  var session: URLSession?

  /// The type of a body that names none.
  var defaultContentType: String {
    if let contentType { return contentType }
    let fields = session?.configuration.httpAdditionalHeaders
    return NetworkAdditionalField.value(of: "Content-Type", in: fields) ?? "application/octet-stream"
  }
}

nonisolated extension NetworkPerformer {
  /// The settings of a client, a script or a session.
  var endpointSettings: NetworkClientSettings {
    if let session = self as? URLSession { return NetworkClientSettings(session: session) }
    return (self as? any NetworkSettingsPerformer)?.settings ?? NetworkClientSettings()
  }

  /// Who is signed in, for a call that begins now.
  var signInsAtCallStart: NetworkSignIns {
    let signIns = NetworkSignIns()
    if let performer = self as? any NetworkSettingsPerformer { signIns.begin(with: performer.signIns) }
    return signIns
  }
}

nonisolated extension URLSession: NetworkPerformer {
  /// Carries out a call with the configuration and the delegate of this session. On Apple's platforms, its first request
  /// runs on the session.
  public func perform(_ plan: NetworkCallPlan) async -> Result<NetworkResponse<Data>, NetworkError> {
    await RetryLoop(plan, on: plan.transport(on: self)).run()
  }

  /// The same with a completion handler. When this returns, the app may finish the session.
  public func perform(
    _ plan: NetworkCallPlan,
    completionHandler: @escaping @Sendable (Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask {
    RetryLoop(plan, on: plan.transport(on: self)).start(on: delegateQueue, completion: completionHandler)
  }
}
