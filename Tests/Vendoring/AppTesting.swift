import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

func scripted(_ request: URLRequest) async throws -> Data {
  try await NetworkScript([.status(503), .dropped, .ok("{}")]).performNetworkRequest(request)
}
