import Foundation
import Testing
import Wynd
import WyndLoopbackServer

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

  // MARK: Twice

  struct Text: Endpoint {
    typealias Response = String
    var host: String { "a.example" }
    var path: String { "/" }
  }

  @Test func whatIsStoredComesFirstAndThenWhatTheServerSays() async throws {
    let world = World([.ok("one", headers: Self.tagged), .ok("two", headers: Self.tagged), .status(304), .dropped])
    func values() async -> ([String], Bool) {
      var got: [String] = []
      do {
        for try await value in world.client.values(of: Text()) { got.append("\(value.value) \(value.source)") }
        return (got, true)
      } catch {
        return (got, false)
      }
    }
    #expect(await values() == (["one network"], true))
    #expect(await values() == (["one cache", "two network"], true))
    #expect(await values() == (["two cache", "two revalidated"], true))
    #expect(await values() == (["two cache"], false))
    #expect(world.script.requests.count == 4)
  }

  @Test func whatIsFreshComesOnce() async throws {
    let world = World([.ok("one", headers: ["Cache-Control": "max-age=60"])])
    for expected in [NetworkResponse.Source.network, .cache] {
      var sources: [NetworkResponse.Source] = []
      for try await value in world.client.values(of: Text()) { sources.append(value.source) }
      #expect(sources == [expected])
    }
    #expect(world.script.requests.count == 1)
  }

  @Test func onARealSessionThe304IsSeen() async throws {
    let server = try LoopbackServer { request in
      request.value("If-None-Match") == "\"1\""
        ? .status(304, [("ETag", "\"1\"")]) : .status(200, [("ETag", "\"1\"")], body: "one")
    }
    let client = NetworkClient(
      baseURL: server.url(), session: URLSession(configuration: .default), policy: .never,
      middleware: [ResponseCache(MemoryStore())])
    for expected in [NetworkResponse.Source.network, .revalidated, .revalidated] {
      let response = try await client.networkResponse(for: URLRequest(url: server.url()))
      #expect(response.source == expected && response.data == Data("one".utf8))
    }
    #expect(server.requests.count == 3)
  }
}
