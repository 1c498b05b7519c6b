import Foundation
import Testing
@testable import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A response that arrives late does not replace what the cache has learned meanwhile.
extension ResponseCacheTests {
  static let freshVariant = fresh.merging(["Vary": "X-Language"]) { $1 }

  /// Once with a cache in memory, and once with one on disk. `held` is the response that is held back, `earlier` are those
  /// to the requests before it, and `later` those to the ones after it.
  private static func withSlowGET(
    _ held: Step = .ok("old", headers: fresh), after earlier: [Step] = [], then later: [Step] = [], stale: Bool = false,
    _ work: (SlowGET) async throws -> Void
  ) async throws {
    let folder = try Folder()
    defer { withExtendedLifetime(folder) {} }
    for isOnDisk in [false, true] {
      let (started, response) = (Gate(), Gate())
      let script = NetworkScript { _, index in
        if index < earlier.count { return earlier[index] }
        if index > earlier.count { return later[min(index - earlier.count, later.count) - 1] }
        started.open()
        await response.wait()
        return held
      }
      let cache =
        isOnDisk
        ? try ResponseCache(in: folder.url, servesStaleIfError: stale, on: script)
        : ResponseCache(servesStaleIfError: stale, on: script)
      let client = client(cache)
      try await work(SlowGET(client: client, cache: cache, started: started, response: response))
    }
  }

  private struct SlowGET {
    let client: NetworkClient
    let cache: ResponseCache
    let started, response: Gate

    /// Does some work while the GET is under way.
    func during(
      _ fields: [String: String] = [:], gets text: String = "old", _ work: () async throws -> Void
    ) async throws {
      let request = try ResponseCacheTests.request(fields)
      async let slow = client.networkResponse(for: request, acceptsAnyStatus: true)
      await started.wait()
      try await work()
      response.open()
      #expect(try await slow.data.text == text)
    }

    func get(_ fields: [String: String] = [:], returns text: String, _ source: NetworkResponseSource) async throws {
      let response = try await client.networkResponse(
        for: try ResponseCacheTests.request(fields), acceptsAnyStatus: true)
      #expect(response.data.text == text && response.source == source)
    }

    func reload(_ fields: [String: String] = [:]) async throws {
      var request = try ResponseCacheTests.request(fields)
      request.cachePolicy = .reloadIgnoringLocalCacheData
      _ = try await client.networkResponse(for: request, acceptsAnyStatus: true)
    }

    func change(path: String = "/", method: String = "PUT") async throws {
      _ = try await client.networkResponse(for: try ResponseCacheTests.request(path: path, method: method))
    }
  }

  /// The list that is loading while the user saves a change.
  @Test(arguments: ["PUT", "POST", "DELETE"], [fresh, freshVariant])
  func aChangeDuringAGETMakesItsResponseOld(_ method: String, _ fields: [String: String]) async throws {
    try await Self.withSlowGET(.ok("old", headers: fields), then: [.status(204), .ok("new", headers: fields)]) { slow in
      try await slow.during { try await slow.change(method: method) }
      try await slow.get(returns: "new", .network)
      try await slow.get(returns: "new", .cache)
    }
  }

  /// The change has also removed an index of variants, and a later GET has made another one.
  @Test func aVariantThatWasRequestedBeforeAChangeIsNotStored() async throws {
    try await Self.withSlowGET(
      .ok("old", headers: Self.freshVariant), then: [.status(204), .ok("new", headers: Self.freshVariant)]
    ) { slow in
      try await slow.during {
        try await slow.change()
        try await slow.get(returns: "new", .network)
      }
      try await slow.get(returns: "new", .cache)
    }
  }

  /// A change of another URL says nothing about this one.
  @Test func aChangeOfAnotherURLKeepsTheResponse() async throws {
    try await Self.withSlowGET(then: [.status(204)]) { slow in
      try await slow.during { try await slow.change(path: "/other") }
      try await slow.get(returns: "old", .cache)
    }
  }

  /// The server has withdrawn the resource, or no longer allows it to be stored.
  @Test(arguments: [
    Step.status(401), .status(403), .status(410), .status(404), .ok("", headers: ["Cache-Control": "no-store"]),
    .ok("", headers: ["Vary": "*"]),
  ])
  func anOlderResponseIsNotStoredAfterARefusal(_ refusal: Step) async throws {
    try await Self.withSlowGET(then: [refusal, .ok("new")]) { slow in
      try await slow.during { try await slow.reload() }
      try await slow.get(returns: "new", .network)
    }
  }

  /// Nothing of a user is stored who signs out while a response is on its way.
  @Test func nothingIsStoredAfterTheRemovalOfEverything() async throws {
    try await Self.withSlowGET(then: [.ok("new")]) { slow in
      try await slow.during { await slow.cache.removeAll() }
      try await slow.get(returns: "new", .network)
    }
  }

  /// What a user has removed does not come back in an outage.
  @Test func aResponseThatWasRemovedIsNotServedInPlaceOfAnError() async throws {
    let earlier = [Step.ok("old", headers: ["Cache-Control": "max-age=0"])]
    for isRemoved in [true, false] {
      try await Self.withSlowGET(.status(503), after: earlier, stale: true) { slow in
        try await slow.get(returns: "old", .network)
        try await slow.during(gets: isRemoved ? "" : "old") { if isRemoved { await slow.cache.removeAll() } }
      }
    }
  }

  /// Another variant is not older, although it was requested before.
  @Test func responsesOfOtherVariantsAreStored() async throws {
    try await Self.withSlowGET(.ok("old", headers: Self.freshVariant), then: [.ok("de", headers: Self.freshVariant)]) {
      slow in
      try await slow.during { try await slow.get(["X-Language": "de"], returns: "de", .network) }
      try await slow.get(returns: "old", .cache)
      try await slow.get(["X-Language": "de"], returns: "de", .cache)
    }
  }

  /// A call that waits to retry receives a newer response than one that starts meanwhile.
  @Test func theResponseToARetryIsNewerThanOneThatWasRequestedBefore() async throws {
    let (waiting, isStored) = (Gate(), DispatchSemaphore(value: 0))
    let script = NetworkScript([.status(503), .ok("older", headers: Self.fresh), .ok("newer", headers: Self.fresh)])
    let client = Self.client(ResponseCache(on: script))
    let policy = RetryPolicy(shouldRetry: { _ in
      waiting.open()
      isStored.wait()
      return true
    })
    async let retried = client.performNetworkRequest(try Self.request(), policy: policy.replacing(maxRetries: 1))
    await waiting.wait()
    #expect(try await client.performNetworkRequest(try Self.request()).text == "older")
    isStored.signal()
    #expect(try await retried.text == "newer")
    #expect(try await client.performNetworkRequest(try Self.request()).text == "newer")
    #expect(script.requests.count == 3)
  }

  /// The order of the fields differs from process to process.
  @Test func theOrderOfTheFieldsOfASessionDoesNotMatter() throws {
    let names = (0..<8).map { "X-\($0)" }
    let scopes = try [1, 1000].map { capacity in
      var fields = [String: String](minimumCapacity: capacity)
      for name in names { fields[name] = "a" }
      let session = URLSession.ephemeral { $0.httpAdditionalHeaders = fields }
      let cache = ResponseCache(on: session)
      return ResponseKey(NetworkCallPlan(try Self.request()), fieldsOfSession: cache.fieldsOfSession).scope
    }
    #expect(scopes[0] == scopes[1])
  }

  /// A screen with many images.
  @Test func manyResponsesAtOnceAreStored() async throws {
    let script = NetworkScript { request, _ in .ok(request.url?.path ?? "", headers: Self.freshVariant) }
    let client = Self.client(ResponseCache(on: script))
    for _ in 0..<2 {
      await withThrowingTaskGroup { group in
        for number in 0..<1500 {
          group.addTask { try await client.performNetworkRequest(try Self.request(path: "/\(number)")) }
        }
      }
    }
    #expect(script.requests.count == 1500)
  }

  /// What is kept of calls is forgotten when they have ended.
  @Test func nothingIsKeptOfCallsThatHaveEnded() async throws {
    let store = ResponseStore(capacity: 1000)
    let request = try Self.request()
    let calls = [await store.start("a", request).call, await store.start("a", request).call]
    store.end(calls[0])
    #expect(await store.isCurrent(calls[1]))
    await store.removeAll(for: "b")
    #expect(await store.isCurrent(calls[1]))
    await store.removeAll(for: "a")
    #expect(await !store.isCurrent(calls[1]))
    store.end(await store.start("a", request).call)
    #expect(store.state.withLock { $0.targets.isEmpty })
  }
}
