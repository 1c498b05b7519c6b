import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated extension NetworkError {
  /// The response with a status of 400 and up that the request failed with, unwrapped. It never belongs to another
  /// request, such as the renewal of a credential.
  var errorResponse: HTTPURLResponse? {
    if case .endpointError(let response, _) = unmapped { response } else { nil }
  }
}
