import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A credential stays with its user and its origin, whichever of several clients adds it.
extension NetworkClientTests {
  /// Responds with the credential of the request. A cache may serve the response for a minute.
  static func echo(_ field: String = "Authorization") -> NetworkScript {
    NetworkScript { request, _ in
      .ok(request.value(forHTTPHeaderField: field) ?? "nobody", headers: ["Cache-Control": "max-age=60"])
    }
  }
  static func authentication(_ token: String?, as account: String? = nil) throws -> Authentication<BearerToken> {
    Authentication(for: try #require(service), token.map { BearerToken($0) }, as: account)
  }
  static func tokens(_ script: NetworkScript) -> [String?] {
    script.values(of: "Authorization")
  }

  // MARK: A cache

  @Test func cacheSeparatesUsersOfTheOuterClient() async throws {
    let script = Self.echo()
    let cached = NetworkClient(baseURL: Self.service, on: ResponseCache(on: script))
    let authentication = try Self.authentication("a", as: "anna")
    let client = NetworkClient(on: NetworkClient(on: cached), middleware: [authentication])
    #expect(try await client.load(Item()) == "Bearer a")
    authentication.signIn(BearerToken("b"), as: "bert")
    #expect(try await client.load(Item()) == "Bearer b")
    authentication.signIn(BearerToken("a2"), as: "anna")
    #expect(try await client.load(Item()) == "Bearer a" && script.requests.count == 2)
  }

  /// A client in between has middleware of its own.
  @Test func cacheSeparatesUsersOfTheOutermostClient() async throws {
    let cached = NetworkClient(baseURL: Self.service, on: ResponseCache(on: Self.echo()))
    let between = NetworkClient(on: cached, middleware: [.around { request, next in try await next(request) }])
    let authentication = try Self.authentication("a")
    let client = NetworkClient(on: between, middleware: [authentication])
    #expect(try await client.load(Item()) == "Bearer a")
    authentication.signIn(BearerToken("b"))
    #expect(try await client.load(Item()) == "Bearer b")
  }

  /// The same through a performer of the app.
  @Test func cacheInsideAPerformerOfTheAppSeparatesUsers() async throws {
    let cached = NetworkClient(baseURL: Self.service, on: ResponseCache(on: Self.echo()))
    let authentication = try Self.authentication("a")
    let client = NetworkClient(
      baseURL: Self.service, on: Counting(base: cached, calls: Counter()), middleware: [authentication])
    #expect(try await client.load(Item()) == "Bearer a")
    authentication.signIn(BearerToken("b"))
    #expect(try await client.load(Item()) == "Bearer b")
  }

  /// A field that holds a secret only because a middleware of the outer client says so.
  @Test func cacheSeparatesSecretFieldsOfTheOuterClient() async throws {
    let cached = NetworkClient(baseURL: Self.service, on: ResponseCache(on: Self.echo("X-Member")))
    let client = NetworkClient(on: cached, middleware: [SecretFields(secretFields: ["X-Member"])])
    for name in ["anna", "bert"] {
      #expect(try await client.load(Item(headers: ["X-Member": name])) == name)
    }
  }

  /// The cache does not see it, and could serve the response of one user to another.
  @Test func cacheDoesNotStoreAResponseToTheCredentialOfAClosure() async throws {
    for (field, other) in [("Authorization", "Bearer anna"), ("X-Member", "anna")] {
      let token = Box("")
      let script = Self.echo(field)
      let client = NetworkClient(
        baseURL: Self.service, on: ResponseCache(servesStaleIfError: true, on: script),
        middleware: [
          SecretFields(secretFields: ["X-Member"]),
          .around { request, next in
            var request = request
            request.setValue(token.value, forHTTPHeaderField: field)
            return try await next(request)
          },
        ])
      for name in [other, "Bearer bert"] {
        token.value = name
        #expect(try await client.load(Item()) == name)
      }
      #expect(script.requests.count == 2)
    }
  }

  /// What is no credential is not looked at.
  @Test func cacheStoresAResponseToTheFieldsOfAClosure() async throws {
    let script = Self.echo("X-Page")
    let client = NetworkClient(
      baseURL: Self.service, on: ResponseCache(on: script),
      middleware: [
        .around { request, next in
          var request = request
          request.setValue("7", forHTTPHeaderField: "X-Page")
          return try await next(request)
        }
      ])
    for _ in 0..<2 { #expect(try await client.load(Item()) == "7") }
    #expect(script.requests.count == 1)
  }

  /// The request of a renewal has no credential, so its response is not that of the user.
  @Test func cacheDoesNotStoreTheResponsesOfARenewalForTheUser() async throws {
    let app = Box<NetworkClient>()
    let authentication = Authentication(for: try #require(Self.service), BearerToken("old"), as: "anna") { _, _ in
      if let client = app.value { _ = try await client.load(Item(path: "/config")) }
      return BearerToken("new")
    }
    let script = NetworkScript { request, _ in
      let token = request.value(forHTTPHeaderField: "Authorization") ?? "nobody"
      return token == "Bearer old" ? .status(401) : .ok(token, headers: ["Cache-Control": "max-age=60"])
    }
    let client = NetworkClient(
      baseURL: Self.service, on: ResponseCache(on: script), middleware: [authentication])
    app.value = client
    #expect(try await client.load(Item()) == "Bearer new")
    #expect(try await client.load(Item(path: "/config")) == "Bearer new")
    #expect(Self.tokens(script) == ["Bearer old", nil, "Bearer new", "Bearer new"])
    authentication.signOut()
    #expect(try await client.load(Item(path: "/config")) == "nobody" && script.requests.count == 4)
    // The client holds the authentication, whose closure holds the box.
    app.value = nil
  }

  // MARK: Another origin

  @Test func clientOnAClientSendsItsCredentialToTheOriginOfTheInnerClientOnly() async throws {
    let script = Self.echo()
    let base = NetworkClient(baseURL: Self.service, on: script)
    let client = NetworkClient(on: NetworkClient(on: base), headers: ["Authorization": "Bearer secret"])
    let other = try #require(URL(string: "https://b.example/next"))
    #expect(try await client.load(.get(other, as: String.self)) == "nobody")
    #expect(try await client.load(Item()) == "Bearer secret")
    // A client without a base URL sends its fields everywhere.
    let free = NetworkClient(on: script, headers: ["Authorization": "Bearer secret"])
    #expect(try await free.load(.get(other, as: String.self)) == "Bearer secret")
  }

  // MARK: Another user

  @Test func failsWhenAMiddlewareSignsInAnotherUser() async throws {
    for isFlat in [true, false] {
      let script = Self.echo()
      let authentication = try Self.authentication("a")
      let switching: NetworkClosureMiddleware = .around { request, next in
        authentication.signIn(BearerToken("b"))
        return try await next(request)
      }
      let base = NetworkClient(baseURL: Self.service, on: script, middleware: [authentication])
      let flat = NetworkClient(baseURL: Self.service, on: script, middleware: [switching, authentication])
      let client = isFlat ? flat : NetworkClient(on: base, middleware: [switching])
      let error = await #expect(throws: NetworkError.self) { try await client.load(Item()) }
      #expect(error?.urlError?.code == .userAuthenticationRequired && script.requests.isEmpty)
    }
  }

  @Test func middlewareOfEitherClientCanSignInFirst() async throws {
    let authentication = try Self.authentication(nil)
    let signingIn: NetworkClosureMiddleware = .around { request, next in
      authentication.signIn(BearerToken("a"))
      return try await next(request)
    }
    for inside in [true, false] {
      authentication.signOut()
      let base = NetworkClient(
        baseURL: Self.service, on: Self.echo(), middleware: inside ? [signingIn, authentication] : [authentication])
      let client = NetworkClient(on: base, middleware: inside ? [] : [signingIn])
      #expect(try await client.load(Item()) == "Bearer a")
    }
  }

  /// The user who is signed in when the stream begins is that of all its connections.
  @Test(arguments: ["a", nil]) func eventStreamKeepsTheUserOfItsFirstConnection(_ token: String?) async throws {
    let script = NetworkScript { _, _ in
      .chunks(200, headers: ["Content-Type": "text/event-stream"], [Data("data: x\n\n".utf8)], isCut: false)
    }
    let authentication = try Self.authentication(token)
    let client = NetworkClient(baseURL: Self.service, on: script, middleware: [authentication])
    var count = 0
    let url = try #require(Self.service)
    var failure: NetworkError?
    do {
      for try await _ in client.serverSentEvents(for: url) {
        count += 1
        if count == 2 { authentication.signIn(BearerToken("b")) }
        if count == 3 { break }
      }
    } catch let error as NetworkError { failure = error }
    // A stream without a user continues without one, and a stream of a user ends.
    #expect(Self.tokens(script) == (token == nil ? [nil, nil, nil] : ["Bearer a", "Bearer a"]))
    #expect(failure?.urlError?.code == (token == nil ? nil : .userAuthenticationRequired))
  }
}
