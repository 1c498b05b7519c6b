#if canImport(Combine)
  import Combine

  nonisolated extension NetworkTask {
    /// A call for each subscriber, which ends with the subscription.
    static func publisher<Value: Sendable>(
      _ start: @escaping (@escaping @Sendable (Result<Value, NetworkError>) -> Void) -> NetworkTask
    ) -> AnyPublisher<Value, NetworkError> {
      Deferred {
        let call = PublishedCall()
        return Future<Value, NetworkError> { promise in
          nonisolated(unsafe) let promise = promise
          call.task = start { promise($0) }
        }.handleEvents(receiveCancel: { call.task?.cancel() })
      }.eraseToAnyPublisher()
    }
  }

  // Written once, before anybody can cancel.
  nonisolated private final class PublishedCall: @unchecked Sendable { var task: NetworkTask? }
#endif
