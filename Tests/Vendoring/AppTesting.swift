import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated struct Counted: Encodable {
  let count = 7
}

func scriptedInEveryWay(_ url: URL) async throws {
  let gate = NetworkScriptGate()
  let script = NetworkScript([
    .held(gate, try .json(Counted())), .failure(URLError(.timedOut)), .failure(.timedOut),
    .status(404, headers: ["X-A": "b"]),
  ])
  async let data = script.performNetworkRequest(url)
  await gate.waitUntilReached()
  gate.open()
  print(try await data.count)
}

func scripted(_ request: URLRequest) async throws -> Data {
  try await NetworkScript([.status(503), .dropped, .ok("{}")]).performNetworkRequest(request)
}
