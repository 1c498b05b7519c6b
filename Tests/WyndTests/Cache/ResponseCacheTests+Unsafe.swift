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
  @Test(arguments: ["POST", "PUT", "DELETE", "PATCH"], [400, 401, 403, 422, 500, 503])
  func anUnsafeRequestThatFailedKeepsTheStoredResponse(_ method: String, _ status: Int) async throws {
    let cached = CachedClient([.ok("old", headers: Self.fresh), .status(status), .ok("new")])
    _ = try await cached.get()
    await #expect(throws: NetworkError.self) { try await cached.get(method: method) }
    #expect(try await cached.get() == ("old", .cache))
  }

  /// These say that the resource is not what is stored. They are also the response to a repetition, if the first request
  /// was carried out and its response was lost.
  @Test(arguments: ["PUT", "DELETE"], [404, 409, 410, 412])
  func anUnsafeRequestThatFindsAnotherStateRemovesTheStoredResponse(_ method: String, _ status: Int) async throws {
    for steps in [[Step.status(status)], [.dropped, .status(status)]] {
      let policy = RetryPolicy(maxRetries: 1, backoff: .immediate)
      let cached = CachedClient([.ok("old", headers: Self.fresh)] + steps + [.ok("new")], policy: policy)
      _ = try await cached.get()
      await #expect(throws: NetworkError.self) { try await cached.get(method: method) }
      #expect(try await cached.get() == ("new", .network))
    }
  }

  @Test func anUploadRemovesTheStoredResponse() async throws {
    let cached = CachedClient([.ok("old", headers: Self.fresh), .status(204), .ok("new")])
    _ = try await cached.get()
    _ = try await cached.client.performNetworkUpload(try Self.request(method: "PUT"), from: Data("new".utf8))
    #expect(try await cached.get() == ("new", .network))
  }

  /// The fragment is not a part of the resource.
  @Test func aChangeOfAURLWithAFragmentRemovesTheStoredResponse() async throws {
    let cached = CachedClient([.ok("old", headers: Self.fresh), .status(204), .ok("new")])
    _ = try await cached.get()
    _ = try await cached.get(path: "/#part", method: "PUT")
    #expect(try await cached.get() == ("new", .network))
  }

  /// Each service of an app may make a cache of its own.
  @Test func cachesOnOneFolderNoticeEachOthersChanges() async throws {
    let folder = try Folder()
    defer { withExtendedLifetime(folder) {} }
    let script = NetworkScript([
      .ok("old", headers: Self.fresh), .status(204), .ok("new", headers: Self.fresh), .ok(""),
    ])
    let link = folder.file("link")
    try FileManager.default.createDirectory(at: folder.file("cache"), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: folder.file("cache"))
    let first = CachedClient(script, cache: try ResponseCache(in: folder.file("cache"), on: script))
    let second = CachedClient(script, cache: try ResponseCache(in: link, on: script))
    #expect(try await first.get() == ("old", .network))
    #expect(try await second.get() == ("old", .cache))
    _ = try await second.get(method: "PUT")
    #expect(try await first.get() == ("new", .network))
    await second.cache.removeAll()
    #expect(try await first.get() == ("", .network))
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

  /// The first attempt may have been carried out, whatever the last one failed with.
  @Test(arguments: [Step.failure(.cannotConnectToHost), .status(503)])
  func anUnsafeRequestWhoseResponseWasLostRemovesTheStoredResponse(_ last: Step) async throws {
    let policy = RetryPolicy(maxRetries: 1, backoff: .immediate)
    let cached = CachedClient([.ok("old", headers: Self.fresh), .dropped, last, .ok("new")], policy: policy)
    _ = try await cached.get()
    await #expect(throws: NetworkError.self) { try await cached.get(method: "PUT") }
    #expect(try await cached.get() == ("new", .network))
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
