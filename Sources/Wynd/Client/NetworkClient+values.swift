import Foundation

nonisolated extension NetworkClient {
  /// What is stored first, however old, then what the server says: for a list that is there at once and then up to date.
  ///
  /// The first has the ``EndpointResponse/source`` `.cache`. If nothing is stored, or what is stored is still fresh, there
  /// is only one. The error of the server's answer ends the sequence. What may be served only after asking (`no-cache`,
  /// `must-revalidate`) comes first too: it is marked, and what the server says follows.
  ///
  /// - Parameters:
  ///   - endpoint: What to load.
  ///   - policy: Wins over the endpoint's own, which wins over the client's.
  /// - Returns: One or two answers.
  public func values<E: Endpoint>(
    of endpoint: E, policy: RetryPolicy? = nil
  ) -> AsyncThrowingStream<EndpointResponse<E.Response>, any Error> {
    AsyncThrowingStream { continuation in
      let task = Task {
        let hasCache = middleware.contains { $0 is ResponseCache }
        let first =
          hasCache
          ? await ResponseCache.isOnlyAsked.withValue(
            true, operation: { try? await loadResponse(endpoint, policy: policy) })
          : nil
        if let first { continuation.yield(first) }
        do throws(NetworkError) {
          let second = try await loadResponse(endpoint, policy: policy)
          if first == nil || second.source != .cache || second.data != first?.data { continuation.yield(second) }
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  /// As ``values(of:policy:)``: calls back with what is stored, then with what the server says.
  ///
  /// - Parameters:
  ///   - endpoint: What to load.
  ///   - policy: Wins over the endpoint's own, which wins over the client's.
  ///   - handler: Is called once or twice, on the session's `delegateQueue`.
  /// - Returns: A handle to cancel the call; it need not be kept.
  @discardableResult
  public func loadCachedFirst<E: Endpoint>(
    _ endpoint: E, policy: RetryPolicy? = nil,
    handler: @escaping @Sendable (Result<EndpointResponse<E.Response>, NetworkError>) -> Void
  ) -> NetworkTask {
    let task = NetworkTask()
    let queue = networkCaller.source.completionQueue
    task.isCarriedOut(
      by: .retries(
        Task {
          var isAnswered = false
          do {
            for try await value in values(of: endpoint, policy: policy) {
              isAnswered = true
              queue.addOperation { handler(.success(value)) }
            }
            if !isAnswered { queue.addOperation { handler(.failure(.cancelled)) } }
          } catch {
            queue.addOperation { handler(.failure(NetworkError(thrown: error))) }
          }
          task.end()
        }))
    return task
  }
}
