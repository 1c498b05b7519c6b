import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A response that one user's credential received is not served to another user.
extension ResponseCacheTests {
  /// Responds with the credential of the request.
  static func echo(_ fields: [String: String] = fresh) -> NetworkScript {
    NetworkScript { request, _ in .ok(request.value(forHTTPHeaderField: "Authorization") ?? "nobody", headers: fields) }
  }

  @Test(arguments: [
    "Authorization", "Cookie", "X-Api-Key", "X-Session", "Proxy-Authorization", "X-Auth", "Private-Token",
  ])
  func storesAResponseForEachCredential(_ field: String) async throws {
    let script = NetworkScript { request, _ in
      .ok(request.value(forHTTPHeaderField: field) ?? "nobody", headers: Self.fresh)
    }
    let cached = CachedClient(script)
    for source in [NetworkResponseSource.network, .cache] {
      for user in ["ann", "bob"] { #expect(try await cached.get([field: user]) == (user, source)) }
      #expect(try await cached.get() == ("nobody", source))
    }
    // However the name is written.
    #expect(try await cached.get([field.lowercased(): "ann"]) == ("ann", .cache))
  }

  @Test func sharesResponsesAcrossOtherHeaders() async throws {
    let cached = CachedClient([.ok("one", headers: Self.fresh), .ok("two")])
    _ = try await cached.get(["X-Page": "1"])
    for field in ["X-Page", "X-CSRF-Token", "X-XSRF-Token", "Idempotency-Key"] {
      #expect(try await cached.get([field: "2"]).source == .cache, "\(field)")
    }
  }

  @Test func authenticationDoesNotSeparateResponsesOfOtherOrigins() async throws {
    let authentication = try Self.authentication("ann")
    let cached = CachedClient(Self.echo(), middleware: [authentication])
    let request = URLRequest(url: try #require(URL(string: "https://b.example/")))
    #expect(try await cached.response(request) == ("nobody", .network))
    authentication.signIn(BearerToken("bob"))
    #expect(try await cached.response(request) == ("nobody", .cache))
  }

  @Test func separatesUsersByAccountInsteadOfToken() async throws {
    let authentication = try Self.authentication(nil)
    #expect(authentication.account == nil)
    let cached = CachedClient(Self.echo(), middleware: [authentication])
    authentication.signIn(BearerToken("1"), as: "ann")
    #expect(authentication.account == "ann")
    #expect(try await cached.get() == ("Bearer 1", .network))
    authentication.signIn(BearerToken("2"), as: "ann")
    #expect(try await cached.get() == ("Bearer 1", .cache))
    authentication.signIn(BearerToken("1"), as: "bob")
    #expect(try await cached.get() == ("Bearer 1", .network))
    // A sign-in without a name is another user.
    authentication.signIn(BearerToken("2"))
    #expect(authentication.account == nil)
    #expect(try await cached.get() == ("Bearer 2", .network))
  }

  @Test func renewalWithoutAnAccountKeepsTheUser() async throws {
    let cached = CachedClient(
      [.ok("one", headers: Self.fresh), .status(401), .ok("two", headers: Self.fresh), .ok("three")],
      middleware: [try Self.authentication("first")])
    #expect(try await cached.get() == ("one", .network))
    #expect(try await cached.get(after: 700) == ("two", .network))
    #expect(try await cached.get() == ("two", .cache))
  }

  /// Another user signs in between the request and the 304.
  @Test func doesNotServeA304AfterAnotherSignIn() async throws {
    let authentication = try Self.authentication("ann")
    let script = NetworkScript { request, number in
      switch number {
      case 0: return .ok("ann's", headers: Self.tagged)
      case 1:
        authentication.signIn(BearerToken("bob"))
        return .status(304, headers: ["Cache-Control": "max-age=600"])
      default: return .ok(request.value(forHTTPHeaderField: "Authorization") ?? "", headers: Self.fresh)
      }
    }
    let cached = CachedClient(script, middleware: [authentication])
    #expect(try await cached.get().text == "ann's")
    await #expect(throws: NetworkError.self) { try await cached.get() }
    #expect(try await cached.get() == ("Bearer bob", .network))
    authentication.signIn(BearerToken("ann"))
    // Nor was it stored as fresh: the request of ann reaches the server.
    #expect(try await cached.get() == ("Bearer ann", .network))
  }

  /// The names of two users have the same FNV-1a hash.
  @Test func separatesUsersWhoseNamesHaveTheSameHash() async throws {
    let folder = try Folder()
    defer { withExtendedLifetime(folder) {} }
    let script = Self.echo()
    for cache in [ResponseCache(on: script), try ResponseCache(in: folder.url, on: script)] {
      let authentication = try Self.authentication(nil)
      let cached = CachedClient(script, cache: cache, middleware: [authentication])
      for name in ["alice", "ma0hyr8iM446Iij4m"] {
        authentication.signIn(BearerToken(name), as: name)
        #expect(try await cached.get() == ("Bearer \(name)", .network))
        #expect(try await cached.get() == ("Bearer \(name)", .cache))
      }
    }
    #expect(folder.names.count == 1)
    let bytes = try Data(contentsOf: folder.file(try #require(folder.names.first)))
    #expect(bytes.range(of: Data("Bearer".utf8)) == nil || bytes.range(of: Data("Authorization".utf8)) == nil)
  }

  /// To `==`, the names are equal.
  @Test func separatesUsersWhoseNamesDifferInTheNormalForm() async throws {
    let folder = try Folder()
    defer { withExtendedLifetime(folder) {} }
    let script = Self.echo()
    for cache in [ResponseCache(on: script), try ResponseCache(in: folder.url, on: script)] {
      let authentication = try Self.authentication(nil)
      let cached = CachedClient(script, cache: cache, middleware: [authentication])
      for (index, name) in ["Ren\u{E9}", "Rene\u{301}", "\u{212B}", "\u{C5}"].enumerated() {
        authentication.signIn(BearerToken("\(index)"), as: name)
        #expect(try await cached.get() == ("Bearer \(index)", .network))
        #expect(try await cached.get() == ("Bearer \(index)", .cache))
      }
    }
  }

  /// The field Host belongs to the target of a request (RFC 9110 §7.1).
  @Test func separatesHostsOfOneURL() async throws {
    let script = NetworkScript { request, _ in
      .ok(request.value(forHTTPHeaderField: "Host") ?? "", headers: Self.fresh)
    }
    let cached = CachedClient(script)
    for source in [NetworkResponseSource.network, .cache] {
      for host in ["a.example", "b.example"] { #expect(try await cached.get(["Host": host]) == (host, source)) }
    }
    _ = try await cached.get(["Host": "a.example"], method: "PUT")
    #expect(try await cached.get(["Host": "b.example"]).source == .cache)
    #expect(try await cached.get(["Host": "a.example"]).source == .network)
  }

  /// With the field that a file would have to contain, and the name that it may contain.
  @Test func writesNoCredentialToDisk() async throws {
    let folder = try Folder()
    defer { withExtendedLifetime(folder) {} }
    let script = NetworkScript { _, _ in .ok("one", headers: Self.freshVariant.merging(["Vary": "X-Api-Key"]) { $1 }) }
    let authentication = try Self.authentication("topsecret")
    let cache = try ResponseCache(in: folder.url, on: script)
    let cached = CachedClient(script, cache: cache, middleware: [authentication])
    _ = try await cached.get(["X-Api-Key": "topsecret"])
    authentication.signIn(BearerToken("topsecret"), as: "ann")
    _ = try await cached.get(["X-Session": "topsecret"])
    #expect(try await cached.get(["X-Session": "topsecret"]).source == .cache)
    #expect(folder.names.count == 4)
    let files = try folder.names.map { try Data(contentsOf: folder.file($0)) }
    #expect(files.allSatisfy { $0.range(of: Data("topsecret".utf8)) == nil })
    #expect(files.contains { $0.range(of: Data("ann".utf8)) != nil })
  }

  // MARK: Vary

  static let variants: [(vary: String, first: [String: String], second: [String: String], isServed: Bool)] = [
    ("Accept", ["Accept": "a"], ["Accept": "a"], true), ("Accept", ["Accept": "a"], ["Accept": "b"], false),
    ("Accept", [:], ["Accept": "a"], false),
    ("Accept, X-A", ["Accept": "a", "X-A": "1"], ["Accept": "a", "X-A": "2"], false),
    ("X-A ,Accept", ["Accept": "a", "X-A": "1"], ["Accept": "b", "X-A": "1"], false),
    ("Accept", ["Accept": "a", "X-A": "1"], ["Accept": "a", "X-A": "2"], true),
    ("", ["Accept": "a"], ["Accept": "b"], true),
    ("COOKIE", [:], [:], false),
  ]
  @Test(arguments: variants) func separatesVariantsByVary(
    _ vary: String, _ first: [String: String], _ second: [String: String], _ isServed: Bool
  ) async throws {
    let cached = CachedClient([.ok("one", headers: ["Cache-Control": "max-age=60", "Vary": vary]), .ok("two")])
    _ = try await cached.get(first)
    #expect(try await cached.get(second) == (isServed ? ("one", .cache) : ("two", .network)))
  }

  @Test(arguments: ["Accept", "*"])
  func separatesVariantsByVaryOfA304(_ vary: String) async throws {
    let cached = CachedClient([
      .ok("one", headers: Self.tagged),
      .status(304, headers: ["Cache-Control": "max-age=600", "Vary": vary]), .ok("two", headers: Self.fresh),
    ])
    for _ in 0..<2 { _ = try await cached.get(["Accept": "a"]) }
    if vary == "Accept" { #expect(try await cached.get(["Accept": "a"]) == ("one", .cache)) }
    #expect(try await cached.get(["Accept": "b"]) == ("two", .network))
  }

  @Test(arguments: ["Authorization", "X-Signature"])
  func unsafeRequestRemovesResponsesOfAllUsers(_ field: String) async throws {
    let cached = CachedClient([.ok("old", headers: Self.fresh), .status(201), .ok("new")])
    _ = try await cached.get([field: "one"])
    _ = try await cached.get([field: "two"], method: "POST")
    #expect(try await cached.get([field: "one"]) == ("new", .network))
  }
}
