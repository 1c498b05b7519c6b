import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// With `stale-while-revalidate`, a stale response is served at once, and revalidated for the next call (RFC 5861 §3).
extension ResponseCacheTests {
  static let staleWhileRevalidate = ["Cache-Control": "max-age=60, stale-while-revalidate=30", "ETag": "\"1\""]

  @Test func servesAStaleResponseAndRevalidatesItForTheNextCall() async throws {
    let cached = CachedClient([
      .ok("one", headers: Self.staleWhileRevalidate), .ok("two", headers: Self.staleWhileRevalidate),
    ])
    _ = try await cached.get()
    #expect(try await cached.get(after: 60) == ("one", .cache))
    #expect(try await Self.becomesTrue { cached.store.stores == 2 })
    #expect(try await cached.get() == ("two", .cache))
    #expect(cached.script.requests.map { $0.value(forHTTPHeaderField: "If-None-Match") } == [nil, "\"1\""])
  }

  @Test func a304MakesAStaleResponseFreshAgain() async throws {
    let cached = CachedClient([.ok("one", headers: Self.staleWhileRevalidate), .status(304)])
    _ = try await cached.get()
    #expect(try await cached.get(after: 89) == ("one", .cache))
    #expect(try await Self.becomesTrue { cached.store.stores == 2 })
    #expect(try await cached.get(after: 59) == ("one", .cache))
    #expect(cached.script.requests.count == 2)
  }

  /// It is stale from the beginning, and has no validator.
  @Test func storesAResponseThatIsServedOnlyWhileItIsRevalidated() async throws {
    let fields = ["Cache-Control": "max-age=0, stale-while-revalidate=30"]
    let cached = CachedClient([.ok("one", headers: fields), .ok("two", headers: fields)])
    _ = try await cached.get()
    #expect(try await cached.get(after: 29) == ("one", .cache))
    #expect(try await Self.becomesTrue { cached.store.stores == 2 })
    #expect(try await cached.get(after: 30) == ("two", .network))
  }

  /// Cache-Control of the response, and the seconds that have passed.
  static let withoutStaleWhileRevalidate: [(control: String, seconds: Double)] = [
    ("max-age=60, stale-while-revalidate=30", 90), ("max-age=60, stale-while-revalidate=0", 60),
    ("max-age=60, stale-while-revalidate", 60), ("max-age=60, stale-while-revalidate=-1", 60),
    ("max-age=60, stale-while-revalidate=30.5", 60), ("max-age=60, ext=\"stale-while-revalidate=30\"", 60),
    ("max-age=60, stale-while-revalidate=30, must-revalidate", 60),
    ("max-age=60, stale-while-revalidate=30, no-cache", 0), ("stale-while-revalidate=30", 0),
    ("max-age=60, stale-while-revalidate=30, ext=\"", 0),
  ]
  @Test(arguments: withoutStaleWhileRevalidate.indices) func waitsForTheServerWhenStaleWhileRevalidateDoesNotApply(
    _ row: Int
  ) async throws {
    let (control, seconds) = Self.withoutStaleWhileRevalidate[row]
    let cached = CachedClient([.ok("one", headers: ["Cache-Control": control, "ETag": "\"1\""]), .ok("two")])
    _ = try await cached.get()
    #expect(try await cached.get(after: seconds) == ("two", .network))
  }

  @Test(arguments: ["no-cache", "max-age=600", "max-age=0"])
  func waitsForTheServerIfTheRequestLimitsTheAge(_ control: String) async throws {
    let cached = CachedClient([.ok("one", headers: Self.staleWhileRevalidate), .ok("two")])
    _ = try await cached.get()
    #expect(try await cached.get(["Cache-Control": control], after: 60) == ("two", .network))
  }

  @Test(arguments: [URLRequest.CachePolicy.reloadIgnoringLocalCacheData, .reloadRevalidatingCacheData])
  func reloadWaitsForTheServerDespiteStaleWhileRevalidate(_ policy: URLRequest.CachePolicy) async throws {
    let cached = CachedClient([.ok("one", headers: Self.staleWhileRevalidate), .ok("two")])
    _ = try await cached.get()
    cached.store.pass(60)
    var request = try Self.request()
    request.cachePolicy = policy
    #expect(try await cached.response(request) == ("two", .network))
  }

  @Test func valuesGiveTheStaleValueThenThatOfTheServer() async throws {
    let cached = CachedClient([
      .ok("one", headers: Self.staleWhileRevalidate), .ok("two", headers: Self.staleWhileRevalidate),
    ])
    _ = try await cached.get()
    cached.store.pass(60)
    var got: [String] = []
    for try await value in cached.client.values(of: Text()) { got.append("\(value.value) \(value.source)") }
    #expect(got == ["one cache", "two network"])
  }

  /// The server is slow. Meanwhile, the calls are served, and only one request is sent.
  @Test func revalidatesAResponseOnlyOnceAtATime() async throws {
    struct Slow: NetworkMiddleware {
      let gate: AsyncStream<Void>
      func respond(
        to request: URLRequest, in call: NetworkCall, next: NetworkMiddlewareNext
      ) async throws -> NetworkResponse<Data> {
        if request.value(forHTTPHeaderField: "If-None-Match") != nil { for await _ in gate { break } }
        return try await next(request)
      }
    }
    let (gate, opener) = AsyncStream.makeStream(of: Void.self)
    let cached = CachedClient(
      [
        .ok("one", headers: Self.staleWhileRevalidate), .ok("two", headers: Self.staleWhileRevalidate),
        .ok("three", headers: Self.staleWhileRevalidate),
      ],
      middleware: [Slow(gate: gate)])
    _ = try await cached.get()
    cached.store.pass(60)
    for _ in 0..<5 { #expect(try await cached.get() == ("one", .cache)) }
    opener.finish()
    #expect(try await Self.becomesTrue { cached.store.stores == 2 })
    #expect(try await cached.get() == ("two", .cache))
    #expect(cached.script.requests.count == 2)
  }

  /// A revalidation that fails keeps the stored response.
  @Test func nextCallRevalidatesAgainAfterAFailure() async throws {
    let cached = CachedClient([
      .ok("one", headers: Self.staleWhileRevalidate), .status(500), .ok("two", headers: Self.staleWhileRevalidate),
    ])
    _ = try await cached.get()
    cached.store.pass(60)
    let hasFailed = try await Self.becomesTrue {
      cached.script.requests.count >= 2
    } whileDoing: {
      let got = try await cached.get()
      #expect(got == ("one", .cache))
    }
    let isRenewed = try await Self.becomesTrue {
      cached.store.stores == 2
    } whileDoing: {
      _ = try await cached.get()
    }
    #expect(hasFailed && isRenewed)
    #expect(try await cached.get() == ("two", .cache))
  }

  /// The server's response to one user is not stored for another one who has signed in meanwhile.
  @Test func doesNotStoreARevalidatedResponseForAnotherUser() async throws {
    let authentication = try Self.authentication("ann", as: "ann")
    let script = NetworkScript { request, number in
      if number == 1 { authentication.signIn(BearerToken("bob"), as: "bob") }
      return .ok("\(number)", headers: Self.staleWhileRevalidate)
    }
    let cached = CachedClient(script, middleware: [authentication])
    _ = try await cached.get()
    #expect(try await cached.get(after: 60) == ("0", .cache))
    #expect(try await Self.becomesTrue { script.requests.count == 2 })
    #expect(try await cached.get().text != "1")
  }

  /// The resource is gone, and the server does not say for how long.
  @Test func a410ToARevalidationEndsStaleWhileRevalidate() async throws {
    let script = NetworkScript { _, number in
      number == 0 ? .ok("one", headers: Self.staleWhileRevalidate) : .status(410)
    }
    let cached = CachedClient(script)
    _ = try await cached.get()
    #expect(try await cached.get(after: 60) == ("one", .cache))
    var status: Int?
    let isRefused = try await Self.becomesTrue {
      status == 410
    } whileDoing: {
      do { _ = try await cached.get() } catch let error as NetworkError { status = error.statusCode }
    }
    #expect(isRefused)
  }

  /// Whether the stored response is out of date after the server has responded with this status.
  @Test(arguments: [
    (400, true), (401, true), (403, true), (404, true), (410, true), (408, false), (429, false), (500, false),
    (503, false),
  ])
  func onlyAPermanentClientErrorRemovesTheStoredResponse(_ status: Int, _ isRemoved: Bool) async throws {
    let cached = CachedClient([.ok("one", headers: Self.tagged), .status(status)])
    _ = try await cached.get()
    await #expect(throws: NetworkError.self) { try await cached.get() }
    var request = try Self.request()
    request.cachePolicy = .returnCacheDataDontLoad
    let text = try? await cached.response(request).text
    #expect(text == (isRemoved ? nil : "one"))
  }

  /// A success for some calls, and an error for those that need a body.
  @Test func anEmpty200ReplacesTheStoredResponse() async throws {
    let cached = CachedClient([
      .ok("one", headers: Self.staleWhileRevalidate), .ok("", headers: Self.staleWhileRevalidate),
    ])
    let request = try Self.request()
    _ = try await cached.get()
    cached.store.pass(60)
    #expect(try await cached.client.performNetworkRequest(request) == Data("one".utf8))
    #expect(try await Self.becomesTrue { cached.store.stores == 2 })
    let error = await #expect(throws: NetworkError.self) { try await cached.client.performNetworkRequest(request) }
    guard case .noResponseData? = error else { Issue.record("\(String(describing: error))"); return }
    #expect(try await cached.get() == ("", .cache) && cached.script.requests.count == 2)
  }
}
