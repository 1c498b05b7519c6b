// Combine: publishers for calls, on Apple's platforms only. It needs Core.

#if canImport(Combine)
  public import Combine
  public import Foundation

  nonisolated extension NetworkPerformer {
    /// A Combine publisher for `performNetworkRequest`.
    ///
    /// ```swift
    /// session.networkPublisher(for: request)
    ///   .receive(on: DispatchQueue.main)
    ///   .sink(receiveCompletion: { print($0) }, receiveValue: { show($0) })
    ///   .store(in: &calls)
    /// ```
    ///
    /// Each subscription sends the request. Canceling the subscription cancels the call. The parameters are those of
    /// `performNetworkRequest`.
    ///
    /// - Returns: A publisher that delivers one body or an error, on the session's `delegateQueue`.
    public func networkPublisher(
      for request: some NetworkRequestConvertible, maxRetries: Int? = nil, allowEmptyData: Bool = false,
      policy: RetryPolicy = .default
    ) -> AnyPublisher<Data, NetworkError> {
      NetworkTask.publisher { [self] in
        performNetworkRequest(
          request, maxRetries: maxRetries, allowEmptyData: allowEmptyData, policy: policy, completionHandler: $0)
      }
    }
  }

  nonisolated extension NetworkTask {
    /// A Combine publisher for any call with a completion handler.
    ///
    /// ```swift
    /// NetworkTask.publisher { session.load(.expenses, completionHandler: $0) }
    /// ```
    ///
    /// - Parameter start: Starts the call with the given completion handler. It is called for each subscription, and
    ///   canceling the subscription cancels the call.
    /// - Returns: A publisher that delivers one value or an error, on the queue on which the handler is called.
    public static func publisher<Value: Sendable>(
      _ start: @escaping (@escaping @Sendable (Swift.Result<Value, NetworkError>) -> Void) -> NetworkTask
    ) -> AnyPublisher<Value, NetworkError> {
      Deferred {
        let call = NetworkPublishedCall<Value>()
        return Future<Value, NetworkError> { promise in
          call.promise = promise
          call.task = start { call.promise?($0) }
        }.handleEvents(receiveCancel: { call.task?.cancel() })
      }.eraseToAnyPublisher()
    }
  }

  // Each property is written once, before the call can end or be canceled.
  nonisolated private final class NetworkPublishedCall<Value>: @unchecked Sendable {
    var promise: ((Swift.Result<Value, NetworkError>) -> Void)?
    var task: NetworkTask?
  }
#endif
