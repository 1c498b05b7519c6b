nonisolated extension NetworkClient {
  /// First what a ``ResponseCache`` has stored, however old, then the response of the server: a list is there at once, and
  /// then up to date.
  ///
  /// The first value has the ``EndpointResponse/source`` `.cache`. It is the only one if it is still fresh. If nothing is
  /// stored, the only value is the response of the server. If the server cannot be reached or is failing, the sequence
  /// throws its error after the stored value, also with `servesStaleIfError`. A response with `no-cache` or
  /// `must-revalidate` comes first too: it is marked, and the response of the server follows.
  ///
  /// - Parameters:
  ///   - endpoint: What to load.
  ///   - policy: Wins over the endpoint's own, which wins over the client's.
  /// - Returns: One or two responses.
  public func values<E: Endpoint>(
    of endpoint: E, policy: RetryPolicy? = nil
  ) -> AsyncThrowingStream<EndpointResponse<E.Response>, any Error> {
    AsyncThrowingStream { continuation in
      let task = Task {
        do throws(NetworkError) {
          let first = await ResponseCache.isStoredOnly.withValue(true) {
            middleware.contains { $0 is ResponseCache } ? try? await loadResponse(endpoint) : nil
          }
          if let first { continuation.yield(first) }
          let second = try await loadResponse(endpoint, policy: policy)
          if first == nil || second.source != .cache || second.data != first?.data { continuation.yield(second) }
          continuation.finish(throwing: second.revalidationError)
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}
