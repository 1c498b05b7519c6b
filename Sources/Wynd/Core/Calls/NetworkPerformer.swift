public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
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
///   var defaults: NetworkDefaults { base.defaults }
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
  func perform(_ plan: NetworkCallPlan) async -> Swift.Result<NetworkResponse<Data>, NetworkError>

  /// The same with a completion handler, which is called once, on ``delegateQueue``. The default runs the async form.
  ///
  /// - Returns: A handle that cancels the call.
  func perform(
    _ plan: NetworkCallPlan,
    completionHandler: @escaping @Sendable (Swift.Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask

  /// Where completion handlers are called: the `delegateQueue` of a session. The default is a background queue.
  var delegateQueue: OperationQueue { get }

  /// What the calls on this performer use where they name nothing themselves. The default is nothing. A performer that
  /// contains another one returns the defaults of that one, so that endpoints find the coders of a client.
  var defaults: NetworkDefaults { get }
}

nonisolated private let backgroundQueue: OperationQueue = {
  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = 1
  return queue
}()

/// A performer that hands requests to the network itself, without another performer that could add a credential: a
/// `URLSession`, or in a test a ``NetworkScript``.
nonisolated public protocol NetworkSendingPerformer: NetworkPerformer {}

nonisolated extension NetworkPerformer {
  /// Runs the async form in a task.
  public func perform(
    _ plan: NetworkCallPlan,
    completionHandler: @escaping @Sendable (Swift.Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask {
    var plan = plan
    plan.usesPrivateSession = true
    return startTask(completionHandler) { [plan] in await perform(plan) }
  }

  /// A background queue.
  public var delegateQueue: OperationQueue { backgroundQueue }

  /// Nothing.
  public var defaults: NetworkDefaults { NetworkDefaults() }

  /// The plan of a call, with the policy of the method that makes it.
  func plan(
    for request: some NetworkRequestConvertible, _ policy: RetryPolicy, _ defaults: NetworkDefaults
  ) throws(NetworkError) -> NetworkCallPlan {
    var plan = try request.networkCallPlan(defaults)
    plan.policy = policy.inheriting(from: plan.policy)
    return plan
  }

  /// Starts a call with a completion handler, which receives the error if there is no valid call. `convert` turns the
  /// result of the call into the result of the method.
  func start<Value: Sendable>(
    _ completion: @escaping @Sendable (Swift.Result<Value, NetworkError>) -> Void,
    convert:
      @escaping @Sendable (Swift.Result<NetworkResponse<Data>, NetworkError>) -> Swift.Result<Value, NetworkError>,
    _ makePlan: (NetworkDefaults) throws(NetworkError) -> NetworkCallPlan
  ) -> NetworkTask {
    let defaults = defaults
    do throws(NetworkError) {
      return perform(try makePlan(defaults).started(on: self, defaults)) { completion(convert($0)) }
    } catch {
      return startTask(completion) { .failure(error) }
    }
  }

  /// Runs async work, and calls the completion handler with its result on the delegate queue.
  func startTask<Value: Sendable>(
    _ completion: @escaping @Sendable (Value) -> Void, _ work: @escaping @Sendable () async -> Value
  ) -> NetworkTask {
    NetworkTask { [delegateQueue] in
      let value = await work()
      delegateQueue.addOperation { completion(value) }
    }
  }
}
