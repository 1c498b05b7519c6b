public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Rejects responses that are not acceptable. A status of 400 and up is an error even without it.
///
/// ```swift
/// ResponseValidation(statusCodes: 200..<300, contentTypes: ["application/json"])
/// ResponseValidation(isRetryable: true) { response in
///   response.data.starts(with: Data("{\"error\"".utf8)) ? "an error with status 200" : nil
/// }
/// ```
///
/// The error is an ``InvalidResponse`` in ``NetworkError/generalError(_:)``. It contains the response and its body.
nonisolated public struct ResponseValidation: NetworkMiddleware {
  private let isRetryable: Bool
  private let reason: @Sendable (NetworkResponse<Data>) -> String?

  /// Makes a validation. Conditions that are omitted are not checked.
  ///
  /// - Parameters:
  ///   - statusCodes: The accepted status codes, such as `200..<300`.
  ///   - contentTypes: The accepted media types of the body, without parameters. `image/*` accepts any image. They do
  ///     not apply to a download or a stream.
  ///   - isRetryable: Whether a retry may help. Whether it is safe to repeat the request is decided by ``RetryPolicy``.
  ///   - validate: Returns why a response is not acceptable, or nil if it is. The text appears in logs.
  public init(
    statusCodes: Range<Int>? = nil, contentTypes: [String]? = nil, isRetryable: Bool = false,
    validate: @escaping @Sendable (NetworkResponse<Data>) -> String? = { _ in nil }
  ) {
    self.isRetryable = isRetryable
    let accepted = contentTypes.map { Set($0.map { $0.lowercased() }) }
    reason = { response in
      let status = response.statusCode
      if let statusCodes, !statusCodes.contains(status) { return "status \(status)" }
      let type = response.response.networkMediaType
      if let accepted, !response.data.isEmpty, !Self.accepts(type, accepted) { return "content type \(type)" }
      return validate(response)
    }
  }

  private static func accepts(_ type: String, _ accepted: Set<String>) -> Bool {
    let anyOfItsKind = type.prefix { $0 != "/" } + "/*"
    return accepted.contains(type) || accepted.contains(String(anyOfItsKind)) || accepted.contains("*/*")
  }

  /// Throws ``InvalidResponse`` if the response is not acceptable.
  public func respond(
    to request: URLRequest, in call: NetworkCall, next: @escaping NetworkMiddlewareNext
  ) async throws -> NetworkResponse<Data> {
    let response = try await next(request)
    if Self.isExpected(response.statusCode, of: request, call) { return response }
    guard let text = reason(response) else { return response }
    throw InvalidResponse(reason: text, response: response, shouldRetry: isRetryable)
  }

  /// Whether the status follows from a condition of the request: a 304 for a cache, and a 416 for a download that is
  /// complete.
  private static func isExpected(_ status: Int, of request: URLRequest, _ call: NetworkCall) -> Bool {
    let conditions = ["If-None-Match", "If-Modified-Since"]
    let isConditional = conditions.contains { request.value(forHTTPHeaderField: $0) != nil }
    return isConditional && status == 304 || call.isTransfer && status == 416
  }
}

/// A response that a ``ResponseValidation`` rejected.
nonisolated public struct InvalidResponse: RetryableError, LocalizedError, CustomStringConvertible, NetworkResponseError
{
  /// Why the response is not acceptable.
  public let reason: String
  /// The rejected response, with its body.
  public let response: NetworkResponse<Data>
  /// Whether a retry may help.
  public let shouldRetry: Bool
  /// The reason and the response, on one line.
  public var description: String { "not acceptable: \(NetworkError.oneLine(reason, 200)): \(response)" }
  /// A message to show to the user.
  public var errorDescription: String? { "The server sent a response that cannot be used." }
}
