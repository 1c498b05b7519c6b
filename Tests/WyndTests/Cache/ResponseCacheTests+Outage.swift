import Foundation
import WyndLoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension ResponseCacheTests {
  // MARK: Network failures

  @Test(arguments: [Step.dropped, .status(500)])
  func servesAStaleResponseWhenTheNetworkFails(_ failure: Step) async throws {
    let cached = CachedClient([.ok("old", headers: Self.tagged), failure], stale: true)
    _ = try await cached.get()
    let response = try await cached.get(after: 1_000_000)
    #expect(response.text == "old" && response.source == .cache)
  }

  @Test func doesNotServeStaleForClientErrorsMustRevalidateOrWhenDisabled() async throws {
    for (headers, failure, stale) in [
      (Self.tagged, Step.status(404), true), (Self.tagged, .status(401), true), (Self.tagged, .dropped, false),
      (Self.tagged.merging(["Cache-Control": "must-revalidate"]) { $1 }, .dropped, true),
      (Self.tagged.merging(["Cache-Control": "no-cache"]) { $1 }, .dropped, true),
      (Self.tagged, .status(410), true), (Self.tagged, .failure(.badURL), true),
    ] {
      let cached = CachedClient([.ok("old", headers: headers), failure], stale: stale)
      _ = try await cached.get()
      await #expect(throws: NetworkError.self) { try await cached.get() }
    }
  }

  @Test func servingAStaleResponseDoesNotMakeItFresh() async throws {
    let cached = CachedClient([.ok("old", headers: Self.tagged), .status(503)], stale: true)
    _ = try await cached.get()
    #expect(try await cached.get() == ("old", .cache))
    let before = cached.script.requests.count
    _ = try await cached.get()
    #expect(cached.script.requests.count > before)
  }

  @Test func doesNotServeAnotherVariantInAnOutage() async throws {
    let fields = ["ETag": "\"1\"", "Vary": "Accept"]
    let cached = CachedClient([.ok("old", headers: fields), .dropped], stale: true)
    _ = try await cached.get(["Accept": "a"])
    await #expect(throws: NetworkError.self) { try await cached.get(["Accept": "b"]) }
  }

  @Test func servesAStaleResponseAtTheDeadline() async throws {
    let cached = CachedClient(
      [.ok("old", headers: Self.tagged), .silence], stale: true, policy: RetryPolicy(deadline: .seconds(5)))
    _ = try await cached.get()
    #expect(try await cached.get() == ("old", .cache))
    #expect(cached.script.elapsed == .seconds(5))
  }

  /// The caller does not want it any more.
  @Test func servesNothingAfterACancellation() async throws {
    let server = try LoopbackServer { request in
      request.index == 0 ? .status(200, [("ETag", "\"1\"")], body: "old") : .hang
    }
    let client = NetworkClient(on: ResponseCache(servesStaleIfError: true), policy: .never)
    let url = server.url()
    _ = try await client.performNetworkRequest(url)
    let task = Task { try await client.performNetworkRequest(url) }
    await until { server.openRequests == 1 }
    task.cancel()
    #expect(await task.result.isCancelled)
  }

  /// It is no outage, so it is an error, but it does not show that the stored response is out of date.
  @Test(arguments: [[:], ["Cache-Control": "max-age=0"]])
  func a501WithoutALifetimeKeepsTheStoredResponse(_ fields: [String: String]) async throws {
    let stored = ["ETag": "\"1\"", "Cache-Control": "max-age=0"]
    let cached = CachedClient(
      [.ok("old", headers: stored), .status(501, headers: fields), .status(503)], stale: true)
    #expect(try await cached.get() == ("old", .network))
    let error = await #expect(throws: NetworkError.self) { try await cached.get() }
    #expect(error?.statusCode == 501)
    #expect(try await cached.get() == ("old", .cache))
    #expect(cached.script.requests.count == 3)
  }

  /// Retries are not needed if there is a stored response to serve.
  @Test(arguments: [Step.failure(.notConnectedToInternet), .status(503), .silence])
  func servesAStaleResponseAfterOneAttempt(_ failure: Step) async throws {
    let cached = CachedClient([.ok("old", headers: Self.tagged), failure], stale: true, policy: RetryPolicy())
    _ = try await cached.get()
    #expect(try await cached.get() == ("old", .cache))
    #expect(cached.script.requests.count == 2)
  }

  @Test(arguments: ["must-revalidate", "no-cache"])
  func retriesWhenTheStoredResponseMustBeRevalidated(_ control: String) async throws {
    let fields = ["ETag": "\"1\"", "Cache-Control": control]
    let cached = CachedClient([.ok("old", headers: fields), .dropped, .ok("new")], stale: true, policy: RetryPolicy())
    _ = try await cached.get()
    #expect(try await cached.get() == ("new", .network))
  }

  @Test func staleResponseHasTheRevalidationError() async throws {
    let cached = CachedClient(
      [.ok("old", headers: Self.tagged), .status(304), .status(503), .ok("new", headers: Self.fresh)], stale: true)
    for status in [nil, nil, 503, nil] {
      #expect(try await cached.client.loadResponse(Text()).revalidationError?.statusCode == status)
    }
    // The last one is fresh, and served without a request.
    let response = try await cached.client.networkResponse(for: try Self.request())
    #expect(response.source == .cache && response.revalidationError == nil)
  }

  @Test func doesNotServeAStaleResponseAfterAnotherSignIn() async throws {
    let authentication = try Self.authentication("ann")
    let script = NetworkScript { _, number in
      if number == 1 { authentication.signIn(BearerToken("bob")) }
      return number == 0 ? .ok("ann's", headers: Self.tagged) : .dropped
    }
    let cached = CachedClient(script, stale: true, middleware: [authentication])
    #expect(try await cached.get().text == "ann's")
    await #expect(throws: NetworkError.self) { try await cached.get() }
  }

  /// The second request after a 304 for nothing is part of the same call.
  @Test func secondRequestHasWhatIsLeftOfTheDeadline() async throws {
    let cached = CachedClient(
      [
        .ok("one", headers: ["ETag": "\"1\""]), .status(503, headers: ["Retry-After": "7"]),
        .status(304, headers: ["ETag": "\"2\""]), .silence,
      ], policy: RetryPolicy(deadline: .seconds(10)))
    _ = try await cached.get()
    await #expect(throws: NetworkError.self) { try await cached.get() }
    #expect(cached.script.requests.count == 4 && cached.script.elapsed == .seconds(10))
  }
}
