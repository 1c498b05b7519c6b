import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

nonisolated struct Counted: Encodable {
  let count = 7
}

func scriptedInEveryWay(_ url: URL) async throws {
  let steps: [NetworkScript.Step] = [
    try .json(Counted()), .failure(URLError(.timedOut)), .failure(.timedOut), .status(404, headers: ["X-A": "b"]),
    .response(200, body: Data()), .chunks(200, headers: ["X-A": "b"], [Data()], isCut: true), .silence,
  ]
  let (gate, opening) = AsyncStream.makeStream(of: Void.self)
  let script = NetworkScript { _, index in
    if index == 0 { for await _ in gate { break } }
    return steps[index % steps.count]
  }
  async let data = script.performNetworkRequest(url)
  opening.yield()
  print(try await data.count)
}

func scripted(_ request: URLRequest) async throws -> Data {
  try await NetworkScript([.status(503), .dropped, .ok("{}")]).performNetworkRequest(request)
}
