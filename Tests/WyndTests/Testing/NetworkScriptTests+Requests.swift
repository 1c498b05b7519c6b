import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a script supplies and records without a client.
extension NetworkScriptTests {
  struct Expense: Codable, Equatable, Sendable { var title: String }

  /// A view model that is made with any performer.
  struct Expenses {
    let network: any NetworkPerformer
    func all() async throws -> [Expense] {
      try await network.load(.get("/expenses", query: ["page": 2], as: [Expense].self))
    }
    func add(_ expense: Expense) async throws { try await network.load(.post("/expenses", body: .json(expense))) }
  }

  @Test func viewModelWithRelativePathsRunsOnAScript() async throws {
    let script = NetworkScript([.status(503), .ok(#"[{"title":"Lunch"}]"#), .status(201)])
    let model = Expenses(network: script)
    #expect(try await model.all() == [Expense(title: "Lunch")])
    try await model.add(Expense(title: "Tea"))
    #expect(script.requests.map { $0.url?.path } == ["/expenses", "/expenses", "/expenses"])
    #expect(script.requests.first?.url?.query == "page=2" && script.requests.last?.httpMethod == "POST")
    #expect(script.requests.last?.httpBody == Data(#"{"title":"Tea"}"#.utf8))
  }

  static let addresses: [(base: String?, path: String, sent: String)] = [
    (nil, "/items?q=x%26y", "/items?q=x%26y"), (nil, "https://b.example/items", "https://b.example/items"),
    ("https://a.example", "/items?q=x%26y", "https://a.example/items?q=x%26y"),
    ("https://a.example/v2", "/items", "https://a.example/v2/items"),
    ("https://a.example", "https://b.example/items", "https://b.example/items"),
  ]

  /// Without a client, a request has no host.
  @Test(arguments: addresses) func recordsTheURLOfARequest(_ base: String?, _ path: String, _ sent: String) async throws
  {
    let request = URLRequest(url: try #require(URL(string: path)))
    let script = NetworkScript([.ok("x")])
    let performer: any NetworkPerformer =
      if let base { NetworkClient(baseURL: URL(string: base), on: script) } else { script }
    #expect(try await performer.performNetworkRequest(request) == Data("x".utf8))
    let result = await handlerValue { performer.performNetworkRequest(request, completionHandler: $0) }
    #expect(try result.get() == Data("x".utf8))
    #expect(script.requests.map { $0.url?.absoluteString } == [sent, sent])
  }

  @Test func endpointWithoutAHostLoadsInBothForms() async throws {
    let script = NetworkScript([.ok("x")])
    #expect(try await script.load(.get("/items", query: ["page": 2], as: String.self)) == "x")
    let handled = await handlerValue {
      script.load(.get("/items", query: ["page": 2], as: String.self), completionHandler: $0)
    }
    #expect(try handled.get() == "x")
    #expect(script.requests.map { $0.url?.absoluteString } == ["/items?page=2", "/items?page=2"])
  }

  /// It is a mistake of the app, which a script does not hide.
  @Test func clientWithoutABaseURLNeedsAHostOnAScriptToo() async throws {
    let script = NetworkScript([.ok("x")])
    let client = NetworkClient(on: script)
    let error = await #expect(throws: NetworkError.self) { try await client.load(.get("/items", as: String.self)) }
    guard case .invalidRequest? = error else { Issue.record("\(String(describing: error))"); return }
    #expect(script.requests.isEmpty)
  }

  @Test func recordsBodiesThatAreNotInMemory() async throws {
    let folder = try Folder()
    try Data("from a file".utf8).write(to: folder.file("data.txt"))
    let bodies: [(RequestBody, String)] = [
      (.data(Data("x".utf8)), "x"), (.file(folder.file("data.txt")), "from a file"),
      (.stream { InputStream(data: Data("a stream".utf8)) }, "a stream"),
      (.stream(length: 4) { InputStream(data: Data("a stream".utf8)) }, "a st"),
      (.stream { InputStream(data: Data(repeating: 65, count: 200_000)) }, String(repeating: "A", count: 200_000)),
    ]
    for (body, text) in bodies {
      // Each attempt has the body.
      let script = NetworkScript([.status(429), .ok("x")])
      _ = try await script.performNetworkUpload(Self.request(), from: body)
      #expect(script.requests.map { $0.httpBody } == [Data(text.utf8), Data(text.utf8)])
      let endpoint = NetworkScript([.ok("x")])
      try await endpoint.load(.post("/x", body: body))
      #expect(endpoint.requests.first?.httpBody == Data(text.utf8))
    }
  }

  @Test func recordsAMultipartBodyAndItsType() async throws {
    let folder = try Folder()
    try Data("a photo".utf8).write(to: folder.file("photo.jpg"))
    let body = RequestBody.multipart([
      .text("title", "Bella"), .file("photo", folder.file("photo.jpg"), contentType: "image/jpeg"),
    ])
    let script = NetworkScript { request, _ in
      // The closure sees it too.
      .ok("\(request.httpBody?.count ?? 0)")
    }
    let count = try await script.load(.post("/photos", body: body, as: Int.self))
    let request = try #require(script.requests.first)
    let text = try #require(request.httpBody).text
    #expect(text.utf8.count == count)
    #expect(text.contains("name=\"title\"\r\n\r\nBella\r\n") && text.contains("a photo"))
    #expect(request.value(forHTTPHeaderField: "Content-Type")?.hasPrefix("multipart/form-data; boundary=") == true)
  }

  @Test func streamThatCannotBeReadEndsTheAttempt() async throws {
    let script = NetworkScript([.ok("x")])
    struct Unreadable: Error {}
    let body = RequestBody.stream { throw Unreadable() }
    let request = try Self.request()
    let error = try #require(
      await #expect(throws: NetworkError.self) { try await script.performNetworkUpload(request, from: body) })
    guard case .generalError = error else { Issue.record("\(error)"); return }
  }
}
