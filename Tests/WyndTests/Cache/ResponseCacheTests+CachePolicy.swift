import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The cache policy of a request, as Foundation documents it.
extension ResponseCacheTests {
  /// Cache policy, stored header fields, served text (nil: an error) and number of requests, as Foundation documents them.
  static let policies: [(policy: URLRequest.CachePolicy, stored: [String: String]?, text: String?, sends: Int)] = [
    (.useProtocolCachePolicy, fresh, "old", 0), (.useProtocolCachePolicy, tagged, "new", 1),
    (.reloadIgnoringLocalCacheData, fresh, "new", 1),
    (.returnCacheDataElseLoad, tagged, "old", 0), (.returnCacheDataElseLoad, nil, "new", 1),
    (.returnCacheDataDontLoad, tagged, "old", 0),
    (.returnCacheDataDontLoad, nil, nil, 0), (.reloadRevalidatingCacheData, fresh, "new", 1),
  ]
  @Test(arguments: policies) func followsTheCachePolicyOfTheRequest(
    _ policy: URLRequest.CachePolicy, _ stored: [String: String]?, _ text: String?, _ sends: Int
  ) async throws {
    let cached = CachedClient(
      stored.map { [.ok("old", headers: $0), .ok("new", headers: $0)] } ?? [.ok("new", headers: Self.fresh)])
    if stored != nil { _ = try await cached.get() }
    let before = cached.script.requests.count
    var request = try Self.request()
    request.cachePolicy = policy
    #expect((try? await cached.response(request))?.text == text)
    #expect(cached.script.requests.count - before == sends)
    let isConditional = cached.script.requests.last?.value(forHTTPHeaderField: "If-None-Match") != nil
    #expect(!isConditional || policy != .reloadIgnoringLocalCacheData)
  }

  /// Cache policy and Cache-Control of a request → Cache-Control that the server receives.
  static let directives: [(policy: URLRequest.CachePolicy, own: String?, sent: String?)] = [
    (.reloadRevalidatingCacheData, nil, "max-age=0"), (.reloadIgnoringLocalAndRemoteCacheData, nil, "no-cache"),
    (.reloadIgnoringLocalAndRemoteCacheData, "max-age=5", "max-age=5"),
  ]
  /// A cache between the client and the server could respond in its place.
  @Test(arguments: directives, [tagged, [:]])
  func addsCacheControlForReloadPolicies(
    _ row: (policy: URLRequest.CachePolicy, own: String?, sent: String?), _ stored: [String: String]
  ) async throws {
    let (policy, own, sent) = row
    // Without a validator, nothing is stored.
    let cached = CachedClient([.ok("one", headers: stored), .ok("two", headers: stored)])
    if policy != .returnCacheDataElseLoad { _ = try await cached.get() }
    var request = try Self.request()
    request.cachePolicy = policy
    request.setValue(own, forHTTPHeaderField: "Cache-Control")
    _ = try await cached.response(request)
    #expect(cached.script.requests.last?.value(forHTTPHeaderField: "Cache-Control") == sent)
  }

  @Test(arguments: ["GET", "POST"]) func returnCacheDataDontLoadSendsNothing(_ method: String) async throws {
    let cached = CachedClient([.ok("sent")])
    var request = try Self.request(method: method)
    request.cachePolicy = .returnCacheDataDontLoad
    let error = await #expect(throws: NetworkError.self) { try await cached.response(request) }
    #expect(error?.urlError?.code == .resourceUnavailable)
    #expect(cached.script.requests.isEmpty)
  }

  @Test func bypassesTheURLCacheOfTheSession() async throws {
    let cached = CachedClient([.ok("one", headers: Self.tagged), .status(304)])
    for _ in 0..<2 { _ = try await cached.get() }
    #expect(cached.script.requests.allSatisfy { $0.cachePolicy == .reloadIgnoringLocalCacheData })
  }
  /// A directive beyond the limit might forbid storing.
  @Test func doesNotStoreUnusuallyLongCacheHeaders() async throws {
    let many = (0..<64).map { "x\($0)" }.joined(separator: ",")
    for fields in [
      ["Cache-Control": "max-age=60,\(many),no-store"], ["Cache-Control": "max-age=60", "Vary": "\(many),*"],
    ] {
      let cached = CachedClient([.ok("one", headers: fields), .ok("two")])
      _ = try await cached.get()
      #expect(try await cached.get().text == "two")
    }
  }
}
