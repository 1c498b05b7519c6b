import Foundation
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A middleware that names secret fields, and adds none.
struct SecretFields: NetworkMiddleware {
  let secretFields: Set<String>
  func respond(
    to request: URLRequest, in call: NetworkMiddlewareCall, next: NetworkMiddlewareNext
  ) async throws -> NetworkResponse<Data> { try await next(request) }
}
