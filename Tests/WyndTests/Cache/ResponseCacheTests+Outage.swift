import Foundation
import LoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension ResponseCacheTests {
  // MARK: When the network fails

  static let failures: [Step] = [.dropped, .failure(.notConnectedToInternet), .status(503), .status(500), .silence]

  @Test(arguments: failures.indices) func whatIsStoredIsServedIfTheNetworkFails(_ row: Int) async throws {
    let world = World([.ok("old", headers: Self.tagged), Self.failures[row]], stale: true)
    _ = try await world.get()
    let answer = try await world.get(after: 1_000_000)
    #expect(answer.text == "old" && answer.source == .cache)
  }

  @Test func butNotForARefusalNorWhereTheServerForbadeItNorUnasked() async throws {
    for (headers, failure, stale) in [
      (Self.tagged, Step.status(404), true), (Self.tagged, .status(401), true), (Self.tagged, .dropped, false),
      (Self.tagged.merging(["Cache-Control": "must-revalidate"]) { $1 }, .dropped, true),
      (Self.tagged.merging(["Cache-Control": "no-cache"]) { $1 }, .dropped, true),
      (Self.tagged, .status(410), true), (Self.tagged, .failure(.badURL), true),
    ] {
      let world = World([.ok("old", headers: headers), failure], stale: stale)
      _ = try await world.get()
      await #expect(throws: NetworkError.self) { try await world.get() }
    }
  }

  @Test func aStaleResponseThatWasServedIsNotFresh() async throws {
    let world = World([.ok("old", headers: Self.tagged), .status(503)], stale: true)
    _ = try await world.get()
    #expect(try await world.get() == ("old", .cache))
    let before = world.script.requests.count
    _ = try await world.get()
    #expect(world.script.requests.count > before)
  }

  @Test func aVariantThatWasNotStoredIsNotServedInAnOutage() async throws {
    let fields = ["ETag": "\"1\"", "Vary": "Accept"]
    let world = World([.ok("old", headers: fields), .dropped], stale: true)
    _ = try await world.get(["Accept": "a"])
    await #expect(throws: NetworkError.self) { try await world.get(["Accept": "b"]) }
  }

  @Test func unlessItIsAskedForNothingStaleIsServed() async throws {
    let client = Self.client(.scripted([.ok("old", headers: Self.tagged), .dropped]), [ResponseCache(MemoryStore())])
    _ = try await client.performNetworkRequest(try Self.request())
    await #expect(throws: NetworkError.self) { try await client.performNetworkRequest(try Self.request()) }
  }

  /// Offline with something usable stored: one attempt is enough to know.
  @Test(arguments: [Step.failure(.notConnectedToInternet), .status(503), .silence])
  func whatIsStoredIsServedAfterOneAttempt(_ failure: Step) async throws {
    let world = World([.ok("old", headers: Self.tagged), failure], stale: true, policy: RetryPolicy())
    _ = try await world.get()
    #expect(try await world.get() == ("old", .cache))
    #expect(world.script.requests.count == 2)
  }

  @Test(arguments: ["must-revalidate", "no-cache"])
  func aCallIsRetriedIfTheStoredResponseMayNotBeServed(_ control: String) async throws {
    let fields = ["ETag": "\"1\"", "Cache-Control": control]
    let world = World([.ok("old", headers: fields), .dropped, .ok("new")], stale: true, policy: RetryPolicy())
    _ = try await world.get()
    #expect(try await world.get() == ("new", .network))
  }

  @Test func aCallIsRetriedIfStaleResponsesAreNotWanted() async throws {
    let world = World([.ok("old", headers: Self.tagged), .dropped, .status(304)], policy: RetryPolicy())
    _ = try await world.get()
    #expect(try await world.get() == ("old", .revalidated))
  }

  @Test func aStaleResponseTellsWhyTheServerCouldNotBeAsked() async throws {
    let world = World(
      [.ok("old", headers: Self.tagged), .status(304), .status(503), .ok("new", headers: Self.fresh)], stale: true)
    for status in [nil, nil, 503, nil] {
      #expect(try await world.client.loadResponse(Text()).revalidationError?.statusCode == status)
    }
    // The last one is fresh, and served without a request.
    let response = try await world.client.networkResponse(for: try Self.request())
    #expect(response.source == .cache && response.revalidationError == nil)
  }

  @Test func aStaleResponseOfOneUserIsNotServedAfterAnotherSignIn() async throws {
    let authentication = try Self.authentication("ann")
    let script = NetworkScript { _, number in
      if number == 1 { authentication.credential = BearerToken("bob") }
      return number == 0 ? .ok("ann's", headers: Self.tagged) : .dropped
    }
    let world = World(script, stale: true, attempt: [authentication])
    #expect(try await world.get().text == "ann's")
    await #expect(throws: NetworkError.self) { try await world.get() }
  }

  @Test func withNothingStoredACallIsRetried() async throws {
    let world = World([.dropped, .dropped, .ok("new", headers: Self.tagged)], stale: true, policy: RetryPolicy())
    #expect(try await world.get() == ("new", .network))
  }
}
