import Foundation
import WyndLoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension ResponseCacheTests {
  // MARK: values(of:)

  struct Greeting: Endpoint {
    typealias Response = String
    var host: String { "" }
    var path: String { "/" }
  }

  /// False if it has not become true in 20 s.
  static func becomesTrue(
    _ condition: () -> Bool, whileDoing work: () async throws -> Void = {}
  ) async throws -> Bool {
    let limit = ContinuousClock.now + .seconds(20)
    while !condition(), ContinuousClock.now < limit {
      try await work()
      try await Task.sleep(for: .milliseconds(5))
    }
    return condition()
  }

  @Test func leavingTheLoopAfterTheStoredValueSendsNothing() async throws {
    let cached = CachedClient([.ok("old", headers: ["ETag": "\"1\""]), .ok("new")])
    #expect(try await cached.client.load(Text()) == "old")
    for try await value in cached.client.values(of: Text()) {
      #expect(value.value == "old" && value.source == .cache)
      break
    }
    #expect(cached.script.requests.count == 1)
  }

  /// Both are fresh and from the cache, but another call has changed the resource meanwhile.
  @Test func valuesGiveAnotherStoredResponse() async throws {
    let fresh = ["Cache-Control": "max-age=60"]
    let cached = CachedClient([.ok("one", headers: fresh), .ok("saved"), .ok("two", headers: fresh)])
    #expect(try await cached.client.load(Text()) == "one")
    var got: [String] = []
    for try await value in cached.client.values(of: Text()) {
      got.append(value.value)
      if got.count > 1 { break }
      _ = try await cached.get(method: "PUT")
      #expect(try await cached.client.load(Text()) == "two")
    }
    #expect(got == ["one", "two"])
  }

  /// What follows a loop must not take a cancellation for its end.
  @Test(arguments: [true, false]) func canceledValuesThrow(_ isStored: Bool) async throws {
    let server = try LoopbackServer { isStored && $0.index == 0 ? .ok(Array("old".utf8), [("ETag", "\"1\"")]) : .hang }
    let client = NetworkClient(baseURL: server.url(), on: ResponseCache(), policy: .never)
    if isStored { #expect(try await client.load(Greeting()) == "old") }
    for isEarly in [true, false] {
      // The server counts a request until it has sent the whole response, which the client may have read before.
      #expect(try await Self.becomesTrue { server.openRequests == 0 })
      let task = Task {
        if isEarly { withUnsafeCurrentTask { $0?.cancel() } }
        var values: [String] = []
        do {
          for try await value in client.values(of: Greeting()) { values.append(value.value) }
          Issue.record("it ended without an error")
        } catch { #expect((error as? NetworkError)?.isCancellation == true, "\(error)") }
        return values
      }
      if !isEarly { #expect(try await Self.becomesTrue { server.openRequests == 1 }) }
      task.cancel()
      #expect(await task.value == (isStored && !isEarly ? ["old"] : []))
      #expect(try await Self.becomesTrue { server.openRequests == 0 })
    }
  }

  @Test func valuesUseTheirOwnPolicy() async throws {
    let script = NetworkScript([.dropped])
    let client = NetworkClient(
      baseURL: URL(string: "https://a.example"), on: ResponseCache(on: script),
      policy: RetryPolicy(maxRetries: 3))
    await #expect(throws: NetworkError.self) {
      for try await _ in client.values(of: Greeting(), policy: RetryPolicy(maxRetries: 1)) {}
    }
    #expect(script.requests.count == 2)
  }

  struct Text: Endpoint {
    typealias Response = String
    var host: String { "a.example" }
    var path: String { "/" }
  }

  @Test func valuesGiveTheStoredValueThenThatOfTheServer() async throws {
    let cached = CachedClient([
      .ok("one", headers: Self.tagged), .ok("two", headers: Self.tagged), .status(304), .dropped,
    ])
    func values() async -> ([String], Bool) {
      var got: [String] = []
      do {
        for try await value in cached.client.values(of: Text()) { got.append("\(value.value) \(value.source)") }
        return (got, true)
      } catch {
        return (got, false)
      }
    }
    #expect(await values() == (["one network"], true))
    #expect(await values() == (["one cache", "two network"], true))
    #expect(await values() == (["two cache", "two revalidated"], true))
    #expect(await values() == (["two cache"], false))
    #expect(cached.script.requests.count == 4)
  }

  @Test func valuesGiveAFreshValueOnce() async throws {
    let cached = CachedClient([.ok("one", headers: ["Cache-Control": "max-age=60"])])
    for expected in [NetworkResponseSource.network, .cache] {
      var sources: [NetworkResponseSource] = []
      for try await value in cached.client.values(of: Text()) { sources.append(value.source) }
      #expect(sources == [expected])
    }
    #expect(cached.script.requests.count == 1)
  }

  /// An endpoint that must not load gets what is stored, and no request is sent.
  @Test func valuesOfAnEndpointThatMustNotLoadAreTheStoredOne() async throws {
    struct Stored: Endpoint {
      typealias Response = String
      var host: String { "a.example" }
      var path: String { "/" }
      func prepare(request: inout URLRequest) { request.cachePolicy = .returnCacheDataDontLoad }
    }
    let cached = CachedClient([.ok("one", headers: Self.tagged), .ok("two", headers: Self.tagged)])
    _ = try await cached.get()
    var got: [String] = []
    for try await value in cached.client.values(of: Stored()) { got.append("\(value.value) \(value.source)") }
    #expect(got == ["one cache"] && cached.script.requests.count == 1)
  }

  @Test func valuesThrowAfterTheStoredValueWhenTheServerIsUnreachable() async throws {
    let cached = CachedClient([.ok("old", headers: Self.tagged), .dropped], stale: true)
    _ = try await cached.get()
    var got: [String] = []
    await #expect(throws: NetworkError.self) {
      for try await value in cached.client.values(of: Text()) { got.append(value.value) }
    }
    #expect(got == ["old"])
  }
}
