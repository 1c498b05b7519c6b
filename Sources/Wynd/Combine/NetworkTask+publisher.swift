// Combine: publishers for calls, on Apple's platforms only. It needs Core.

#if canImport(Combine)
  public import Combine

  nonisolated extension NetworkTask {
    /// A Combine publisher for any call with a completion handler.
    ///
    /// ```swift
    /// NetworkTask.publisher { session.performNetworkRequest(request, completionHandler: $0) }
    ///   .receive(on: DispatchQueue.main)
    ///   .sink(receiveCompletion: { print($0) }, receiveValue: { show($0) })
    ///   .store(in: &calls)
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

  // Each property is written once: `promise` before the call starts, `task` before the subscriber can cancel it.
  nonisolated private final class NetworkPublishedCall<Value>: @unchecked Sendable {
    var promise: ((Swift.Result<Value, NetworkError>) -> Void)?
    var task: NetworkTask?
  }
#endif
