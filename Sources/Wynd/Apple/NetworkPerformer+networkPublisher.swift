#if canImport(Combine)
  public import Combine
  #if canImport(FoundationNetworking)
    public import Foundation
    public import FoundationNetworking
  #else
    public import Foundation
  #endif

  nonisolated extension NetworkPerformer {
    /// As `performNetworkRequest`, for Combine: sends when somebody subscribes, anew for each; cancelling the subscription
    /// ends the call.
    ///
    /// ```swift
    /// session.networkPublisher(for: request)
    ///   .receive(on: DispatchQueue.main)
    ///   .sink(receiveCompletion: { print($0) }, receiveValue: { show($0) })
    ///   .store(in: &calls)
    /// ```
    ///
    /// - Parameters:
    ///   - urlRequest: What to send.
    ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
    ///   - allowEmptyData: Accept a 2xx answer without a body where there could have been one.
    ///   - policy: Which failures are tried again, how often, how soon, for how long.
    /// - Returns: A publisher of one body, on the session's `delegateQueue`, or of an error.
    public func networkPublisher(
      for urlRequest: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil
    ) -> AnyPublisher<Data, NetworkError> {
      NetworkTask.publisher { [self] in
        performNetworkRequest(
          urlRequest, maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy, completionHandler: $0)
      }
    }
  }
#endif
