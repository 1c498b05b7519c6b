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
