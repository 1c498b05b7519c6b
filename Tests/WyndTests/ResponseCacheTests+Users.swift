import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// No user is served what another user's credential got.
extension ResponseCacheTests {
  /// Answers with whatever credential a request carries.
  static func echo(_ fields: [String: String] = fresh) -> NetworkScript {
    NetworkScript { request, _ in .ok(request.value(forHTTPHeaderField: "Authorization") ?? "nobody", headers: fields) }
  }

  @Test(arguments: [
    "Authorization", "Cookie", "X-Api-Key", "X-Session", "Proxy-Authorization", "X-Auth", "Private-Token",
  ])
  func eachValueOfACredentialHasItsOwnResponse(_ field: String) async throws {
    let script = NetworkScript { request, _ in
      .ok(request.value(forHTTPHeaderField: field) ?? "nobody", headers: Self.fresh)
    }
    let world = World(script)
    for source in [NetworkResponse.Source.network, .cache] {
      for user in ["ann", "bob"] { #expect(try await world.get([field: user]) == (user, source)) }
      #expect(try await world.get() == ("nobody", source))
    }
    // However the name is written.
    #expect(try await world.get([field.lowercased(): "ann"]) == ("ann", .cache))
  }

  @Test func whatIsNoCredentialIsNoOtherUser() async throws {
    let world = World([.ok("one", headers: Self.fresh), .ok("two")])
    _ = try await world.get(["X-Page": "1"])
    for field in ["X-Page", "X-CSRF-Token", "X-XSRF-Token", "Idempotency-Key"] {
      #expect(try await world.get([field: "2"]).source == .cache, "\(field)")
    }
  }

  @Test(arguments: [true, false]) func anAuthenticationCountsInEitherPlace(_ onceACall: Bool) async throws {
    let world = World(Self.echo())
    let authentication = try Self.authentication("ann")
    if onceACall {
      world.client.middleware.append(authentication)
    } else {
      world.client.middleware = world.client.middleware.filter { $0.stage == .call } + [authentication]
    }
    for source in [NetworkResponse.Source.network, .cache] {
      for user in ["ann", "bob"] {
        authentication.credential = BearerToken(user)
        #expect(try await world.get() == ("Bearer \(user)", source))
      }
    }
  }

  @Test func anotherOriginKnowsNothingOfAnAuthentication() async throws {
    let authentication = try Self.authentication("ann")
    let world = World(Self.echo(), attempt: [authentication])
    let request = URLRequest(url: try #require(URL(string: "https://b.example/")))
    #expect(try await world.response(request) == ("nobody", .network))
    authentication.credential = BearerToken("bob")
    #expect(try await world.response(request) == ("nobody", .cache))
  }

  @Test func theAccountCountsAndNotTheToken() async throws {
    let authentication = try Self.authentication(nil)
    #expect(authentication.account == nil)
    let world = World(Self.echo(), attempt: [authentication])
    authentication.signIn(BearerToken("1"), as: "ann")
    #expect(authentication.account == "ann")
    #expect(try await world.get() == ("Bearer 1", .network))
    authentication.signIn(BearerToken("2"), as: "ann")
    #expect(try await world.get() == ("Bearer 1", .cache))
    authentication.signIn(BearerToken("1"), as: "bob")
    #expect(try await world.get() == ("Bearer 1", .network))
    // Whoever signs in without a name is nobody of those.
    authentication.credential = BearerToken("2")
    #expect(authentication.account == nil)
    #expect(try await world.get() == ("Bearer 2", .network))
  }

  @Test func aRenewalWithoutAnAccountIsTheSameUser() async throws {
    let world = World(
      [.ok("one", headers: Self.fresh), .status(401), .ok("two", headers: Self.fresh), .ok("three")],
      attempt: [try Self.authentication("first")])
    #expect(try await world.get() == ("one", .network))
    #expect(try await world.get(after: 700) == ("two", .network))
    #expect(try await world.get() == ("two", .cache))
  }

  /// Between the question and the 304 somebody else has signed in.
  @Test func a304IsNotServedAfterAnotherSignIn() async throws {
    let authentication = try Self.authentication("ann")
    let script = NetworkScript { request, number in
      switch number {
      case 0: return .ok("ann's", headers: Self.tagged)
      case 1:
        authentication.credential = BearerToken("bob")
        return .status(304, headers: ["Cache-Control": "max-age=600"])
      default: return .ok(request.value(forHTTPHeaderField: "Authorization") ?? "", headers: Self.fresh)
      }
    }
    let world = World(script, attempt: [authentication])
    #expect(try await world.get().text == "ann's")
    await #expect(throws: NetworkError.self) { try await world.get() }
    #expect(try await world.get() == ("Bearer bob", .network))
    authentication.credential = BearerToken("ann")
    // Nor was it stored as fresh: ann asks the server.
    #expect(try await world.get() == ("Bearer ann", .network))
  }

  @Test func a304ForACallThatBroughtItsOwnFieldIsAskedAgainWithoutACondition() async throws {
    struct Scope: NetworkMiddleware {
      let user: Box<String>
      func respond(
        to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
      ) async throws -> NetworkResponse { try await next(request) }
      func cacheScope(of request: URLRequest) -> String? { user.value }
    }
    let user = Box("ann")
    let script = NetworkScript { _, number in
      if number == 1 { user.value = "bob" }
      return number == 1 ? .status(304) : .ok("\(number)", headers: Self.tagged)
    }
    let world = World(script)
    world.client.middleware = world.client.middleware.filter { $0.stage == .call } + [Scope(user: user)]
    #expect(try await world.get() == ("0", .network))
    #expect(try await world.get() == ("2", .network))
    #expect(script.requests.map { $0.value(forHTTPHeaderField: "If-None-Match") } == [nil, "\"1\"", nil])
    // The question went out as ann, so its answer is nobody's.
    #expect(try await world.get() == ("3", .network))
    user.value = "ann"
    _ = try await world.get()
    #expect(script.requests.last?.value(forHTTPHeaderField: "If-None-Match") == "\"1\"")
  }

  // MARK: Vary

  static let variants: [(vary: String, first: [String: String], second: [String: String], isServed: Bool)] = [
    ("Accept", ["Accept": "a"], ["Accept": "a"], true), ("Accept", ["Accept": "a"], ["Accept": "b"], false),
    ("ACCEPT", ["Accept": "a"], ["accept": "b"], false), ("Accept", ["Accept": "a"], [:], false),
    ("Accept", [:], ["Accept": "a"], false), ("Accept", [:], [:], true),
    ("Accept, X-A", ["Accept": "a", "X-A": "1"], ["Accept": "a", "X-A": "2"], false),
    ("X-A ,Accept", ["Accept": "a", "X-A": "1"], ["Accept": "b", "X-A": "1"], false),
    ("Accept", ["Accept": "a", "X-A": "1"], ["Accept": "a", "X-A": "2"], true),
    ("", ["Accept": "a"], ["Accept": "b"], true), (",", ["Accept": "a"], ["Accept": "b"], true),
    ("COOKIE", [:], [:], false), ("Accept,cookie", [:], [:], false), ("Accept, *", [:], [:], false),
  ]
  @Test(arguments: variants.indices) func theFieldsThatVaryNamesTellVariantsApart(_ row: Int) async throws {
    let (vary, first, second, isServed) = Self.variants[row]
    let world = World([.ok("one", headers: ["Cache-Control": "max-age=60", "Vary": vary]), .ok("two")])
    _ = try await world.get(first)
    #expect(try await world.get(second) == (isServed ? ("one", .cache) : ("two", .network)))
  }

  @Test(arguments: ["Accept", "*"])
  func a304ThatNamesVaryTellsVariantsApart(_ vary: String) async throws {
    let world = World([
      .ok("one", headers: Self.tagged),
      .status(304, headers: ["Cache-Control": "max-age=600", "Vary": vary]), .ok("two", headers: Self.fresh),
    ])
    for _ in 0..<2 { _ = try await world.get(["Accept": "a"]) }
    if vary == "Accept" { #expect(try await world.get(["Accept": "a"]) == ("one", .cache)) }
    #expect(try await world.get(["Accept": "b"]) == ("two", .network))
  }

  @Test(arguments: ["Authorization", "X-Signature"])
  func aChangeByOneUserEndsWhatIsStoredForAll(_ field: String) async throws {
    let world = World([.ok("old", headers: Self.fresh), .status(201), .ok("new")])
    _ = try await world.get([field: "one"])
    _ = try await world.get([field: "two"], method: "POST")
    #expect(try await world.get([field: "one"]) == ("new", .network))
  }
}
