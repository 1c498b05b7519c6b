import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

nonisolated extension Endpoint {
  /// The request that is sent, without what a client adds to it. A body that is not in memory, such as a file, is added
  /// when it is sent.
  ///
  /// - Throws: ``NetworkError/invalidRequest(reason:)`` if the URL, a header field or the body is invalid, or an error of
  ///   the app, from `url`, `queryItems`, `body`, `encode(to:)` or ``prepare(request:)``, in
  ///   ``NetworkError/generalError(_:)``.
  public var request: URLRequest {
    get throws(NetworkError) {
      let request = try request(requestBody, NetworkDefaults())
      if let invalid = NetworkRequestValidation.invalidReason(of: request) { throw .invalidRequest(reason: invalid) }
      return request
    }
  }

  private var requestURL: URL {
    get throws(NetworkError) {
      do { return try url } catch { throw error as? NetworkError ?? .generalError(error) }
    }
  }

  private var requestBody: RequestBody {
    get throws(NetworkError) {
      do { return try body } catch { throw .unencodable(error, as: "body") }
    }
  }

  private func request(
    _ body: RequestBody, _ defaults: NetworkDefaults
  ) throws(NetworkError) -> URLRequest {
    var request = URLRequest(url: try requestURL)
    if method != .get { request.httpMethod = method.rawValue }
    request = try request.addingHeaders(headers)
    if !body.isEmpty {
      try body.addContentType(to: &request)
      request.httpBody = try body.encoded(with: defaults.encoder)
      if request.value(forHTTPHeaderField: "Content-Type") == nil {
        request.setValue(defaults.defaultContentType, forHTTPHeaderField: "Content-Type")
      }
    }
    // `Data` and `String` are `Decodable` too, but they are not decoded from JSON.
    let acceptsJSON = Response.self is any Decodable.Type && !(Data() is Response) && !("" is Response)
    if acceptsJSON, request.value(forHTTPHeaderField: "Accept") == nil {
      request.setValue(defaults.acceptOfJSON, forHTTPHeaderField: "Accept")
    }
    do { try prepare(request: &request) } catch { throw error as? NetworkError ?? .generalError(error) }
    if request.url == nil { throw .invalidRequest(reason: "it has no URL") }
    let method = request.networkMethod.uppercased()
    let hasBody = request.httpBody != nil || !body.isInMemory
    if hasBody, ["GET", "HEAD"].contains(method) {
      throw .invalidRequest(reason: "a \(method) has no body; set `method` to POST or another that has one")
    }
    return request
  }

  /// The call of this endpoint.
  public func networkCallPlan(_ defaults: NetworkDefaults) throws(NetworkError) -> NetworkCallPlan {
    try plan(.default, nil, defaults)
  }

  /// With `onProgress`, a body that is in memory is uploaded too.
  func plan(
    _ policy: RetryPolicy, _ onProgress: (@Sendable (TransferProgress) -> Void)?, _ defaults: NetworkDefaults
  ) throws(NetworkError) -> NetworkCallPlan {
    // Once, because each multipart body has a boundary of its own.
    let body = try requestBody
    let request = try request(body, defaults)
    // `parse` decides whether the response may be empty.
    var plan = NetworkCallPlan(request, policy: policy.inheriting(from: self.policy))
    // `prepare` may have changed the method, so what the method says is not declared.
    if isReadOnly != method.isReadOnly { plan.isReadOnly = isReadOnly }
    plan.endpoint = self
    if !body.isInMemory || (onProgress != nil && request.httpBody != nil) {
      // `prepare` may have changed a body that is in memory.
      NetworkUploadCall(body, data: request.httpBody, onProgress).add(to: &plan)
    }
    return plan
  }
}
