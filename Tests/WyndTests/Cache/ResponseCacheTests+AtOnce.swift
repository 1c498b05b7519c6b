import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A response that arrives late does not replace what the cache has learned meanwhile.
extension ResponseCacheTests {
  /// Both kinds of cache, on a script whose first response is held back until the work is done.
  private static func withSlowGET(
    _ steps: [Step], _ work: @escaping @Sendable (NetworkClient, ResponseCache) async throws -> Void,
    then check: (NetworkClient) async throws -> Void
  ) async throws {
    let folder = try Folder()
    defer { withExtendedLifetime(folder) {} }
    for isOnDisk in [false, true] {
      let (started, response) = (Gate(), Gate())
      let script = NetworkScript { _, index in
        if index > 0 { return steps[min(index, steps.count) - 1] }
        started.open()
        await response.wait()
        return .ok("old", headers: fresh)
      }
      let cache = isOnDisk ? try ResponseCache(in: folder.url, on: script) : ResponseCache(on: script)
      let client = client(cache)
      async let slow = client.performNetworkRequest(try request())
      await started.wait()
      try await work(client, cache)
      response.open()
      #expect(try await slow.text == "old")
      try await check(client)
    }
  }

  private static func get(
    returns text: String, _ source: NetworkResponseSource, from client: NetworkClient, _ fields: [String: String] = [:]
  ) async throws {
    let response = try await client.networkResponse(for: try request(fields))
    #expect(response.data.text == text && response.source == source)
  }

  /// The list that is loading while the user saves a change.
  @Test(arguments: ["PUT", "POST", "DELETE"]) func aChangeDuringAGETMakesItsResponseOld(_ method: String) async throws {
    try await Self.withSlowGET([.status(204), .ok("new", headers: Self.fresh)]) { client, _ in
      _ = try await client.networkResponse(for: try Self.request(method: method))
    } then: { client in
      try await Self.get(returns: "new", .network, from: client)
      try await Self.get(returns: "new", .cache, from: client)
    }
  }

  /// A change of another URL says nothing about this one.
  @Test func aChangeOfAnotherURLKeepsTheResponse() async throws {
    try await Self.withSlowGET([.status(204)]) { client, _ in
      _ = try await client.networkResponse(for: try Self.request(path: "/other", method: "PUT"))
    } then: { client in
      try await Self.get(returns: "old", .cache, from: client)
    }
  }

  /// The cache remembers a thousand of them, and does not grow without limit.
  @Test func moreChangesThanTheCacheRemembersMakeTheResponseOld() async throws {
    try await Self.withSlowGET([.status(204)]) { client, _ in
      for number in 0...1000 {
        _ = try await client.networkResponse(for: try Self.request(path: "/\(number)", method: "PUT"))
      }
    } then: { client in
      try await Self.get(returns: "", .network, from: client)
    }
  }

  /// The user pulls to refresh while the list is loading.
  @Test func anOlderResponseDoesNotReplaceANewerOne() async throws {
    try await Self.withSlowGET([.ok("new", headers: Self.fresh)]) { client, _ in
      var reload = try Self.request()
      reload.cachePolicy = .reloadIgnoringLocalCacheData
      _ = try await client.networkResponse(for: reload)
    } then: { client in
      try await Self.get(returns: "new", .cache, from: client)
    }
  }

  /// Nothing of a user is stored who signs out while a response is on its way.
  @Test func nothingIsStoredAfterTheRemovalOfEverything() async throws {
    try await Self.withSlowGET([.ok("new")]) { _, cache in
      await cache.removeAll()
    } then: { client in
      try await Self.get(returns: "new", .network, from: client)
    }
  }

  /// The languages of a document, requested in one order and received in another.
  @Test func responsesOfOtherVariantsAreKept() async throws {
    let varying = Self.fresh.merging(["Vary": "X-Language"]) { $1 }
    try await Self.withSlowGET([.ok("de", headers: varying), .ok("en", headers: varying)]) { client, _ in
      try await Self.get(returns: "de", .network, from: client, ["X-Language": "de"])
    } then: { client in
      // The slow response, without Vary, is older than what the cache knows of the URL.
      try await Self.get(returns: "de", .cache, from: client, ["X-Language": "de"])
      try await Self.get(returns: "en", .network, from: client, ["X-Language": "en"])
      try await Self.get(returns: "de", .cache, from: client, ["X-Language": "de"])
    }
  }
}
