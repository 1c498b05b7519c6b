public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

nonisolated extension URLSession: NetworkSendingPerformer {
  /// Nothing but the session itself.
  public var defaults: NetworkDefaults {
    var defaults = NetworkDefaults()
    defaults.session = self
    return defaults
  }

  /// Carries out a call with the configuration and the delegate of this session.
  public func perform(_ plan: NetworkCallPlan) async -> Swift.Result<NetworkResponse<Data>, NetworkError> {
    await RetryLoop(plan, on: plan.transport(on: self)).run()
  }

  /// The same with a completion handler. When this returns, the app may finish the session.
  public func perform(
    _ plan: NetworkCallPlan,
    completionHandler: @escaping @Sendable (Swift.Result<NetworkResponse<Data>, NetworkError>) -> Void
  ) -> NetworkTask {
    RetryLoop(plan, on: plan.transport(on: self)).run(on: delegateQueue, completion: completionHandler)
  }
}
