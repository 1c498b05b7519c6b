#if canImport(Combine)
  public import Combine
  #if canImport(FoundationNetworking)
    import Foundation
    public import FoundationNetworking
  #else
    public import Foundation
  #endif

  nonisolated extension NetworkPerformer {
    /// As the other forms of `load`, for Combine: sends when somebody subscribes, anew for each; cancelling the
    /// subscription ends the call. `try await session.load(…)` stays the async form.
    ///
    /// - Parameters:
    ///   - endpoint: What to send, and how to parse the answer.
    ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
    ///   - policy: Wins over the endpoint's own.
    /// - Returns: A publisher of one response, on the session's `delegateQueue`, or of an error.
    public func load<E: Endpoint>(
      _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy? = nil
    ) -> AnyPublisher<E.Response, NetworkError> {
      NetworkTask.publisher { [self] in
        load(endpoint, maxRetries: maxRetries, policy: policy, completionHandler: $0)
      }
    }
  }
#endif
