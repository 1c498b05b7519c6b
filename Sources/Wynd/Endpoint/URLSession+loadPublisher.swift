#if canImport(Combine)
  public import Combine
  #if canImport(FoundationNetworking)
    import Foundation
    public import FoundationNetworking
  #else
    public import Foundation
  #endif

  nonisolated extension URLSession {
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
      Deferred {
        let call = PublishedLoad()
        return Future<E.Response, NetworkError> { [self] promise in
          nonisolated(unsafe) let promise = promise
          call.task = load(endpoint, maxRetries: maxRetries, policy: policy) { promise($0) }
        }.handleEvents(receiveCancel: { call.task?.cancel() })
      }.eraseToAnyPublisher()
    }
  }

  // Written once, before anybody can cancel.
  nonisolated private final class PublishedLoad: @unchecked Sendable { var task: NetworkTask? }
#endif
