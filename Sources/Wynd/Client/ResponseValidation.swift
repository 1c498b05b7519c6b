public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Makes errors of responses that are not acceptable, beyond a status of 400 and up.
///
/// ```swift
/// ResponseValidation(statusCodes: 200..<300, contentTypes: ["application/json"])
/// ResponseValidation(isRetryable: true) { response in
///   response.data.starts(with: Data("{\"error\"".utf8)) ? "an error with status 200" : nil
/// }
/// ```
///
/// The error is an ``InvalidResponse`` in ``NetworkError/middlewareError(_:)``, which has its response and its body.
nonisolated public struct ResponseValidation: NetworkMiddleware {
  private let isRetryable: Bool
  private let reason: @Sendable (NetworkResponse) -> String?

  /// Makes a validation; what is left out is not checked.
  ///
  /// - Parameters:
  ///   - statusCodes: The status codes of a success, `200..<300`.
  ///   - contentTypes: The types that a body may have, without parameters; `image/*` is any image.
  ///   - isRetryable: Whether a retry may help. Whether it is safe to repeat the request is decided by ``RetryPolicy``.
  ///   - validate: Returns why a response is not acceptable, and nil if it is. The text appears in logs.
  public init(
    statusCodes: Range<Int>? = nil, contentTypes: [String]? = nil, isRetryable: Bool = false,
    validate: @escaping @Sendable (NetworkResponse) -> String? = { _ in nil }
  ) {
    self.isRetryable = isRetryable
    let accepted = contentTypes.map { Set($0.map { $0.lowercased() }) }
    reason = { response in
      let status = response.response.statusCode
      if statusCodes?.contains(status) == false { return "status \(status)" }
      let field = response.response.value(forHTTPHeaderField: "Content-Type") ?? ""
      let type = field.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
      let isAccepted = accepted?.isDisjoint(with: [type, type.prefix { $0 != "/" } + "/*", "*/*"]) != true
      return isAccepted || response.data.isEmpty ? validate(response) : "content type \(type)"
    }
  }

  /// Throws ``InvalidResponse`` if the response is not acceptable.
  public func respond(
    to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
  ) async throws -> NetworkResponse {
    let response = try await next(request)
    // A conditional request expects a 304.
    let isConditional = ["If-None-Match", "If-Modified-Since"].contains { request.value(forHTTPHeaderField: $0) != nil }
    let isExpected = isConditional && response.response.statusCode == 304
    guard !isExpected, let reason = reason(response) else { return response }
    throw InvalidResponse(reason: reason, response: response, shouldRetry: isRetryable)
  }
}

/// A response that a ``ResponseValidation`` does not accept.
nonisolated public struct InvalidResponse: RetryableError, LocalizedError, ResponseError {
  /// Why it is not acceptable.
  public let reason: String
  /// The response.
  public let response: NetworkResponse
  /// Whether a retry may help.
  public let shouldRetry: Bool
  /// The reason, in one line.
  public var description: String { "not acceptable: \(NetworkError.oneLine(reason, 200))" }
  /// A sentence for the person in front of the screen.
  public var errorDescription: String? { "The server sent a response that cannot be used." }
}
