import Foundation
import WyndLoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension ResponseCacheTests {
  static let fresh = ["Cache-Control": "max-age=600", "ETag": "\"1\""]

  // MARK: Serving

  @Test(arguments: ["POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "QUERY"])
  func servesOnlyGETFromTheStore(_ method: String) async throws {
    let cached = CachedClient([.ok("stored", headers: Self.fresh), .ok("sent", headers: Self.fresh), .ok("third")])
    _ = try await cached.get()
    #expect(try await cached.get(method: method) == ("sent", .network))
    let asked = try #require(cached.script.requests.last)
    #expect(asked.httpMethod == method && asked.value(forHTTPHeaderField: "If-None-Match") == nil)
    // A safe method keeps the stored response. Only GET stores its response.
    let isSafe = ["HEAD", "OPTIONS", "QUERY"].contains(method)
    #expect(try await cached.get().text == (isSafe ? "stored" : "third"))
  }

  /// URLSession on Linux gets it in lowercase.
  @Test func storesTheResponseToAURLWithAnUppercaseScheme() async throws {
    let server = try LoopbackServer(script: .status(200, [("Cache-Control", "max-age=600")], body: "stored"))
    let client = NetworkClient(on: ResponseCache())
    let url = try #require(URL(string: server.url().absoluteString.replacingOccurrences(of: "http:", with: "HTTP:")))
    for source in [NetworkResponseSource.network, .cache] {
      #expect(try await client.networkResponse(for: url).source == source)
    }
    #expect(server.requests.count == 1)
  }

  @Test func unsafeRequestKeepsResponsesOfOtherURLs() async throws {
    let cached = CachedClient([.ok("stored", headers: Self.fresh), .ok("sent")])
    for path in ["/a", "/a?page=2"] { _ = try await cached.get(path: path) }
    _ = try await cached.get(path: "/a/1", method: "DELETE")
    #expect(try await cached.get(path: "/a").source == .cache)
    #expect(cached.script.requests.count == 3)
  }

  @Test func storesAResponseForEachURL() async throws {
    let script = NetworkScript { request, _ in .ok(request.url?.absoluteString ?? "", headers: Self.fresh) }
    let cached = CachedClient(script)
    let addresses = [
      "https://a.example/", "https://a.example/a", "https://a.example/?q=1", "https://a.example/?q=2",
      "https://a.example:8443/", "http://a.example/", "https://b.example/",
    ]
    for source in [NetworkResponseSource.network, .cache] {
      for address in addresses {
        let request = URLRequest(url: try #require(URL(string: address)))
        #expect(try await cached.response(request) == (address, source))
      }
    }
  }

  static let conditions = [
    "Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range",
  ]
  @Test(arguments: conditions) func passesConditionalRequestsUnchanged(_ field: String) async throws {
    let cached = CachedClient([
      .ok("stored", headers: Self.fresh), .ok("own", headers: ["Cache-Control": "max-age=600", "ETag": "\"2\""]),
    ])
    _ = try await cached.get()
    #expect(try await cached.get([field: "\"x\""]) == ("own", .network))
    let fields = try #require(cached.script.requests.last?.allHTTPHeaderFields)
    #expect(fields == [field: "\"x\""])
    // It is not stored, and does not remove the stored response.
    #expect(try await cached.get() == ("stored", .cache))
  }

  // MARK: Storing

  @Test func serverAndConnectionErrorsKeepTheStoredResponse() async throws {
    let cached = CachedClient([.ok("old", headers: Self.tagged), .status(500), .dropped, .status(304)])
    _ = try await cached.get()
    for _ in 0..<2 { await #expect(throws: NetworkError.self) { try await cached.get() } }
    #expect(try await cached.get() == ("old", .revalidated))
  }

  static let notStored: [[String: String]] = [["Cache-Control": "no-store"], [:], ["ETag": "\"2\"", "Vary": "*"]]
  @Test(arguments: notStored) func uncacheableResponseRemovesTheStoredOne(_ fields: [String: String]) async throws {
    let cached = CachedClient([.ok("old", headers: Self.tagged), .ok("new", headers: fields), .ok("newer")])
    for _ in 0..<2 { _ = try await cached.get() }
    #expect(try await cached.get() == ("newer", .network))
    #expect(cached.script.requests.last?.value(forHTTPHeaderField: "If-None-Match") == nil)
  }

  @Test func storesAResponseThatHasAValidatorButNoLifetime() async throws {
    for (field, question) in [("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since")] {
      let value = Self.tagged[field] ?? ""
      let cached = CachedClient([.ok("one", headers: [field: value]), .status(304)])
      _ = try await cached.get()
      #expect(try await cached.get() == ("one", .revalidated))
      #expect(cached.script.requests.last?.allHTTPHeaderFields == [question: value])
    }
  }

  // MARK: Requests to the server

  @Test func a304WithNoStoreIsServedOnce() async throws {
    let cached = CachedClient([
      .ok("one", headers: Self.tagged), .status(304, headers: ["Cache-Control": "no-store"]), .ok("two"),
    ])
    _ = try await cached.get()
    #expect(try await cached.get() == ("one", .revalidated))
    #expect(try await cached.get() == ("two", .network))
    #expect(cached.script.requests.last?.allHTTPHeaderFields ?? [:] == [:])
  }

  /// An empty body is an error for one caller, and a response for another.
  @Test func storesAnEmptyBodyThatItsCallerRefuses() async throws {
    let cached = CachedClient([.ok("", headers: ["Cache-Control": "max-age=60"])])
    await #expect(throws: NetworkError.self) { try await cached.client.performNetworkRequest(Self.request()) }
    let response = try await cached.get()
    #expect(response.text.isEmpty && response.source == .cache)
    #expect(cached.script.requests.count == 1)
  }
}
