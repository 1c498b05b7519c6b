import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Which unsafe requests remove the stored responses for their URL (RFC 9111 §4.4).
extension ResponseCacheTests {
  /// A server that refuses a request has changed nothing (RFC 9111 §4.4).
  @Test(arguments: ["POST", "PUT", "DELETE", "PATCH"], [400, 403, 404, 409, 412, 500, 503])
  func anUnsafeRequestThatFailedKeepsTheStoredResponse(_ method: String, _ status: Int) async throws {
    let cached = CachedClient([.ok("old", headers: Self.fresh), .status(status), .ok("new")])
    _ = try await cached.get()
    await #expect(throws: NetworkError.self) { try await cached.get(method: method) }
    #expect(try await cached.get() == ("old", .cache))
  }

  /// The user edits something without a connection, and still sees what is stored.
  @Test(arguments: [
    URLError.Code.notConnectedToInternet, .cannotFindHost, .cannotConnectToHost, .secureConnectionFailed,
  ])
  func anUnsafeRequestThatWasNotSentKeepsTheStoredResponse(_ code: URLError.Code) async throws {
    for policy in [RetryPolicy.never, RetryPolicy()] {
      let cached = CachedClient([.ok("old", headers: Self.fresh), .failure(code)], policy: policy)
      _ = try await cached.get()
      await #expect(throws: NetworkError.self) { try await cached.get(method: "POST") }
      #expect(try await cached.get() == ("old", .cache))
    }
  }

  /// The first attempt may have been applied, even if the second one was not sent.
  @Test func anUnsafeRequestThatMayHaveBeenAppliedRemovesTheStoredResponse() async throws {
    let cached = CachedClient(
      [.ok("old", headers: Self.fresh), .dropped, .status(503), .ok("new")], policy: RetryPolicy(maxRetries: 1))
    _ = try await cached.get()
    await #expect(throws: NetworkError.self) { try await cached.get(method: "PUT") }
    #expect(cached.script.requests.count == 3)
    #expect(try await cached.get() == ("new", .network))
  }

  /// The POST was applied, and the page that it led to is missing.
  @Test func anErrorAfterARedirectRemovesTheStoredResponse() async throws {
    struct Redirected: NetworkMiddleware {
      func respond(
        to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
      ) async throws -> NetworkResponse<Data> {
        if request.httpMethod != "POST" { return try await next(request) }
        let other = try #require(URL(string: "https://a.example/placed"))
        return try await next(URLRequest(url: other))
      }
    }
    let cached = CachedClient(
      [.ok("old", headers: Self.fresh), .status(404), .ok("new")], middleware: [Redirected()])
    _ = try await cached.get()
    await #expect(throws: NetworkError.self) { try await cached.get(method: "POST") }
    #expect(try await cached.get() == ("new", .network))
  }

  /// The server has applied the request, and the one that it redirects to cannot be reached. Without a retry, the error
  /// has no attempts.
  @Test(arguments: [(303, "POST", 1), (307, "PUT", 1), (303, "PUT", 0)])
  func anUnreachableServerAfterARedirectRemovesTheStoredResponse(
    _ status: Int, _ method: String, _ maxRetries: Int
  ) async throws {
    let unreachable = try LoopbackServer(isListening: false) { _ in .ok() }
    let server = try LoopbackServer { request in
      if request.method != "GET" { return .redirect(status, to: unreachable.url().absoluteString) }
      return .ok(Array("\(request.index)".utf8), [("Cache-Control", "max-age=600")])
    }
    let client = NetworkClient(
      on: ResponseCache(MemoryStore(), on: URLSession(configuration: .ephemeral)),
      policy: RetryPolicy(maxRetries: maxRetries, backoff: .immediate, budget: nil))
    let read = URLRequest(url: server.url())
    for _ in 0..<2 { #expect(try await client.performNetworkRequest(read) == Data("0".utf8)) }
    let change = URLRequest(url: server.url(), method: method)
    await #expect(throws: NetworkError.self) { try await client.performNetworkRequest(change) }
    #expect(try await client.networkResponse(for: read).source == .network)
  }

  /// A search with POST changes nothing, even if it fails.
  @Test(arguments: [Step.ok("found"), .dropped]) func aReadOnlyPOSTKeepsTheStoredResponse(_ outcome: Step) async throws
  {
    let cached = CachedClient([.ok("old", headers: Self.fresh), outcome, .ok(""), .ok("new")])
    _ = try await cached.get()
    _ = try? await cached.client.load(.post("/", isReadOnly: true))
    #expect(try await cached.get() == ("old", .cache))
    try await cached.client.load(.post("/"))
    #expect(try await cached.get() == ("new", .network))
  }
}
