import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Several responses to one URL, of which header fields of the request select one (RFC 9111 §4.1).
extension ResponseCacheTests {
  static let varying = ["Cache-Control": "max-age=60", "Vary": "Accept"]

  @Test func storesSeveralVariants() async throws {
    let script = NetworkScript { request, _ in
      .ok(request.value(forHTTPHeaderField: "Accept") ?? "none", headers: Self.varying)
    }
    let folder = try Folder()
    defer { withExtendedLifetime(folder) {} }
    for cache in [ResponseCache(on: script), try ResponseCache(in: folder.url, on: script)] {
      let cached = CachedClient(script, cache: cache)
      let before = script.requests.count
      for source in [NetworkResponseSource.network, .cache, .cache] {
        for type in ["a", "b", "c"] { #expect(try await cached.get(["Accept": type]) == (type, source)) }
        #expect(try await cached.get() == ("none", source))
      }
      #expect(script.requests.count == before + 4)
    }
  }

  @Test func revalidatesEachVariantWithItsOwnTag() async throws {
    let script = NetworkScript { request, number in
      let type = request.value(forHTTPHeaderField: "Accept") ?? ""
      return number < 2 ? .ok(type, headers: ["ETag": "\"\(type)\"", "Vary": "Accept"]) : .status(304)
    }
    let cached = CachedClient(script)
    for source in [NetworkResponseSource.network, .revalidated] {
      for type in ["a", "b"] { #expect(try await cached.get(["Accept": type]) == (type, source)) }
    }
    #expect(script.values(of: "If-None-Match") == [nil, nil, "\"a\"", "\"b\""])
  }

  @Test func aVariantThatIsNoLongerCacheableLeavesTheOthers() async throws {
    let cached = CachedClient([
      .ok("a", headers: Self.varying), .ok("b", headers: Self.varying),
      .ok("b2", headers: ["Cache-Control": "no-store"]), .ok("b3"),
    ])
    for type in ["a", "b"] { _ = try await cached.get(["Accept": type]) }
    #expect(try await cached.get(["Accept": "b", "Cache-Control": "no-cache"]).text == "b2")
    #expect(try await cached.get(["Accept": "a"]) == ("a", .cache))
    #expect(try await cached.get(["Accept": "b"]) == ("b3", .network))
  }

  /// The server distinguishes more than before, or less.
  @Test(arguments: ["X-A", "Accept, X-A", ""]) func latestVaryAppliesToLaterRequests(_ vary: String) async throws {
    let other = ["Cache-Control": "max-age=60", "Vary": vary]
    let cached = CachedClient([.ok("one", headers: Self.varying), .ok("two", headers: other), .ok("three")])
    _ = try await cached.get(["Accept": "a", "X-A": "1"])
    #expect(try await cached.get(["Accept": "b", "X-A": "1"]).text == "two")
    #expect(try await cached.get(["Accept": "b", "X-A": "1"]) == ("two", .cache))
    let isSame = vary.isEmpty
    #expect(try await cached.get(["Accept": "b", "X-A": "2"]).text == (isSame ? "two" : "three"))
  }

  /// The second response suited the same request as the first one, and is more recent (RFC 9111 §4.1).
  @Test(arguments: ["", "X-A", "Accept, X-A"])
  func anEarlierVariantIsNotServedAfterANewerResponse(_ between: String) async throws {
    let reload = ["Cache-Control": "no-cache"]
    var fields = Self.varying
    fields["Vary"] = between.isEmpty ? nil : between
    let cached = CachedClient([
      .ok("oldest", headers: Self.varying), .ok("newer", headers: fields), .ok("other", headers: Self.varying),
      .ok("newest", headers: Self.varying),
    ])
    _ = try await cached.get(["Accept": "b"])
    #expect(try await cached.get(reload.merging(["Accept": "b"]) { $1 }).text == "newer")
    #expect(try await cached.get(reload.merging(["Accept": "a"]) { $1 }).text == "other")
    #expect(try await cached.get(["Accept": "b"]) == ("newest", .network))
    #expect(try await cached.get(["Accept": "a"]) == ("other", .cache))
  }

  @Test func unsafeRequestRemovesAllVariants() async throws {
    let cached = CachedClient([
      .ok("a", headers: Self.varying), .ok("b", headers: Self.varying), .status(201), .ok("new", headers: Self.varying),
    ])
    for type in ["a", "b"] { _ = try await cached.get(["Accept": type]) }
    _ = try await cached.get(method: "POST")
    for type in ["a", "b"] { #expect(try await cached.get(["Accept": type]) == ("new", .network)) }
  }

  /// White space around a comma means nothing in a list (RFC 9110 §5.6.1), but something in a quoted string.
  @Test func comparesListsWithoutTheWhiteSpaceAroundCommas() async throws {
    let script = NetworkScript { .ok("\($1)", headers: Self.varying) }
    let cached = CachedClient(script)
    #expect(try await cached.get(["Accept": "a/b;q=0.1, c/d"]) == ("0", .network))
    for same in ["a/b;q=0.1,c/d", " a/b;q=0.1\t ,  c/d "] {
      #expect(try await cached.get(["Accept": same]) == ("0", .cache), "\(same)")
    }
    let others = ["a/b;q=0.1, C/d", "a/b; q=0.1, c/d", "c/d, a/b;q=0.1", "a;b=\"1, 2\"", "a;b=\"1,2\""]
    for (index, other) in others.enumerated() {
      #expect(try await cached.get(["Accept": other]) == ("\(index + 1)", .network), "\(other)")
    }
  }
}
