import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension ResponseCacheTests {
  // MARK: Whoever does not wait for the server

  struct Greeting: Endpoint {
    typealias Response = String
    var host: String { "" }
    var path: String { "/" }
  }

  /// False if it has not become true in 20 s.
  static func becomesTrue(_ condition: () -> Bool) async throws -> Bool {
    let limit = ContinuousClock.now + .seconds(20)
    while !condition(), ContinuousClock.now < limit { try await Task.sleep(for: .milliseconds(5)) }
    return condition()
  }

  @Test func leavingTheLoopEndsTheRequest() async throws {
    let server = try LoopbackServer { $0.index == 0 ? .ok(Array("old".utf8), [("ETag", "\"1\"")]) : .hang }
    let client = NetworkClient(baseURL: server.url(), policy: .never, middleware: [ResponseCache(MemoryStore())])
    #expect(try await client.load(Greeting()) == "old")
    for try await value in client.values(of: Greeting()) {
      #expect(value.value == "old" && value.source == .cache)
      #expect(try await Self.becomesTrue { server.openRequests == 1 })
      break
    }
    #expect(try await Self.becomesTrue { server.openRequests == 0 })
  }

  @Test func valuesUseTheirOwnPolicy() async throws {
    let script = NetworkScript.scripted([.dropped])
    let client = NetworkClient(
      baseURL: URL(string: "https://a.example"), policy: RetryPolicy(maxRetries: 3),
      middleware: [ResponseCache(MemoryStore())],
      script: script)
    await #expect(throws: NetworkError.self) {
      for try await _ in client.values(of: Greeting(), policy: RetryPolicy(maxRetries: 1)) {}
    }
    #expect(script.requests.count == 2)
  }

  @Test func requestWithNoCacheAsksTheServer() async throws {
    let world = World([.ok("one", headers: Self.fresh), .ok("two", headers: Self.fresh)])
    _ = try await world.get()
    #expect(try await world.get(["Cache-Control": "no-cache"]) == ("two", .network))
    #expect(world.script.requests.last?.value(forHTTPHeaderField: "If-None-Match") == "\"1\"")
    // What came is served from then on.
    #expect(try await world.get() == ("two", .cache))
  }
}
