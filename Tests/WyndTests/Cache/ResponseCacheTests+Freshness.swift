import Foundation
import WyndLoopbackServer
import Testing
import Wynd

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension ResponseCacheTests {
  /// Cache-Control and Age of the response → seconds for which nothing is sent.
  static let ages: [(control: String, age: String?, seconds: Double)] = [
    ("max-age=60", nil, 60), ("max-age=60", "20", 40), ("max-age=\"60\"", nil, 60), ("private, MAX-AGE=60", nil, 60),
    ("max-age=60", "x", 60), ("max-age=60", "20, 5", 40), ("max-age=60, max-age=5", nil, 60),
    ("max-age=99999999999999999999", nil, 2_147_483_648),
    // A list, in which a quoted string is one token (RFC 9110 §5.6).
    (",, max-age=60\t,,", nil, 60), ("ext=\"a, max-age=5\", max-age=60", nil, 60), ("max-age = 60", nil, 60),
    ("ext=\"a\\\", no-store, \\\\\", max-age=60", nil, 60),
  ]
  static let never = [
    "max-age=0", "max-age=-5", "max-age", "max-age=1.5", "max-age=٣", "no-cache, max-age=60", "s-maxage=60", "",
    "no-cache=\"set-cookie\", max-age=60", "ext=\"a, max-age=3600\"", "max-age=\"3600", "max-age=3600\"",
    "max-age=60, ext=\"",
    "max-age=60, ext=\"a\\\"", "ext=a\"b, max-age=60\"", "max-age=60, ext=\"a\"b",
    "max-age=\"\"", "max-age=\" 60\"", "max-age=+60", "max-age=6 0",
    "max-age=0, max-age=60", "private=\"set-cookie, max-age=5\"", "ext=\"\\\", max-age=60\"",
  ]

  @Test(arguments: ages) func sendsNothingWithinMaxAge(_ control: String, _ age: String?, _ seconds: Double)
    async throws
  {
    var headers = ["Cache-Control": control, "ETag": "\"1\""]
    headers["Age"] = age
    let cached = CachedClient([.ok("one", headers: headers), .ok("two")])
    _ = try await cached.get()
    #expect(try await cached.get(after: seconds - 30).source == .cache)
    #expect(cached.script.requests.count == 1)
    #expect(try await cached.get(after: 30).text == "two")
  }

  @Test func a304WithoutDateDoesNotExtendAnOldExpires() async throws {
    let fields = ["ETag": "\"1\"", "Date": Self.date(0), "Expires": Self.date(60)]
    let cached = CachedClient([.ok("one", headers: fields), .status(304), .ok("two")])
    _ = try await cached.get()
    #expect(try await cached.get(after: 3600).source == .revalidated)
    #expect(try await cached.get(after: 1).text == "two")
  }

  /// The Date of the stored response would make it as old as that.
  @Test func a304WithoutDateIsFreshFromItsArrival() async throws {
    let fields = ["ETag": "\"1\"", "Date": Self.date(-3600), "Cache-Control": "max-age=60"]
    let cached = CachedClient([.ok("one", headers: fields), .status(304), .ok("two")])
    _ = try await cached.get()
    #expect(try await cached.get().source == .revalidated)
    #expect(try await cached.get().source == .cache)
  }

  /// Expires, Date and Cache-Control of the response → seconds for which nothing is sent. The server's clock is years
  /// ahead, except where the first stands for a date that many seconds from now.
  static let expiries: [(expires: String, date: String?, control: String?, seconds: Double)] = [
    ("Tue, 06 Nov 2040 08:50:37 GMT", "Tue, 06 Nov 2040 08:49:37 GMT", nil, 60),
    ("Tuesday, 06-Nov-40 08:50:37 GMT", "Tue Nov  6 08:49:37 2040", "private", 60),
    ("90", nil, nil, 90),
    ("Tue, 06 Nov 2040 08:50:37 GMT", "Tue, 06 Nov 2040 08:49:37 GMT", "max-age=35", 35),
    ("Tue, 06 Nov 2040 08:50:37 GMT", "Tue, 06 Nov 2040 08:49:37 GMT", "no-cache", 0),
    ("0", "Tue, 06 Nov 2040 08:49:37 GMT", nil, 0), ("tomorrow", nil, nil, 0),
    ("Tue, 06 Nov 2040 08:49:37 GMT", "Tue, 06 Nov 2040 08:49:37 GMT", nil, 0),
  ]

  @Test(arguments: expiries) func sendsNothingBeforeExpires(
    _ text: String, _ date: String?, _ control: String?, _ seconds: Double
  ) async throws {
    let expires = Double(text).flatMap { $0 > 0 ? Self.date($0) : nil } ?? text
    var headers = ["Expires": expires, "ETag": "\"1\""]
    headers["Date"] = date
    headers["Cache-Control"] = control
    let cached = CachedClient([.ok("one", headers: headers), .ok("two")])
    _ = try await cached.get()
    if seconds > 0 { #expect(try await cached.get(after: seconds - 30).source == .cache) }
    #expect(cached.script.requests.count == 1)
    #expect(try await cached.get(after: 30).text == "two")
  }

  @Test(arguments: never) func revalidatesEachTimeWithoutAValidMaxAge(_ control: String) async throws {
    let cached = CachedClient([.ok("one", headers: ["Cache-Control": control, "ETag": "\"1\""]), .status(304)])
    _ = try await cached.get()
    #expect(try await cached.get().source == .revalidated)
  }

  @Test func doesNotServeAfterTheClockWasSetBack() async throws {
    let cached = CachedClient([.ok("one", headers: ["Cache-Control": "max-age=60"]), .ok("two")])
    _ = try await cached.get()
    #expect(try await cached.get(after: -10).text == "two")
  }

  static let unstorable: [[String: String]] = [
    ["Cache-Control": "no-store, max-age=60"], [:], ["Cache-Control": "max-age=60", "Vary": "*"],
    ["Cache-Control": "max-age=60", "Vary": "Accept, Cookie"], ["Cache-Control": "max-age=0"],
    ["Cache-Control": "max-age=60", "Vary": "\"Accept, *\""], ["Cache-Control": "ext=\"a, no-store", "ETag": "\"1\""],
    ["Cache-Control": "no-store", "Connection": "Cache-Control", "ETag": "\"1\""],
  ]

  @Test(arguments: unstorable) func doesNotStoreForbiddenResponses(_ headers: [String: String]) async throws {
    let cached = CachedClient([.ok("one", headers: headers), .ok("two")], stale: true)
    _ = try await cached.get()
    #expect(try await cached.get().text == "two")
    #expect(cached.script.requests.last?.value(forHTTPHeaderField: "If-None-Match") == nil)
  }

  @Test func respectsNoStoreNoCacheAndRangeOfARequest() async throws {
    let cached = CachedClient([.ok("one", headers: ["Cache-Control": "max-age=60"]), .ok("two"), .ok("three")])
    _ = try await cached.get(["Cache-Control": "no-store"])
    #expect(try await cached.get().text == "two")
    #expect(try await cached.get(["Cache-Control": "no-cache"]).text == "three")
    #expect(try await cached.get(["Range": "bytes=0-1"]).text == "three")
  }

  @Test func countsTheAgeOfAReceivedResponse() async throws {
    let fields = ["Cache-Control": "max-age=60", "Date": Self.date(-100), "ETag": "\"1\""]
    let cached = CachedClient([.ok("one", headers: fields), .ok("two")])
    _ = try await cached.get()
    #expect(try await cached.get() == ("two", .network))
  }

  @Test func revalidatesForARequestWithASmallMaxAge() async throws {
    let cached = CachedClient([.ok("one", headers: Self.fresh), .status(304)])
    _ = try await cached.get()
    #expect(try await cached.get(["Cache-Control": "max-age=60"], after: 30) == ("one", .cache))
    #expect(try await cached.get(["Cache-Control": "max-age=20"]) == ("one", .revalidated))
    #expect(try await cached.get(["Cache-Control": "max-age=0"]) == ("one", .revalidated))
  }
}
