import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// How an app uses a client. It is compiled in every build mode.

nonisolated struct Page: Codable { var number: Int }
struct Pages: Endpoint {
  typealias Response = Page
  var path: String { "/pages" }
}
struct NewToken: Endpoint {
  typealias Response = String
  var path: String { "/token" }
}

nonisolated struct Counting: NetworkMiddleware {
  func respond(
    to request: URLRequest, in call: NetworkMiddlewareCall, next: NetworkMiddlewareNext
  ) async throws -> NetworkResponse<Data> {
    do { return try await next(request) } catch { throw error }
  }
}

// The API layer of the app: a function for each call.
nonisolated extension Endpoint where Self == AdHocEndpoint<[Page]> {
  static func pages(after number: Int) -> Self { .get("/pages", query: ["after": number]) }
}

@MainActor final class PageModel {
  let authentication: Authentication<BearerToken>
  let client: NetworkClient
  var pages: [Int] = []
  var task: NetworkTask?

  init(_ url: URL) {
    authentication = Authentication(for: url) { _, client in
      BearerToken(try await client.load(NewToken()))
    } onChange: { token, error in
      print(token as Any, error as Any)
    }
    var policy = RetryPolicy(maxRetries: 3)
    policy.onEvent = { print($0) }
    client = NetworkClient(
      baseURL: url, headers: ["User-Agent": "App/1"], policy: policy,
      middleware: [Counting(), authentication, .around { try await $1($0) }])
  }

  func refresh() async {
    do throws(NetworkError) { pages.append(try await client.load(Pages()).number) } catch { print(error) }
  }
  func loadWithoutAType(_ url: URL) async throws {
    pages.append(try await client.load(.post("/pages", body: .json(Page(number: 1)), as: Page.self)).number)
    _ = try await client.load(.get("/pages", query: ["name": "a", "page": 2], as: [Page].self))
    try await client.load(.delete("/pages/1", headers: ["Authorization": "Bearer t"]))
    let key = Authentication(for: url, try BasicCredential(user: "a", password: "b"))
    key.signIn(try BasicCredential(user: "a", password: "c"))
    let found: [Page] = try await client.load(.pages(after: 2))
    pages += found.map(\.number)
    client.load(.pages(after: 3)) { (result: Swift.Result<[Page], NetworkError>) in print(result) }
  }
  func refreshLater() {
    task = client.load(Pages()) { result in
      _Concurrency.Task { @MainActor in self.pages += (try? result.get()).map { [$0.number] } ?? [] }
    }
  }
}
