#if canImport(Combine)
  public import Combine
  #if canImport(FoundationNetworking)
    import Foundation
    public import FoundationNetworking
  #else
    public import Foundation
  #endif

  nonisolated extension NetworkClient {
    /// As `performNetworkRequest`, for Combine: sends when somebody subscribes, anew for each; cancelling the subscription
    /// ends the call.
    ///
    /// - Parameters:
    ///   - urlRequest: What to send; its URL is resolved against ``baseURL`` if it names no host.
    ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
    ///   - allowEmptyData: Accept a 2xx answer without a body where there could have been one.
    ///   - policy: Wins over the client's.
    /// - Returns: A publisher of one body, on the session's `delegateQueue`, or of an error.
    public func networkPublisher(
      for urlRequest: URLRequest, maxRetries: Int? = nil, allowEmptyData: Bool = false, policy: RetryPolicy? = nil
    ) -> AnyPublisher<Data, NetworkError> {
      NetworkTask.publisher {
        performNetworkRequest(
          urlRequest, maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy, completionHandler: $0)
      }
    }

    /// As the other forms of `load`, for Combine: sends when somebody subscribes, anew for each; cancelling the
    /// subscription ends the call. `try await client.load(…)` stays the async form.
    ///
    /// - Parameters:
    ///   - endpoint: What to send, and how to parse the answer.
    ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
    ///   - policy: Wins over the endpoint's own, which wins over the client's.
    /// - Returns: A publisher of one response, on the session's `delegateQueue`, or of an error.
    public func load<E: Endpoint>(
      _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy? = nil
    ) -> AnyPublisher<E.Response, NetworkError> {
      NetworkTask.publisher {
        load(endpoint, maxRetries: maxRetries, policy: policy, completionHandler: $0)
      }
    }
  }
#endif
