import Foundation
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Which stored response a 304 is about (RFC 9111 §4.3.4).
extension ResponseCacheTests {
  /// RFC 9110 §8.8.3.2: tags match character by character.
  @Test(arguments: [("caf\u{E9}", "cafe\u{301}"), ("\u{212B}", "\u{C5}")], ["", "W/"])
  func tagInAnotherNormalFormIsAnother(_ tags: (String, String), _ weak: String) async throws {
    let (first, second) = ("\(weak)\"\(tags.0)\"", "\(weak)\"\(tags.1)\"")
    let cached = CachedClient([
      .ok("one", headers: ["ETag": first]), .status(304, headers: ["ETag": second]),
      .ok("two", headers: ["ETag": second]),
    ])
    #expect(try await cached.get().text == "one")
    #expect(try await cached.get() == ("two", .network))
  }

  private static let first = "Sun, 06 Nov 1994 08:49:37 GMT"
  private static let second = "Sun, 06 Nov 1994 08:49:38 GMT"
  private static let sent = "Sun, 06 Nov 2022 08:49:37 GMT"

  /// The validators of the stored response, and those of the 304.
  static let sameVersion: [(stored: [String: String], notModified: [String: String])] = [
    (["ETag": "\"1\""], [:]), (["Last-Modified": first], [:]),
    (["ETag": "\"1\""], ["ETag": "\"1\""]), (["ETag": "W/\"1\""], ["ETag": "W/\"1\""]),
    (["ETag": "\"1\""], ["ETag": "W/\"1\""]),
    (["Last-Modified": first], ["Last-Modified": first]),
    (["ETag": "\"1\"", "Last-Modified": first], ["Last-Modified": first]),
    (["ETag": "\"1\"", "Last-Modified": first], ["ETag": "\"1\"", "Last-Modified": second]),
    (["Last-Modified": first, "Date": sent], ["Last-Modified": first, "ETag": "\"1\""]),
  ]
  static let otherVersion: [(stored: [String: String], notModified: [String: String])] = [
    (["ETag": "\"1\""], ["ETag": "\"2\""]), (["ETag": "\"a\""], ["ETag": "\"A\""]),
    (["ETag": "\"1\""], ["ETag": "W/\"2\""]),
    (["ETag": "W/\"1\""], ["ETag": "\"2\""]),
    (["ETag": "\"1\"", "Last-Modified": first], ["ETag": "\"2\"", "Last-Modified": first]),
    (["Last-Modified": "\u{212B}"], ["Last-Modified": "\u{C5}"]),
    (["Last-Modified": first], ["Last-Modified": second]), (["Last-Modified": first], ["ETag": "\"1\""]),
    // The date of the stored response is not strong.
    (["Last-Modified": first], ["Last-Modified": first, "ETag": "\"1\""]),
    (["Last-Modified": first, "Date": first], ["Last-Modified": first, "ETag": "\"1\""]),
  ]

  @Test(arguments: sameVersion) func a304OfTheSameVersionFreshensTheStoredResponse(
    _ stored: [String: String], _ notModified: [String: String]
  ) async throws {
    let renewed = notModified.merging(["Cache-Control": "max-age=600"]) { $1 }
    let cached = CachedClient([.ok("one", headers: stored), .status(304, headers: renewed), .ok("two")])
    _ = try await cached.get()
    #expect(try await cached.get() == ("one", .revalidated))
    #expect(try await cached.get() == ("one", .cache))
    #expect(cached.script.requests.count == 2)
  }

  @Test(arguments: otherVersion) func a304OfAnotherVersionIsFollowedByAnUnconditionalRequest(
    _ stored: [String: String], _ notModified: [String: String]
  )
    async throws
  {
    let renewed = notModified.merging(["Cache-Control": "max-age=600"]) { $1 }
    let cached = CachedClient([
      .ok("one", headers: stored), .status(304, headers: renewed), .ok("two", headers: Self.fresh), .ok("three"),
    ])
    _ = try await cached.get()
    #expect(try await cached.get() == ("two", .network))
    #expect(cached.script.requests.last?.allHTTPHeaderFields ?? [:] == [:])
    #expect(try await cached.get() == ("two", .cache))
    #expect(cached.script.requests.count == 3)
  }

  /// A server may weaken only the tag of a compressed 200. The stored fields remain as they are.
  @Test func a304WithAStrongETagKeepsTheStoredWeakETag() async throws {
    let notModified = ["ETag": "\"1\"", "Cache-Control": "max-age=600"]
    let cached = CachedClient([.ok("one", headers: ["ETag": "W/\"1\""]), .status(304, headers: notModified)])
    _ = try await cached.get()
    for _ in 0..<2 {
      let response = try await cached.client.networkResponse(for: try Self.request())
      #expect(response.data.text == "one" && response.source == .revalidated)
      #expect(response.response.value(forHTTPHeaderField: "ETag") == "W/\"1\"")
    }
    #expect(cached.script.values(of: "If-None-Match") == [nil, "W/\"1\"", "W/\"1\""])
  }

  /// The stored response stays until another one arrives.
  @Test func keepsTheStoredResponseWhenTheUnconditionalRequestFails() async throws {
    let other = ["ETag": "\"2\""]
    let cached = CachedClient(
      [.ok("one", headers: Self.tagged), .status(304, headers: other), .dropped, .status(304)], stale: true)
    _ = try await cached.get()
    let old = try await cached.client.networkResponse(for: try Self.request())
    #expect(old.source == .cache && old.revalidationError != nil)
    #expect(try await cached.get() == ("one", .revalidated))
    #expect(cached.script.requests.last?.value(forHTTPHeaderField: "If-None-Match") == "\"1\"")
  }

  /// A 304 to a request without conditions is an error of the server.
  @Test func a304ToTheUnconditionalRequestEndsTheCall() async throws {
    let cached = CachedClient([.ok("one", headers: Self.tagged), .status(304, headers: ["ETag": "\"2\""])])
    _ = try await cached.get()
    let second = try? await cached.get()
    #expect(second?.text != "one" && cached.script.requests.count == 3)
  }

  /// Nor does it confirm what has no validator.
  @Test func a304ToARequestWithoutConditionsConfirmsNothing() async throws {
    let cached = CachedClient([.ok("one"), .status(304)])
    _ = try await cached.get()
    let second = try? await cached.get()
    #expect(second?.text != "one" && cached.script.requests.count == 2)
  }

  @Test func aRevalidatedResponseHasTheAttemptsOfItsRequest() async throws {
    let cached = CachedClient(
      [.ok("one", headers: Self.tagged), .status(503), .status(304)], policy: RetryPolicy(maxRetries: 1))
    _ = try await cached.get()
    let response = try await cached.client.networkResponse(for: try Self.request())
    #expect(response.source == .revalidated)
    #expect(response.attempts.map(\.error?.statusCode) == [503, nil] && response.attempts.map(\.number) == [1, 2])
  }

  /// The server compares the entity tag, and ignores the date (RFC 9110 §13.1.3). The stored fields remain as they are.
  @Test(arguments: [["ETag": "\"1\""], ["ETag": "W/\"1\"", "Last-Modified": first]])
  func a304WithAnotherDateAndNoETagConfirmsTheStoredETag(_ stored: [String: String]) async throws {
    let notModified = ["Last-Modified": Self.second, "Cache-Control": "max-age=600"]
    let cached = CachedClient([.ok("one", headers: stored), .status(304, headers: notModified)])
    _ = try await cached.get()
    for _ in 0..<2 {
      let response = try await cached.client.networkResponse(for: try Self.request())
      #expect(response.data.text == "one" && response.source == .revalidated)
      #expect(response.response.value(forHTTPHeaderField: "Last-Modified") == stored["Last-Modified"])
    }
    #expect(cached.script.requests.count == 3)
  }

  /// A 304 about another version: the request is sent once more, and is a call of its own in the log.
  @Test func secondRequestAfterA304HasAnIDOfItsOwn() async throws {
    let log = EventLog()
    let cached = CachedClient(
      [
        .ok("1", headers: ["ETag": "\"1\"", "Cache-Control": "max-age=0"]), .status(304, headers: ["ETag": "\"2\""]),
        .ok("2", headers: ["ETag": "\"2\""]),
      ], policy: RetryPolicy(maxRetries: 0, onEvent: log.add))
    #expect(try await cached.get().text == "1")
    let first = Set(log.events.map(\.callID))
    #expect(try await cached.get().text == "2")
    #expect(cached.script.requests.count == 3)
    #expect(first.count == 1 && Set(log.events.map(\.callID)).count == 3)
  }
}
