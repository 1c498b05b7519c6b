import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Which header fields a response from the cache has (RFC 9111 §3.2, §4.3.4, §5.1).
extension ResponseCacheTests {
  @Test func servesHeadersExceptConnectionAndCookieHeaders() async throws {
    let fields = [
      "Cache-Control": "max-age=600", "X-Total": "7", "Content-Type": "text/plain", "Set-Cookie": "a=secret",
      "Content-Encoding": "gzip", "Transfer-Encoding": "chunked",
    ]
    let cached = CachedClient([.ok("one", headers: fields)])
    _ = try await cached.get()
    let head = try await cached.head()
    #expect(head.statusCode == 200 && head.url == URL(string: "https://a.example/"))
    #expect(["X-Total", "Content-Type"].map { head.value(forHTTPHeaderField: $0) } == ["7", "text/plain"])
    for name in ["Set-Cookie", "Content-Encoding", "Transfer-Encoding"] {
      #expect(head.value(forHTTPHeaderField: name) == nil, "\(name)")
    }
  }

  @Test func doesNotServeHeadersNamedByConnection() async throws {
    let fields = [
      "Cache-Control": "max-age=600", "Connection": "keep-alive, X-Hop", "X-Hop": "1", "Keep-Alive": "timeout=5",
      "X-Total": "7",
    ]
    let cached = CachedClient([.ok("one", headers: fields)])
    _ = try await cached.get()
    let head = try await cached.head()
    #expect(["Connection", "X-Hop", "Keep-Alive"].compactMap { head.value(forHTTPHeaderField: $0) } == [])
    #expect(head.value(forHTTPHeaderField: "X-Total") == "7")
  }

  @Test func servesStoredResponsesWithTheirAge() async throws {
    for (age, least) in [(nil, 100), ("20", 120)] {
      var fields = ["Cache-Control": "max-age=600"]
      fields["Age"] = age
      let cached = CachedClient([.ok("one", headers: fields)])
      _ = try await cached.get()
      let got = try await cached.head(after: 100).value(forHTTPHeaderField: "Age").flatMap { Int($0) }
      #expect((least...least + 60).contains(try #require(got)))
    }
  }

  /// RFC 9111 §5.1: a response with an Age was not validated for this request.
  @Test func servesRevalidatedResponsesWithoutAge() async throws {
    let cached = CachedClient([.ok("one", headers: Self.tagged), .status(304)])
    _ = try await cached.get()
    #expect(try await cached.head(after: 100).value(forHTTPHeaderField: "Age") == nil)
  }

  @Test func doesNotServeContentLengthOfADecodedBody() async throws {
    let cached = CachedClient([.ok("one", headers: ["Cache-Control": "max-age=60", "Content-Length": "23"])])
    _ = try await cached.get()
    #expect(try await cached.head().value(forHTTPHeaderField: "Content-Length") == nil)
  }

  @Test func updatesHeadersFromA304() async throws {
    let old = ["ETag": "\"1\"", "X-Total": "1", "X-Old": "old", "Content-Type": "text/plain", "Age": "100"]
    let new = [
      "ETag": "\"1\"", "X-Total": "2", "Content-Type": "text/html", "Content-Encoding": "br", "Set-Cookie": "a=b",
      "Cache-Control": "max-age=60",
    ]
    let cached = CachedClient([.ok("one", headers: old), .status(304, headers: new), .status(304)])
    _ = try await cached.get()
    for (source, seconds) in [(NetworkResponseSource.revalidated, 100.0), (.cache, 0)] {
      let head = try await cached.head(after: seconds)
      let got = ["ETag", "X-Total", "X-Old", "Content-Type", "Content-Encoding", "Set-Cookie"].map {
        head.value(forHTTPHeaderField: $0)
      }
      #expect(got == ["\"1\"", "2", "old", "text/plain", nil, nil], "\(source)")
    }
    // Fresh from the 304 on.
    #expect(try await cached.get(after: 20).source == .cache)
    #expect(try await cached.get(after: 40) == ("one", .revalidated))
    #expect(cached.script.requests.last?.value(forHTTPHeaderField: "If-None-Match") == "\"1\"")
  }
}
