import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// Ordinary Swift values at each border: dictionaries, URLs and structs of the app, as literals and as variables. It is
// compiled in every build mode that has the whole folder.

nonisolated struct Member: Codable { var id: Int }
nonisolated struct MemberFilter: Encodable { var page = 1 }
struct Members: Endpoint {
  typealias Response = [Member]
  let path = "/users"
  let headers = ["X-Page": "7"]
  let policy = RetryPolicy.never
}
nonisolated struct Forwarding: NetworkMiddleware {
  func respond(
    to request: URLRequest, in call: NetworkMiddlewareCall, next: NetworkMiddlewareNext
  ) async throws -> NetworkResponse<Data> { try await next(request) }
}

/// A function of the app around each call.
func wrapped<Value: Decodable & Sendable>(
  _ client: NetworkClient, _ path: String, query: [String: String]
) async throws -> Value {
  try await client.load(.get(path, query: query))
}

func callsWithOrdinaryTypes(
  _ url: URL, _ request: URLRequest, text: String?, page: Int, flag: Bool, decoder: JSONDecoder
) async throws {
  let client = NetworkClient(baseURL: url, headers: ["User-Agent": "Demo/1.0"], middleware: [Forwarding()])
  let adding = NetworkClient(
    middleware: [
      Forwarding(),
      .around { request, next in
        var request = request
        request.setValue("1", forHTTPHeaderField: "X-A")
        return try await next(request)
      },
    ])
  let a: [Member] = try await URLSession.shared.load(url)
  let b: Member = try await client.load(request)
  let c = try await URLSession.shared.load(url, as: [Member].self, decoder: decoder)
  let d = try await client.load(Members())
  var query: NetworkValues = ["page": page]
  if let text { query["q"] = text }
  let e: [Member] = try await client.load(.get("/users", query: query))
  let f: [Member] = try await client.load(.get("/users", query: flag ? ["q": 1] : [:]))
  let g: [Member] = try await client.load(.get("/users", query: ["page": page, "q": text, "tags": ["a", "b"]]))
  let h: [Member] = try await client.load(.get("/users", query: .encoding(MemberFilter())))
  let i: [Member] = try await client.load(.get("/users", query: .items([URLQueryItem(name: "a", value: "b")])))
  let own = ["X-A": "b"]
  let j: [Member] = try await client.load(.get(url, headers: own, policy: .never, timeout: 5))
  let counts = ["a": 1]
  let k: [Member] = try await client.load(.get("/users", query: counts))
  let l: Member = try await client.load(
    .post(
      "/orders", headers: flag ? own : [:], body: .json(["title": "x", "n": page, "none": nil]),
      idempotencyKey: UUID()))
  let m: Member = try await client.load(.post("/p", body: .multipart([.text("a", "b"), .file("photo", url)])))
  let n = try await client.performNetworkDownload(url, to: url, overwrites: true).value
  let o: Member = try await wrapped(client, "/u", query: ["a": "b"])
  _ = (adding, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
}

/// First spellings of a newcomer: one call each.
func firstSpellings(_ url: URL, _ request: URLRequest, _ file: URL, _ data: Data) async throws {
  let session = URLSession.shared
  do throws(NetworkError) {
    let a: [Member] = try await session.load(url, maxRetries: 3)
    let b: Member = try await session.load(.post(url, body: .json(["id": 1])), policy: .interactive)
    let c = try await session.load(request, as: Member.self, maxRetries: 2)
    try await session.load(.delete(url), maxRetries: 0)
    _ = (a, b, c)
  } catch {
    print(error.isUnreachable, error.isTimeout, error.isCancellation)
  }
  session.load(url, as: [Member].self, maxRetries: 1) { result in print((try? result.get().count) ?? 0) }
  try await session.performNetworkUpload(request, from: file) { print($0.fraction ?? 0) }
  try await session.performNetworkUpload(request, from: data)
  try await session.performNetworkUpload(request, from: .json(["a": "b"]))
  let body = RequestBody.stream { InputStream(data: data) }
  session.performNetworkUpload(request, from: body, completionHandler: { _ in })
  session.performNetworkUpload(request, from: file, completionHandler: { _ in })
  let (bytes, response) = try await session.networkData(from: url)
  let (_, _) = try await session.networkData(for: .get(url, as: Member.self))
  let task = session.networkDataTask(with: url) { data, _, error in print(data ?? Data(), error ?? "") }
  task.resume()
  let stream = try await session.networkBytes(for: request.declared(isReadOnly: true), acceptsAnyStatus: true)
  for try await line in stream.lines { print(line) }
  _ = (bytes, response.statusCode, stream.headers.dictionary)
}

func firstSpellingsWithAHandler(_ session: URLSession, _ url: URL) {
  session.load(Members(), maxRetries: 1) { result in print((try? result.get().count) ?? 0) }
  session.load(.get(url, as: Member.self)) { (result: Swift.Result<Member, NetworkError>) in print(result) }
}

func bodiesOfOrdinaryTypes(
  _ text: [String: String], _ counts: [String: Int], _ values: NetworkValues, _ member: Member, page: Int
) -> [RequestBody] {
  [
    .json(text), .json(counts), .json(values), .json(member), .json([member]), .json(["a", "b"]),
    .json(["a": ["b": 1]]), .json(["messages": [["role": "user", "content": "hi"]]]),
    .json(["filter": ["age": page, "name": "x"] as NetworkObject, "n": 1]),
    .form(text), .form(["a": 1, "b": "x"]),
  ]
}
