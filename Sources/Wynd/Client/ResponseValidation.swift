#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// What is an error, beyond a status of 400 and up.
///
/// ```swift
/// ResponseValidation(statusCodes: 200..<300, contentTypes: ["application/json"])
/// ResponseValidation(isRetryable: true) { response in
///   response.data.starts(with: Data("{\"error\"".utf8)) ? "an error with status 200" : nil
/// }
/// ```
///
/// A failure is ``InvalidResponse`` in ``NetworkError/middlewareError(_:)``.
nonisolated public struct ResponseValidation: NetworkMiddleware {
  private let statusCodes: Range<Int>?
  private let contentTypes: [String]?
  private let isRetryable: Bool
  private let flaw: @Sendable (NetworkResponse) -> String?

  /// Makes a validation; what is left out is not looked at.
  ///
  /// - Parameters:
  ///   - statusCodes: What a success may have, `200..<300`.
  ///   - contentTypes: What a body may be, without parameters; `image/*` is any image.
  ///   - isRetryable: May another try help? Whether it is safe to repeat stays the rule's own question.
  ///   - flaw: Looks at an answer and says what is wrong with it; nil if nothing is.
  public init(
    statusCodes: Range<Int>? = nil, contentTypes: [String]? = nil, isRetryable: Bool = false,
    flaw: @escaping @Sendable (NetworkResponse) -> String? = { _ in nil }
  ) {
    self.statusCodes = statusCodes
    self.contentTypes = contentTypes
    self.isRetryable = isRetryable
    self.flaw = flaw
  }

  /// Lets pass what is right.
  public func respond(
    to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
  ) async throws -> NetworkResponse {
    let response = try await next(request)
    let isAsked = ["If-None-Match", "If-Modified-Since"].contains { request.value(forHTTPHeaderField: $0) != nil }
    if response.response.statusCode == 304, isAsked { return response }
    guard let reason = reason(against: response) else { return response }
    throw InvalidResponse(reason: reason, response: response, shouldRetry: isRetryable)
  }

  private func reason(against response: NetworkResponse) -> String? {
    let status = response.response.statusCode
    if let statusCodes, !statusCodes.contains(status) { return "status \(status)" }
    if let contentTypes, !response.data.isEmpty {
      let type =
        response.response.value(forHTTPHeaderField: "Content-Type")?.prefix { $0 != ";" }
        .trimmingCharacters(in: .whitespaces).lowercased() ?? ""
      let isFit = contentTypes.contains {
        let wanted = $0.lowercased()
        return wanted == type || wanted == "*/*" || wanted.hasSuffix("/*") && type.hasPrefix(wanted.dropLast())
      }
      if !isFit { return "content type \(NetworkError.oneLine(type, 80))" }
    }
    return flaw(response)
  }
}

/// An answer that a ``ResponseValidation`` does not accept.
nonisolated public struct InvalidResponse: RetryableError, CustomStringConvertible {
  /// What is wrong with it.
  public let reason: String
  /// The answer.
  public let response: NetworkResponse
  /// May another try help?
  public let shouldRetry: Bool
  /// The reason.
  public var description: String { "not acceptable: \(reason)" }
}
