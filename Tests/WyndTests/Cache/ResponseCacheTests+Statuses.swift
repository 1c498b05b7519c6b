import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Which status codes are stored and served again: those that are cacheable by default (RFC 9110 §15.1), if the server
/// says how long they are fresh.
extension ResponseCacheTests {
  static let freshOnly = ["Cache-Control": "max-age=60"]

  @Test(arguments: [200, 203, 204, 300, 301, 308], [freshOnly, ["Expires": "Tue, 06 Nov 2040 08:49:37 GMT"]])
  func servesAFreshResponseWithItsStatus(_ status: Int, _ fields: [String: String]) async throws {
    let cached = CachedClient([.status(status, "one", headers: fields), .ok("two")])
    for source in [NetworkResponseSource.network, .cache] {
      let response = try await cached.client.networkResponse(for: try Self.request())
      #expect(response.statusCode == status && response.source == source)
      #expect(response.data == Data("one".utf8))
    }
    #expect(cached.script.requests.count == 1)
  }

  @Test(arguments: [404, 405, 410, 414, 501]) func servesAFreshErrorAsAnError(_ status: Int) async throws {
    let fields = Self.freshOnly.merging(["X-Total": "7"]) { $1 }
    let cached = CachedClient([.status(status, "no", headers: fields), .ok("two")])
    for _ in 0..<2 {
      let error = await #expect(throws: NetworkError.self) { try await cached.get() }
      #expect(error?.statusCode == status && error?.data == Data("no".utf8))
      #expect(error?.response?.value(forHTTPHeaderField: "X-Total") == "7")
    }
    #expect(cached.script.requests.count == 1)
    #expect(try await cached.get(after: 60) == ("two", .network))
  }

  @Test(arguments: [
    [:], ["ETag": "\"1\""], ["Cache-Control": "max-age=0", "ETag": "\"1\""],
    ["Cache-Control": "max-age=60, no-cache"], ["Cache-Control": "max-age=60, no-store"],
  ])
  func requestsAgainAfterAnErrorWithoutFreshness(_ fields: [String: String]) async throws {
    let cached = CachedClient([.status(404, headers: fields), .ok("two")])
    await #expect(throws: NetworkError.self) { try await cached.get() }
    #expect(try await cached.get() == ("two", .network))
    #expect(cached.script.requests.last?.value(forHTTPHeaderField: "If-None-Match") == nil)
  }

  /// Of an error, only a fresh one is served.
  @Test(arguments: [URLRequest.CachePolicy.returnCacheDataElseLoad, .returnCacheDataDontLoad])
  func doesNotServeAStaleErrorResponse(_ policy: URLRequest.CachePolicy) async throws {
    let cached = CachedClient([.status(404, headers: Self.freshOnly), .dropped], stale: true)
    await #expect(throws: NetworkError.self) { try await cached.get() }
    var request = try Self.request()
    request.cachePolicy = policy
    var error = await #expect(throws: NetworkError.self) { try await cached.response(request) }
    #expect(error?.statusCode == 404)
    cached.pass(60)
    error = await #expect(throws: NetworkError.self) { try await cached.response(request) }
    #expect(error?.urlError != nil)
  }

  /// The file was there, was removed, and is there again.
  @Test func aFreshErrorReplacesTheStoredResponse() async throws {
    let cached = CachedClient([
      .ok("one", headers: Self.tagged), .status(410, headers: Self.freshOnly), .ok("two", headers: Self.tagged),
    ])
    _ = try await cached.get()
    for _ in 0..<2 { await #expect(throws: NetworkError.self) { try await cached.get() } }
    #expect(try await cached.get(after: 60) == ("two", .network))
    #expect(cached.script.requests.count == 3)
  }

  @Test func storesAFreshErrorForOneUserOnly() async throws {
    let cached = CachedClient([.status(404, headers: Self.freshOnly), .ok("yours")])
    await #expect(throws: NetworkError.self) { try await cached.get(["Authorization": "ann"]) }
    #expect(try await cached.get(["Authorization": "bob"]) == ("yours", .network))
  }

  /// The error that a call receives after another sign-in could belong to either user.
  @Test func doesNotStoreAnErrorReceivedAfterAnotherSignIn() async throws {
    let authentication = try Self.authentication("ann", as: "ann")
    let script = NetworkScript { _, number in
      if number > 0 { return .ok("\(number)") }
      authentication.signIn(BearerToken("bob"), as: "bob")
      return .status(404, headers: Self.freshOnly)
    }
    let cached = CachedClient(script, middleware: [authentication])
    await #expect(throws: NetworkError.self) { try await cached.get() }
    authentication.signIn(BearerToken("ann"), as: "ann")
    #expect(try await cached.get() == ("1", .network))
  }

  /// The rest has no freshness of its own, or is not understood.
  @Test(arguments: [201, 202, 206, 299, 302, 303, 307, 400, 403, 408, 429, 500, 502, 503, 599])
  func doesNotStoreOtherStatuses(_ status: Int) async throws {
    let cached = CachedClient([.status(status, "one", headers: Self.fresh), .ok("two")])
    _ = try? await cached.get()
    #expect(try await cached.get() == ("two", .network))
  }

  /// From the store and after a 304, as from the network.
  @Test(arguments: [fresh, tagged]) func servesAnEmptyBodyOnlyToACallThatAcceptsIt(_ fields: [String: String])
    async throws
  {
    let cached = CachedClient([.ok("", headers: fields), .status(304)])
    _ = try await cached.get()
    let request = try Self.request()
    let error = await #expect(throws: NetworkError.self) { try await cached.client.performNetworkRequest(request) }
    guard case .noResponseData? = error else { Issue.record("\(String(describing: error))"); return }
    #expect(try await cached.get().text.isEmpty)
    let isValidated = fields == Self.tagged
    #expect(cached.script.requests.count == (isValidated ? 3 : 1))
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
}
