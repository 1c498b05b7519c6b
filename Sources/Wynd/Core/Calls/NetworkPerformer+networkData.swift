public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

// The shapes of URLSession's own methods, for code that reads the status itself.

nonisolated extension NetworkPerformer {
  /// Like `URLSession.data(for:)`, with retries: returns the body and the response, whatever its status.
  ///
  /// ```swift
  /// let (data, response) = try await session.networkData(for: request)
  /// guard response.statusCode == 200 else { throw try JSONDecoder().decode(Problem.self, from: data) }
  /// ```
  ///
  /// A 503 or a lost connection is retried like in `performNetworkRequest`. The response of the last attempt is
  /// returned.
  ///
  /// - Parameters:
  ///   - request: What to send: a `URLRequest`, a `URL`, or an endpoint, whose response is not parsed.
  ///   - policy: The retry rule. ``RetryPolicy/never`` is one attempt, as with `data(for:)`.
  /// - Returns: The body, which may be empty, and the response.
  /// - Throws: The `URLError` if there is one, such as `.cancelled`, `.timedOut` or `.cannotConnectToHost`, otherwise a
  ///   ``NetworkError``.
  public func networkData(
    for request: some NetworkRequestConvertible, policy: RetryPolicy = .default
  ) async throws -> (Data, HTTPURLResponse) {
    do throws(NetworkError) {
      let response = try await networkResponse(for: request, acceptsAnyStatus: true, policy: policy)
      return (response.data, response.response)
    } catch { throw error.asOfURLSession }
  }

  /// Like `URLSession.data(from:)`, with retries: a GET, whose body and response are returned, whatever the status.
  public func networkData(from url: URL, policy: RetryPolicy = .default) async throws -> (Data, HTTPURLResponse) {
    try await networkData(for: url, policy: policy)
  }

  /// Like `URLSession.dataTask(with:completionHandler:)`, with retries: nothing is sent before `resume()`, and any
  /// status is a response.
  ///
  /// ```swift
  /// let task = session.networkDataTask(with: request) { data, response, error in
  ///   // exactly as before
  /// }
  /// task.resume()
  /// ```
  ///
  /// - Parameters:
  ///   - request: What to send: a `URLRequest`, a `URL`, or an endpoint, whose response is not parsed.
  ///   - policy: The retry rule.
  ///   - completionHandler: Called once, on the session's `delegateQueue`. It receives the body, which may be empty,
  ///     and the response of the last attempt, an `HTTPURLResponse`; or the error: a `URLError` if there is one,
  ///     otherwise a ``NetworkError``.
  /// - Returns: A task that starts at ``NetworkTask/resume()``. Canceled before or after that, it completes with
  ///   `URLError.cancelled`.
  public func networkDataTask(
    with request: some NetworkRequestConvertible, policy: RetryPolicy = .default,
    completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Swift.Error)?) -> Void
  ) -> NetworkTask {
    let complete: @Sendable (Swift.Result<NetworkResponse<Data>, NetworkError>) -> Void = { result in
      switch result.acceptingAnyStatus {
      case .success(let response): completionHandler(response.data, response.response, nil)
      case .failure(let error): completionHandler(nil, error.response, error.asOfURLSession)
      }
    }
    let defaults = defaults
    let call = Swift.Result { () throws(NetworkError) in
      var plan = try plan(for: request, policy, defaults)
      // The app may have invalidated its session before `resume()`.
      plan.usesPrivateSession = true
      return plan.started(on: self, defaults)
    }
    return NetworkTask { isCanceled in
      switch call {
      case .success(let plan) where !isCanceled: return perform(plan, completionHandler: complete)
      case .success: delegateQueue.addOperation { complete(.failure(.cancelled)) }
      case .failure(let error): delegateQueue.addOperation { complete(.failure(isCanceled ? .cancelled : error)) }
      }
      return nil
    }
  }
}

nonisolated extension Swift.Result<NetworkResponse<Data>, NetworkError> {
  /// The result with every response as a success. An error that a middleware of the app threw in place of one stays an
  /// error.
  var acceptingAnyStatus: Self {
    guard case .failure(let error) = self, let received = error.ofStatus else { return self }
    return .success(
      NetworkResponse(
        value: received.data, data: received.data, response: received.response, failures: error.attempts))
  }
}

nonisolated extension NetworkError {
  /// The response that the status alone made a failure.
  fileprivate var ofStatus: (response: HTTPURLResponse, data: Data)? {
    switch self {
    case .endpointError(let response, let data): return (response, data ?? Data())
    case .inaccessible(let failure): return failure.lastError.ofStatus
    // The renewal of a credential was refused: the response is the rejection of the old one.
    case .middlewareError(let error, let cause) where error is Self: return cause.ofStatus
    default: return nil
    }
  }

  /// The error that a method of URLSession would give.
  fileprivate var asOfURLSession: any Swift.Error {
    if isCancellation { return URLError(.cancelled) }
    return urlError ?? self
  }
}
