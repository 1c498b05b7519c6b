import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The cache policy of a request, as Foundation documents it.
extension ResponseCacheTests {
  /// As Foundation documents it: the policy, what is stored, and what comes of it; nil is an error without a request.
  static let policies: [(policy: URLRequest.CachePolicy, stored: [String: String]?, text: String?, sends: Int)] = [
    (.useProtocolCachePolicy, fresh, "old", 0), (.useProtocolCachePolicy, tagged, "new", 1),
    (.useProtocolCachePolicy, nil, "new", 1), (.reloadIgnoringLocalCacheData, fresh, "new", 1),
    (.reloadIgnoringLocalAndRemoteCacheData, fresh, "new", 1), (.returnCacheDataElseLoad, fresh, "old", 0),
    (.returnCacheDataElseLoad, tagged, "old", 0), (.returnCacheDataElseLoad, nil, "new", 1),
    (.returnCacheDataDontLoad, fresh, "old", 0), (.returnCacheDataDontLoad, tagged, "old", 0),
    (.returnCacheDataDontLoad, nil, nil, 0), (.reloadRevalidatingCacheData, fresh, "new", 1),
    (.reloadRevalidatingCacheData, nil, "new", 1),
  ]
  @Test(arguments: policies.indices)
  func theCachePolicyOfARequestIsRespected(_ row: Int) async throws {
    let (policy, stored, text, sends) = Self.policies[row]
    let world = World(
      stored.map { [.ok("old", headers: $0), .ok("new", headers: $0)] } ?? [.ok("new", headers: Self.fresh)])
    if stored != nil { _ = try await world.get() }
    let before = world.script.requests.count
    var request = try Self.request()
    request.cachePolicy = policy
    #expect((try? await world.response(request))?.text == text)
    #expect(world.script.requests.count - before == sends)
  }

  @Test(arguments: ["GET", "POST"]) func aRequestThatMayNotLoadFailsAsInFoundation(_ method: String) async throws {
    let world = World([.ok("sent")])
    var request = try Self.request(method: method)
    request.cachePolicy = .returnCacheDataDontLoad
    let error = await #expect(throws: NetworkError.self) { try await world.response(request) }
    #expect(error?.urlError?.code == .resourceUnavailable)
    #expect(world.script.requests.isEmpty)
  }

  @Test func theCacheOfTheSessionDoesNotAnswerForTheServer() async throws {
    let world = World([.ok("one", headers: Self.tagged), .status(304)])
    for _ in 0..<2 { _ = try await world.get() }
    #expect(world.script.requests.allSatisfy { $0.cachePolicy == .reloadIgnoringLocalCacheData })
  }

  @Test(arguments: [URLRequest.CachePolicy.reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData])
  func aReloadIgnoresWhatIsStored(_ policy: URLRequest.CachePolicy) async throws {
    let world = World([.ok("one", headers: Self.fresh), .ok("two", headers: Self.fresh)])
    _ = try await world.get()
    var request = try Self.request()
    request.cachePolicy = policy
    #expect(try await world.response(request) == ("two", .network))
    #expect(world.script.requests.last?.value(forHTTPHeaderField: "If-None-Match") == nil)
    #expect(try await world.get() == ("two", .cache))
  }

  @Test func whoReloadsAsksTheServer() async throws {
    let world = World([
      .ok("one", headers: ["Cache-Control": "max-age=60"]), .ok("two", headers: ["Cache-Control": "max-age=60"]),
    ])
    _ = try await world.get()
    var request = URLRequest(url: try #require(URL(string: "https://a.example/")))
    request.cachePolicy = .reloadIgnoringLocalAndRemoteCacheData
    #expect(try await world.client.performNetworkRequest(request) == Data("two".utf8))
    #expect(try await world.get().source == .cache)
  }
  /// What comes after the last that is read might forbid what the first allows.
  @Test func fieldsOfUnusualLengthAreNotStored() async throws {
    let many = (0..<64).map { "x\($0)" }.joined(separator: ",")
    for fields in [
      ["Cache-Control": "max-age=60,\(many),no-store"], ["Cache-Control": "max-age=60", "Vary": "\(many),*"],
    ] {
      let world = World([.ok("one", headers: fields), .ok("two")])
      _ = try await world.get()
      #expect(try await world.get().text == "two")
    }
  }
}
