/// A stored response, and then the server's: see ``NetworkClient/values(of:policy:)``.
nonisolated public struct NetworkResponses<Value: Sendable>: AsyncSequence, Sendable {
  /// A response with its parsed value.
  public typealias Element = NetworkResponse<Value>
  let stored: @Sendable () async -> Element?
  /// The server's response, or the stored one if it is fresh.
  let current: @Sendable (_ stored: Element?) async throws(NetworkError) -> Element

  /// Iterates over the responses.
  nonisolated public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
    private enum Step: Sendable {
      case stored
      case current(after: Element?)
      case end(NetworkError?)
    }
    private let responses: NetworkResponses
    private var step = Step.stored

    init(_ responses: NetworkResponses) { self.responses = responses }

    /// The next response, or nil at the end.
    ///
    /// - Returns: The stored response, if there is one, and then the server's.
    /// - Throws: ``NetworkError``; `.cancelled` if the task is canceled.
    public mutating func next() async throws -> Element? {
      if _Concurrency.Task.isCancelled { throw NetworkError.cancelled }
      if case .stored = step {
        let stored = await responses.stored()
        step = .current(after: stored)
        if let stored { return stored }
      }
      if case .current(let stored) = step {
        step = .end(nil)
        let current = try await responses.current(stored)
        step = .end(current.revalidationError)
        let isRepeated = current.source == .cache && current.data == stored?.data
        if !isRepeated { return current }
      }
      guard case .end(let error?) = step else { return nil }
      step = .end(nil)
      throw error
    }
  }

  /// Makes an iterator, with requests of its own.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}
