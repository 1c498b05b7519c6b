#if canImport(Combine)
  import Combine

  nonisolated extension NetworkTask {
    /// A call for each subscriber, which ends with the subscription.
    static func publisher<Value: Sendable>(
      _ start: @escaping (@escaping @Sendable (Result<Value, NetworkError>) -> Void) -> NetworkTask
    ) -> AnyPublisher<Value, NetworkError> {
      Deferred {
        let call = PublishedCall<Value>()
        return Future<Value, NetworkError> { promise in
          call.promise = promise
          call.task = start { call.promise?($0) }
        }.handleEvents(receiveCancel: { call.task?.cancel() })
      }.eraseToAnyPublisher()
    }
  }

  // Written once, before anybody can answer or cancel.
  nonisolated private final class PublishedCall<Value>: @unchecked Sendable {
    var promise: ((Result<Value, NetworkError>) -> Void)?
    var task: NetworkTask?
  }
#endif
