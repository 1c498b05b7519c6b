import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Two features in one client: for each pair, the promise that the one could break for the other.
@Suite(.timeLimit(.minutes(30)), .fewAtOnce) struct FeaturePairTests {
  enum Feature: String, CaseIterable, Sendable {
    case cache, middleware, authentication, headers, nestedClients, renewal, redirect
  }
  struct Pair: Sendable, CustomTestStringConvertible {
    let features: Set<Feature>
    let promise: String
    let test: @Sendable () async throws -> Void

    init(_ one: Feature, _ other: Feature, _ promise: String, _ test: @escaping @Sendable () async throws -> Void) {
      features = [one, other]
      self.promise = promise
      self.test = test
    }
    var testDescription: String {
      "\(features.map(\.rawValue).sorted().joined(separator: " and ")): \(promise)"
    }
  }

  @Test(arguments: pairs) func keepsItsPromise(_ pair: Pair) async throws { try await pair.test() }

  @Test func everyPairHasAPromise() {
    var all: Set<Set<Feature>> = []
    for one in Feature.allCases { for other in Feature.allCases where one != other { all.insert([one, other]) } }
    #expect(Set(Self.pairs.map(\.features)) == all)
    #expect(Self.pairs.count == all.count)
  }

  static let pairs = ofACache + ofMiddleware + ofAuthentication + ofHeaders + others

  // MARK: - What they use

  /// A script of responses that a cache stores, numbered in the order of the requests.
  static func storable() -> NetworkScript {
    NetworkScript { _, index in .ok("\(index)", headers: ["Cache-Control": "max-age=60"]) }
  }
  static func get(_ performer: any NetworkPerformer, _ path: String = "/") async throws -> String {
    try await performer.performNetworkRequest(URL.example.appending(path: path)).text
  }
  static func expectText(
    _ text: String, from performer: any NetworkPerformer, _ url: URL = .example,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let found = try await performer.performNetworkRequest(url).text
    #expect(found == text, sourceLocation: sourceLocation)
  }
  /// A credential of two fields.
  struct Keys: NetworkCredential {
    var headers: [String: String]
    init(_ value: String) { headers = ["X-One": value, "X-Two": value] }
    init(headers: [String: String]) { self.headers = headers }
  }
  static func authentication(
    _ token: String = "first", as account: String? = nil, for url: URL = .example,
    renew: (@Sendable (BearerToken, NetworkClient) async throws -> BearerToken)? = nil
  ) -> Authentication<BearerToken> {
    Authentication(for: url, BearerToken(token), as: account, renew: renew)
  }
  /// A script that rejects all but one token.
  static func accepting(_ token: String, headers: [String: String] = [:]) -> NetworkScript {
    NetworkScript { request, _ in
      request.value(forHTTPHeaderField: "Authorization") == "Bearer \(token)"
        ? .ok("ok", headers: headers) : .status(401)
    }
  }
  /// A middleware that adds a header field, and names it as secret.
  static func adding(_ name: String, _ value: String) -> any NetworkMiddleware {
    struct Adding: NetworkMiddleware {
      let name: String
      let value: String
      var secretFields: Set<String> { [name] }
      func respond(
        to request: URLRequest, in call: NetworkMiddlewareCall, next: NetworkMiddlewareNext
      ) async throws -> NetworkResponse<Data> {
        var request = request
        request.setValue(value, forHTTPHeaderField: name)
        return try await next(request)
      }
    }
    return Adding(name: name, value: value)
  }
  /// The values of X-One that arrive here, and the names of the header fields that arrive at another origin after a
  /// redirect, in lowercase.
  static func redirected(_ client: (URL) -> NetworkClient) async throws -> (here: [String?], there: Set<String>) {
    let other = try LoopbackServer(script: .ok("other"))
    let server = try LoopbackServer { request in
      .redirect(307, to: other.url("/other").absoluteString)
    }
    _ = try await client(server.url()).performNetworkRequest(server.url("/start"))
    let fields = Set(other.requests.flatMap { $0.headers.map { $0.0.lowercased() } })
    return (server.values(of: "X-One"), fields)
  }

  // MARK: - The promises

  static let ofACache: [Pair] = [
    Pair(.cache, .middleware, "a response is found again, although a middleware adds a field") {
      let script = storable()
      let client = NetworkClient(
        on: ResponseCache(on: script), headers: ["X-Api-Key": "k"],
        middleware: [
          .around { request, next in
            var request = request
            request.setValue("1", forHTTPHeaderField: "X-Trace")
            return try await next(request)
          }
        ])
      try await expectText("0", from: client)
      try await expectText("0", from: client)
      // That of a middleware whose credential nobody knows is not stored.
      let unknown = NetworkClient(on: ResponseCache(on: script), middleware: [adding("X-Session-Key", "s")])
      try await expectText("1", from: unknown)
      try await expectText("2", from: unknown)
    },
    Pair(.cache, .authentication, "each user gets their own response") {
      let folder = try Folder()
      let keys = Authentication(for: .example, Keys("ann"))
      let script = storable()
      let cache = try ResponseCache(in: folder.url, on: script)
      let client = NetworkClient(on: cache, middleware: [keys])
      try await expectText("0", from: client)
      keys.signIn(Keys("bob"))
      try await expectText("1", from: client)
      keys.signOut()
      try await expectText("2", from: client)
      // The order of the fields of a dictionary differs from one to the next.
      for _ in 0..<10 {
        keys.signIn(Keys(headers: Dictionary(uniqueKeysWithValues: Keys("ann").headers.shuffled())))
        try await expectText("0", from: client)
      }
    },
    Pair(.cache, .headers, "clients with different keys share nothing, with the same key they share") {
      let script = storable()
      let cache = ResponseCache(on: script)
      let client = { NetworkClient(on: cache, headers: ["X-Api-Key": $0]) }
      try await expectText("0", from: client("a"))
      try await expectText("1", from: client("b"))
      try await expectText("0", from: client("a"))
    },
    Pair(.cache, .nestedClients, "the user of the outer and of the inner client divide it") {
      let script = storable()
      let users = (inner: Authentication(for: .example, Keys("ann")), outer: authentication("ann"))
      let inner = NetworkClient(on: ResponseCache(on: script), middleware: [users.inner])
      let client = NetworkClient(on: inner, middleware: [users.outer])
      try await expectText("0", from: client)
      users.outer.signIn(BearerToken("bob"))
      try await expectText("1", from: client)
      users.inner.signIn(Keys("bob"))
      try await expectText("2", from: client)
      users.outer.signIn(BearerToken("ann"))
      users.inner.signIn(Keys("ann"))
      try await expectText("0", from: client)
    },
    Pair(.cache, .renewal, "a renewed credential finds what its user has stored") {
      let script = accepting("second", headers: ["Cache-Control": "max-age=60"])
      let renewing = authentication { _, _ in BearerToken("second") }
      let client = NetworkClient(on: ResponseCache(on: script), middleware: [renewing])
      for _ in 0..<3 { try await expectText("ok", from: client) }
      #expect(script.values(of: "Authorization") == ["Bearer first", "Bearer second"])
    },
    Pair(.cache, .redirect, "a response from another origin is not stored for this one") {
      let other = try LoopbackServer { .status(200, [("Cache-Control", "max-age=60")], body: "\($0.index)") }
      let server = try LoopbackServer(
        script: .redirect(301, to: other.url().absoluteString, [("Cache-Control", "max-age=60")]))
      let client = NetworkClient(on: ResponseCache(on: URLSession(configuration: .ephemeral)))
      try await expectText("0", from: client, server.url())
      try await expectText("1", from: client, server.url())
    },
  ]

  static let ofMiddleware: [Pair] = [
    Pair(
      .middleware, .authentication, "the error of a middleware is not that of a request which was repeated with success"
    ) {
      let script = NetworkScript([.status(503), .ok("ok")])
      struct Own: Error {}
      let client = NetworkClient(
        on: script,
        middleware: [
          authentication(),
          .around { request, next in
            do { return try await next(request) } catch {
              _ = try await next(request)
              throw Own()
            }
          },
        ])
      let error = await #expect(throws: NetworkError.self) { try await get(client) }
      #expect(error != nil && error?.statusCode == nil)
      #expect(script.values(of: "Authorization") == ["Bearer first", "Bearer first"])
    },
    Pair(.middleware, .headers, "a middleware sees the fields of the client, and may replace them") {
      let script = NetworkScript([.ok("{}")])
      let seen = Box<String>()
      let client = NetworkClient(
        baseURL: .example, on: script,
        headers: ["X-Version": "1", "Content-Type": "application/vnd.api+json", "Accept": "text/plain"],
        middleware: [
          .around { request, next in
            seen.value = request.value(forHTTPHeaderField: "X-Version")
            var request = request
            request.setValue("2", forHTTPHeaderField: "X-Version")
            return try await next(request)
          }
        ])
      _ = try await client.load(.post("/", body: .data(Data("{}".utf8)), as: [String: String].self))
      #expect(seen.value == "1" && script.values(of: "X-Version") == ["2"])
      #expect(script.values(of: "Content-Type") == ["application/vnd.api+json"])
      #expect(script.values(of: "Accept") == ["text/plain"])
    },
    Pair(.middleware, .nestedClients, "the middleware of the outer client is outside of that of the inner one") {
      let order = Box<[String]>([])
      let noting: @Sendable (String) -> any NetworkMiddleware = { name in
        .around { request, next in
          order.append(name)
          return try await next(request)
        }
      }
      let inner = NetworkClient(on: NetworkScript([.ok("ok")]), middleware: [noting("3"), noting("4")])
      _ = try await get(NetworkClient(on: inner, middleware: [noting("1"), noting("2")]))
      #expect(order.value == ["1", "2", "3", "4"])
    },
    Pair(.middleware, .renewal, "a renewal passes the middleware of the client, once") {
      let paths = Box<[String]>([])
      let renewing = authentication { _, client in BearerToken(try await get(client, "token")) }
      let script = NetworkScript { request, _ in
        if request.url?.path == "/token" { return .ok("second") }
        return request.value(forHTTPHeaderField: "Authorization") == "Bearer second" ? .ok("ok") : .status(401)
      }
      let client = NetworkClient(
        on: script,
        middleware: [
          renewing,
          .around { request, next in
            paths.append(request.url?.path ?? "")
            return try await next(request)
          },
        ])
      _ = try await get(client, "list")
      #expect(paths.value == ["/list", "/token", "/list"])
      #expect(script.values(of: "Authorization") == ["Bearer first", nil, "Bearer second"])
    },
    Pair(.middleware, .redirect, "a field that a middleware names as secret stays at the origin") {
      let (here, there) = try await redirected { _ in
        NetworkClient(middleware: [adding("X-One", "secret"), adding("Accept-Language", "cy")])
      }
      #expect(here == ["secret"] && !there.contains("x-one"))
    },
  ]

  static let ofAuthentication: [Pair] = [
    Pair(.authentication, .headers, "a request with a credential of its own is sent with that, and not renewed") {
      let script = accepting("second")
      let client = NetworkClient(
        on: script, headers: ["Authorization": "Bearer own"],
        middleware: [authentication { _, _ in BearerToken("second") }])
      let error = await #expect(throws: NetworkError.self) { try await get(client) }
      #expect(error?.statusCode == 401 && script.values(of: "Authorization") == ["Bearer own"])
    },
    Pair(.authentication, .nestedClients, "a call goes on as the users that it started with, in both clients") {
      let users = (inner: Authentication(for: .example, Keys("ann")), outer: authentication("ann"))
      let script = NetworkScript { _, index in
        if index == 0 { users.inner.signIn(Keys("bob")) }
        return index == 0 ? .status(503) : .ok("ok")
      }
      let client = NetworkClient(
        on: NetworkClient(on: script, middleware: [users.inner]), middleware: [users.outer])
      await #expect(throws: NetworkError.self) { try await get(client) }
      #expect(script.values(of: "X-One") == ["ann"] && script.values(of: "Authorization") == ["Bearer ann"])
      _ = try await get(client)
      #expect(script.values(of: "X-One") == ["ann", "bob"])
    },
    Pair(.authentication, .renewal, "another user is not signed in by the renewal of the first") {
      let users = Box<Authentication<BearerToken>>()
      let renewing = authentication("ann") { _, _ in
        users.value?.signIn(BearerToken("bob"))
        return BearerToken("ann, renewed")
      }
      users.value = renewing
      let script = accepting("bob")
      let client = NetworkClient(on: script, middleware: [renewing])
      await #expect(throws: NetworkError.self) { try await get(client) }
      #expect(renewing.credential == BearerToken("bob"))
      #expect(script.values(of: "Authorization") == ["Bearer ann"])
      users.value = nil
    },
    Pair(.authentication, .redirect, "no field of a credential goes to another origin") {
      let (here, there) = try await redirected { url in
        NetworkClient(middleware: [Authentication(for: url, Keys("secret"))])
      }
      #expect(here == ["secret"] && !there.contains("x-one") && !there.contains("x-two"))
    },
  ]

  static let ofHeaders: [Pair] = [
    Pair(.headers, .nestedClients, "the fields of both are sent, and the outer ones take precedence") {
      let script = NetworkScript([.ok("ok")])
      let inner = NetworkClient(on: script, headers: ["X-One": "inner", "x-two": "inner"])
      _ = try await get(NetworkClient(on: inner, headers: ["X-Two": "outer", "X-Three": "outer"]))
      #expect(script.values(of: "X-One") == ["inner"])
      #expect(script.values(of: "X-Two") == ["outer"] && script.values(of: "X-Three") == ["outer"])
    },
    Pair(.headers, .renewal, "a renewal is sent with the fields of the client") {
      let renewing = authentication { _, client in BearerToken(try await get(client, "token")) }
      let script = NetworkScript { request, _ in
        if request.url?.path == "/token" { return .ok("second") }
        return request.value(forHTTPHeaderField: "Authorization") == "Bearer second" ? .ok("ok") : .status(401)
      }
      _ = try await get(NetworkClient(on: script, headers: ["X-App": "1"], middleware: [renewing]))
      #expect(script.values(of: "X-App") == ["1", "1", "1"])
    },
    Pair(.headers, .redirect, "a key of the client stays at the origin, another field goes along") {
      let (_, there) = try await redirected { _ in
        NetworkClient(headers: ["X-Api-Key": "secret", "X-App": "1"])
      }
      #expect(!there.contains("x-api-key") && there.contains("x-app"))
    },
  ]

  static let others: [Pair] = [
    Pair(.nestedClients, .renewal, "the outer client does not retry what the inner one has renewed") {
      let script = accepting("second")
      let renewals = Counter()
      let renewing = authentication { _, _ in
        renewals.add()
        return BearerToken("second")
      }
      let client = NetworkClient(on: NetworkClient(on: script, middleware: [renewing]), headers: ["X-App": "1"])
      try await expectText("ok", from: client)
      #expect(renewals.value == 1 && script.requests.count == 2)
    },
    Pair(.nestedClients, .redirect, "a secret of the outer client stays at the origin") {
      let (here, there) = try await redirected { url in
        NetworkClient(on: NetworkClient(), middleware: [Authentication(for: url, Keys("secret"))])
      }
      #expect(here == ["secret"] && !there.contains("x-one"))
    },
    Pair(.renewal, .redirect, "a field that only the renewed credential has stays at the origin") {
      struct Expiring: NetworkCredential {
        var headers: [String: String]
        var expiresAt: Date?
      }
      let names = Box<Set<String>>()
      let (here, there) = try await redirected { url in
        let renewing = Authentication(for: url, Expiring(headers: ["X-Two": "a"], expiresAt: .distantPast)) { _, _ in
          Expiring(headers: ["X-One": "secret"])
        }
        return NetworkClient(
          middleware: [
            renewing,
            .around { request, next in
              let response = try await next(request)
              names.value = renewing.secretFields
              return response
            },
          ])
      }
      #expect(here == ["secret"] && !there.contains("x-one"))
      #expect(names.value == ["X-One", "X-Two"])
    },
  ]
}
