import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated extension URLRequest {
  /// The method: GET if the request has none.
  var networkMethod: String { httpMethod ?? "GET" }
}
