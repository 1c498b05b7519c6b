import Dispatch
public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A parsed answer with its head, for paging and rate limits, and its history.
nonisolated public struct EndpointResponse<Value: Sendable>: Sendable {
  /// What the body was parsed into.
  public let value: Value
  /// Status code and header fields.
  public let response: HTTPURLResponse
  /// The body as it came.
  public let data: Data
  /// Every attempt in order; the last one is the one that succeeded.
  public let attempts: [RetryFailure.Attempt]
  /// Where it came from: from the server, unless a client has a cache.
  public let source: NetworkResponse.Source
  /// Why a ``ResponseCache`` served what may be out of date; see ``NetworkResponse/revalidationError``.
  public let revalidationError: NetworkError?

  /// Makes one, for the tests of what uses it.
  public init(
    value: Value, response: HTTPURLResponse, data: Data = Data(), attempts: [RetryFailure.Attempt] = [],
    source: NetworkResponse.Source = .network, revalidationError: NetworkError? = nil
  ) {
    self.value = value
    self.response = response
    self.data = data
    self.attempts = attempts
    self.source = source
    self.revalidationError = revalidationError
  }
}

nonisolated extension URLSession {
  /// Sends what the endpoint describes, tries again as ``RetryPolicy`` says, and calls back once with the parsed answer.
  ///
  /// ```swift
  /// session.load(.expenses) { result in print(result) }
  /// ```
  ///
  /// An answer that cannot be parsed is not asked for again: it is ``NetworkError/undecodable(_:_:_:)``.
  ///
  /// - Parameters:
  ///   - endpoint: What to send, and how to parse the answer.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - policy: Wins over the endpoint's own.
  ///   - completionHandler: Gets the response, or the error, on the session's `delegateQueue`.
  /// - Returns: A handle to cancel the call; it need not be kept.
  @discardableResult
  public func load<E: Endpoint>(
    _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<E.Response, NetworkError>) -> Void
  ) -> NetworkTask {
    loadResponse(endpoint, maxRetries: maxRetries, policy: policy) { completionHandler($0.map(\.value)) }
  }

  /// Sends what the endpoint describes, tries again as ``RetryPolicy`` says, and returns the parsed answer.
  ///
  /// ```swift
  /// let estimate = try await session.load(.expenses)
  /// ```
  ///
  /// - Parameters:
  ///   - endpoint: What to send, and how to parse the answer.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - policy: Wins over the endpoint's own.
  /// - Returns: The response.
  /// - Throws: ``NetworkError``; nothing else.
  public func load<E: Endpoint>(
    _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> E.Response {
    try await loadResponse(endpoint, maxRetries: maxRetries, policy: policy).value
  }

  /// As ``load(_:maxRetries:policy:completionHandler:)``, and gives head and history of the answer as well.
  ///
  /// - Parameters:
  ///   - endpoint: What to send, and how to parse the answer.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - policy: Wins over the endpoint's own.
  ///   - completionHandler: Gets the answer, or the error, on the session's `delegateQueue`.
  /// - Returns: A handle to cancel the call; it need not be kept.
  @discardableResult
  public func loadResponse<E: Endpoint>(
    _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy? = nil,
    completionHandler: @escaping @Sendable (Result<EndpointResponse<E.Response>, NetworkError>) -> Void
  ) -> NetworkTask {
    do throws(NetworkError) {
      let loop = try loop(of: endpoint, maxRetries, policy)
      return loop.start(on: delegateQueue) { completionHandler(endpoint.parsed($0)) }
    } catch {
      delegateQueue.addOperation { completionHandler(.failure(error)) }
      return NetworkTask()
    }
  }

  /// As ``load(_:maxRetries:policy:)``, and gives head and history of the answer as well.
  ///
  /// - Parameters:
  ///   - endpoint: What to send, and how to parse the answer.
  ///   - maxRetries: Retries after the first attempt. `nil` is the policy's number.
  ///   - policy: Wins over the endpoint's own.
  /// - Returns: The response, its head, its body and its history.
  /// - Throws: ``NetworkError``; nothing else.
  public func loadResponse<E: Endpoint>(
    _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy? = nil
  ) async throws(NetworkError) -> EndpointResponse<E.Response> {
    try await endpoint.parsed(loop(of: endpoint, maxRetries, policy).run()).get()
  }

  private func loop(
    of endpoint: some Endpoint, _ maxRetries: Int?, _ policy: RetryPolicy?
  ) throws(NetworkError) -> RetryLoop {
    let (request, spool) = try endpoint.makeRequest()
    let transport = SessionTransport(session: self, file: spool?.file)
    // Whether an empty body will do, `parse` knows.
    return RetryLoop(
      request, policy: (policy ?? endpoint.policy ?? .default).with(maxRetries), allowEmptyData: true,
      transport: spool.map { SpoolTransport(spool: $0, transport: transport) } ?? transport)
  }
}

/// Writes the body before it is first sent: not on the caller's thread, which may be the main one, and so that the
/// deadline counts and a cancellation is answered at once.
nonisolated struct SpoolTransport: NetworkTransport {
  let spool: MultipartSpool
  let transport: SessionTransport

  var isInvalidated: Bool { transport.isInvalidated }
  func validationError(for request: URLRequest) -> String? { transport.validationError(for: request) }

  func prepare(_ request: URLRequest, completion: @escaping Completion) -> any NetworkRequestHandle {
    SpoolHandle { handle in
      DispatchQueue.global(qos: .userInitiated).async {
        do {
          if !FileManager.default.fileExists(atPath: spool.file.path) { try spool.write { !handle.isCancelled } }
          if handle.isCancelled { return }
          if transport.isInvalidated { throw NetworkError.urlError(URLError(.cancelled)) }
          handle.isCarriedOut(by: transport.prepare(request, completion: completion))
        } catch {
          completion(NetworkOutcome(error: error as? NetworkError ?? .transferFailed(error)))
        }
      }
    }
  }
}

/// Writes the file, then sends it.
nonisolated private final class SpoolHandle: NetworkRequestHandle {
  private let begin: @Sendable (SpoolHandle) -> Void
  private let state = NetworkLock<(isCancelled: Bool, next: (any NetworkRequestHandle)?)>((false, nil))

  init(_ begin: @escaping @Sendable (SpoolHandle) -> Void) { self.begin = begin }

  var isCancelled: Bool { state.withLock { $0.isCancelled } }
  func resume() { if !isCancelled { begin(self) } }
  func isCarriedOut(by next: any NetworkRequestHandle) {
    let isCancelled = state.withLock { state in
      state.next = next
      return state.isCancelled
    }
    if isCancelled { next.cancel() } else { next.resume() }
  }
  func cancel() {
    let next = state.withLock { state in
      defer { state = (true, nil) }
      return state.next
    }
    next?.cancel()
  }
}

nonisolated extension Endpoint {
  func parsed(_ result: RetryLoop.CallResult) -> Result<EndpointResponse<Response>, NetworkError> {
    switch result {
    case .success(let answer):
      do {
        let value = try parse(data: answer.data, response: answer.response)
        return .success(
          EndpointResponse(
            value: value, response: answer.response, data: answer.data, attempts: answer.attempts,
            source: answer.source, revalidationError: answer.revalidationError))
      } catch {
        return .failure(error as? NetworkError ?? .undecodable(error, answer.response, answer.data))
      }
    case .failure(let error): return .failure(typed(error))
    }
  }

  private func typed(_ error: NetworkError) -> NetworkError {
    switch error {
    case .endpointError(let response, let data?) where ServiceError.self != NoServiceError.self && !data.isEmpty:
      return (try? decoder.decode(ServiceError.self, from: data)).map { .serviceError($0, response, data) } ?? error
    case .inaccessible(var failure):
      failure.lastError = typed(failure.lastError)
      return .inaccessible(failure)
    default: return error
    }
  }
}

nonisolated extension NetworkError {
  /// The service's own error, also of a call that was retried: `if let error = error.serviceError(as: ShopError.self)`.
  public func serviceError<E: Error>(as type: E.Type) -> E? {
    switch self {
    case .serviceError(let error, _, _): error as? E
    case .inaccessible(let failure): failure.lastError.serviceError(as: type)
    default: nil
    }
  }
}
