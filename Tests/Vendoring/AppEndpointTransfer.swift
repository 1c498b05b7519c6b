import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

func endpointTransfer(_ session: URLSession, _ url: URL, _ file: URL) async throws {
  try await session.performNetworkDownload(Transferred(), to: file)
  let uploaded = try await session.performNetworkUpload(Transferred())
  print(uploaded.value, uploaded.link("next") ?? url)
  for try await chunk in try await session.networkBytes(for: Transferred()) { print(chunk.count) }
  for try await event in session.serverSentEvents(for: Transferred()) { print(event.data) }
}

nonisolated struct Transferred: Endpoint {
  typealias Response = Data
  let host = "a.example"
  let path = "/film"
  let method: NetworkMethod = .put
  let body: RequestBody? = .text("x")
}
