public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

nonisolated extension NetworkPerformer {
  /// Sends the request of an endpoint, retries it according to ``RetryPolicy``, and calls the handler once with the
  /// parsed response or an error.
  ///
  /// ```swift
  /// session.load(.expenses) { result in print((try? result.get())?.count ?? 0) }
  /// ```
  ///
  /// A response that cannot be parsed is not requested again. The call fails with ``NetworkError/undecodable(_:_:_:)``.
  ///
  /// - Parameters:
  ///   - endpoint: Describes the request, and parses the response.
  ///   - maxRetries: Replaces ``RetryPolicy/maxRetries`` of the policy.
  ///   - policy: Fields that it does not set are taken from the endpoint's policy, then from the client's.
  ///   - onProgress: Receives the progress of sending the body, on an internal queue. It starts at 0 for each attempt.
  ///   - completionHandler: Receives the response or the error, on the session's `delegateQueue`.
  /// - Returns: A handle that cancels the call. You do not have to keep it.
  @discardableResult
  public func load<E: Endpoint>(
    _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy = .default,
    onProgress: (@Sendable (TransferProgress) -> Void)? = nil,
    completionHandler: @escaping @Sendable (Swift.Result<E.Response, NetworkError>) -> Void
  ) -> NetworkTask {
    loadResponse(endpoint, maxRetries: maxRetries, policy: policy, onProgress: onProgress) {
      completionHandler($0.map(\.value))
    }
  }

  /// Sends the request of an endpoint, retries it according to ``RetryPolicy``, and returns the parsed response.
  ///
  /// ```swift
  /// let expenses = try await session.load(.expenses)
  /// let user = try await client.load(.put("/photo", body: .file(photo), as: User.self)) { print($0.fraction ?? 0) }
  /// ```
  ///
  /// The parameters are those of the form with a completion handler. In an async function, a trailing closure that
  /// could be either is taken for `onProgress:`; write `completionHandler:` for the other form.
  ///
  /// - Returns: The parsed response.
  /// - Throws: A ``NetworkError``.
  public func load<E: Endpoint>(
    _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy = .default,
    onProgress: (@Sendable (TransferProgress) -> Void)? = nil
  ) async throws(NetworkError) -> E.Response {
    try await loadResponse(endpoint, maxRetries: maxRetries, policy: policy, onProgress: onProgress).value
  }

  /// Like ``load(_:maxRetries:policy:onProgress:completionHandler:)``, but the result also has the status code, header
  /// fields, body and attempts.
  ///
  /// - Returns: A handle that cancels the call. You do not have to keep it.
  @discardableResult
  public func loadResponse<E: Endpoint>(
    _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy = .default,
    onProgress: (@Sendable (TransferProgress) -> Void)? = nil,
    completionHandler: @escaping @Sendable (Swift.Result<NetworkResponse<E.Response>, NetworkError>) -> Void
  ) -> NetworkTask {
    start(completionHandler, endpoint) { defaults throws(NetworkError) in
      try endpoint.plan(policy.replacing(maxRetries: maxRetries), onProgress, defaults)
    }
  }

  /// Like ``load(_:maxRetries:policy:onProgress:)``, but the result also has the status code, header fields, body and
  /// attempts.
  ///
  /// - Returns: The parsed response, with its status code, header fields, body and attempts.
  /// - Throws: A ``NetworkError``.
  @concurrent
  public func loadResponse<E: Endpoint>(
    _ endpoint: E, maxRetries: Int? = nil, policy: RetryPolicy = .default,
    onProgress: (@Sendable (TransferProgress) -> Void)? = nil
  ) async throws(NetworkError) -> NetworkResponse<E.Response> {
    let defaults = defaults
    return try await response(
      of: endpoint.plan(policy.replacing(maxRetries: maxRetries), onProgress, defaults), endpoint, defaults)
  }

  /// Sends a GET of a URL, and decodes the body of its response.
  ///
  /// ```swift
  /// let users: [User] = try await session.load(url)
  /// ```
  ///
  /// - Parameters:
  ///   - url: What to get.
  ///   - type: The type to decode; may be left out where the compiler knows it.
  ///   - decoder: Decodes the body. nil means the client's decoder, or one that reads dates as ISO 8601.
  ///   - maxRetries: Replaces ``RetryPolicy/maxRetries`` of the policy.
  ///   - policy: Fields that it does not set are taken from the client's policy.
  /// - Returns: The decoded body.
  /// - Throws: A ``NetworkError``.
  public func load<Value: Decodable & Sendable>(
    _ url: URL, as type: Value.Type = Value.self, decoder: JSONDecoder? = nil, maxRetries: Int? = nil,
    policy: RetryPolicy = .default
  ) async throws(NetworkError) -> Value {
    try await decodedBody(of: url, decoder, policy.replacing(maxRetries: maxRetries))
  }

  /// Sends a request, and decodes the body of its response. The parameters are those of a URL.
  ///
  /// ```swift
  /// let user: User = try await session.load(request)
  /// ```
  ///
  /// - Returns: The decoded body.
  /// - Throws: A ``NetworkError``.
  public func load<Value: Decodable & Sendable>(
    _ request: URLRequest, as type: Value.Type = Value.self, decoder: JSONDecoder? = nil, maxRetries: Int? = nil,
    policy: RetryPolicy = .default
  ) async throws(NetworkError) -> Value {
    try await decodedBody(of: request, decoder, policy.replacing(maxRetries: maxRetries))
  }

  /// Sends anything that makes a request, such as an endpoint, and decodes the body of its response as this type.
  ///
  /// - Parameters:
  ///   - request: What to send.
  ///   - type: The type to decode, like the ``Endpoint/Response`` of an endpoint.
  ///   - decoder: Decodes the body. nil means that of the endpoint or the client, or one that reads dates as ISO 8601.
  ///   - maxRetries: Replaces ``RetryPolicy/maxRetries`` of the policy.
  ///   - policy: Fields that it does not set are taken from the endpoint's policy, then from the client's.
  /// - Returns: The decoded body.
  /// - Throws: A ``NetworkError``.
  public func load<Value: Decodable & Sendable>(
    _ request: some NetworkRequestConvertible, as type: Value.Type, decoder: JSONDecoder? = nil, maxRetries: Int? = nil,
    policy: RetryPolicy = .default
  ) async throws(NetworkError) -> Value {
    try await decodedBody(of: request, decoder, policy.replacing(maxRetries: maxRetries))
  }

  private func decodedBody<Value: Decodable & Sendable>(
    of request: some NetworkRequestConvertible, _ decoder: JSONDecoder?, _ policy: RetryPolicy
  ) async throws(NetworkError) -> Value {
    let defaults = defaults
    return try await response(
      of: plan(for: request, policy, defaults), NetworkDecodedBody<Value>(of: request, decoder), defaults
    ).value
  }

  /// Sends any request, and calls the handler once with the decoded body of its response, or an error.
  ///
  /// - Returns: A handle that cancels the call. You do not have to keep it.
  @discardableResult
  public func load<Value: Decodable & Sendable>(
    _ request: some NetworkRequestConvertible, as type: Value.Type, decoder: JSONDecoder? = nil, maxRetries: Int? = nil,
    policy: RetryPolicy = .default,
    completionHandler: @escaping @Sendable (Swift.Result<Value, NetworkError>) -> Void
  ) -> NetworkTask {
    start({ completionHandler($0.map(\.value)) }, NetworkDecodedBody<Value>(of: request, decoder)) {
      defaults throws(NetworkError) in
      try plan(for: request, policy.replacing(maxRetries: maxRetries), defaults)
    }
  }

  /// If no type is known, the compiler says how to name it.
  @available(
    *, unavailable,
    message: "name the type of the response: `load(url, as: User.self)`, or `let user: User = try await …`"
  )
  public func load(
    _ request: some NetworkRequestConvertible, decoder: JSONDecoder? = nil, maxRetries: Int? = nil,
    policy: RetryPolicy = .default
  ) async throws(NetworkError) {}

  /// If no type is known, the compiler says how to name it.
  @available(*, unavailable, message: "name the type of the response: `load(url, as: User.self) { result in … }`")
  @discardableResult
  public func load(
    _ request: some NetworkRequestConvertible, decoder: JSONDecoder? = nil, maxRetries: Int? = nil,
    policy: RetryPolicy = .default,
    completionHandler: @escaping @Sendable (Swift.Result<Void, NetworkError>) -> Void
  ) -> NetworkTask { NetworkTask() }

  /// Starts a call, and calls the handler with the response that the endpoint parses.
  private func start<E: Endpoint>(
    _ completionHandler: @escaping @Sendable (Swift.Result<NetworkResponse<E.Response>, NetworkError>) -> Void,
    _ endpoint: E, _ makePlan: (NetworkDefaults) throws(NetworkError) -> NetworkCallPlan
  ) -> NetworkTask {
    let defaults = defaults
    if defaults.ofEndpoints.valueMiddleware == nil {
      return start(completionHandler, convert: { endpoint.parsed($0, defaults) }, makePlan)
    }
    // Captured now: who is signed in, and the delegate of the session.
    let plan = Swift.Result { () throws(NetworkError) in try makePlan(defaults).started(on: self, defaults) }
    return startTask(completionHandler) {
      do throws(NetworkError) {
        return .success(try await response(of: plan.get(), endpoint, defaults))
      } catch { return .failure(error) }
    }
  }

  /// Carries out a call, and parses its response.
  func response<E: Endpoint>(
    of plan: NetworkCallPlan, _ endpoint: E, _ defaults: NetworkDefaults
  ) async throws(NetworkError) -> NetworkResponse<E.Response> {
    var parsed = try endpoint.parsed(await perform(plan.started(on: self, defaults)), defaults).get()
    try await defaults.ofEndpoints.valueMiddleware?.process(&parsed, of: plan)
    return parsed
  }
}

/// Decodes the response to any request, like an endpoint with this type and the decoder of the request, if it has one.
nonisolated private struct NetworkDecodedBody<Response: Decodable & Sendable>: Endpoint {
  let path = ""
  let decoder: JSONDecoder

  init(of request: some NetworkRequestConvertible, _ decoder: JSONDecoder?) {
    self.decoder = decoder ?? (request as? any Endpoint)?.decoder ?? .networkDefault
  }
}
