import Foundation
import Testing
import Wynd
import WyndLoopbackServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension ResponseCacheTests {
  /// Cache-Control and Age of the answer → seconds for which nothing is sent.
  static let ages: [(control: String, age: String?, seconds: Double)] = [
    ("max-age=60", nil, 60), ("max-age=60", "20", 40), ("max-age=\"60\"", nil, 60), ("private, MAX-AGE=60", nil, 60),
    ("public,max-age=60,must-revalidate", nil, 60), ("max-age=60", "x", 60), ("max-age=60", "20, 5", 40),
    ("max-age=60", "20 ", 40), ("max-age=60, max-age=5", nil, 60),
    ("max-age=99999999999999999999", nil, 2_147_483_648),
  ]
  static let never = [
    "max-age=0", "max-age=-5", "max-age=", "max-age", "max-age=1.5", "max-age=٣", "no-cache, max-age=60",
    "max-age=0x3C",
    "max-age= ", "s-maxage=60", "", ",,,=,;", "no-cache=\"set-cookie\", max-age=60",
  ]

  @Test(arguments: ages.indices) func whileMaxAgeLastsNothingIsSent(_ row: Int) async throws {
    let (control, age, seconds) = Self.ages[row]
    var headers = ["Cache-Control": control, "ETag": "\"1\""]
    headers["Age"] = age
    let world = World([.ok("one", headers: headers), .ok("two")])
    _ = try await world.get()
    #expect(try await world.get(after: seconds - 30).source == .cache)
    #expect(world.script.requests.count == 1)
    #expect(try await world.get(after: 30).text == "two")
  }

  @Test func a304WithoutADateMakesNoOldExpiryNew() async throws {
    let fields = ["ETag": "\"1\"", "Date": Self.date(0), "Expires": Self.date(60)]
    let world = World([.ok("one", headers: fields), .status(304), .ok("two")])
    _ = try await world.get()
    #expect(try await world.get(after: 3600).source == .revalidated)
    #expect(try await world.get(after: 1).text == "two")
  }

  /// The Date of the stored response would make it as old as that.
  @Test func a304WithoutADateIsAsNewAsItsArrival() async throws {
    let fields = ["ETag": "\"1\"", "Date": Self.date(-3600), "Cache-Control": "max-age=60"]
    let world = World([.ok("one", headers: fields), .status(304), .ok("two")])
    _ = try await world.get()
    #expect(try await world.get().source == .revalidated)
    #expect(try await world.get().source == .cache)
  }

  @Test func whoReloadsAsksTheServer() async throws {
    let world = World([
      .ok("one", headers: ["Cache-Control": "max-age=60"]), .ok("two", headers: ["Cache-Control": "max-age=60"]),
    ])
    _ = try await world.get()
    var request = URLRequest(url: try #require(URL(string: "https://a.example/")))
    request.cachePolicy = .reloadIgnoringLocalAndRemoteCacheData
    #expect(try await world.client.performNetworkRequest(request) == Data("two".utf8))
    #expect(try await world.get().source == .cache)
  }
  /// What comes after the last that is read might forbid what the first allows.
  @Test func fieldsOfUnusualLengthAreNotStored() async throws {
    let many = (0..<64).map { "x\($0)" }.joined(separator: ",")
    for fields in [
      ["Cache-Control": "max-age=60,\(many),no-store"], ["Cache-Control": "max-age=60", "Vary": "\(many),*"],
    ] {
      let world = World([.ok("one", headers: fields), .ok("two")])
      _ = try await world.get()
      #expect(try await world.get().text == "two")
    }
  }

  /// Expires, Date and Cache-Control of the response → seconds for which nothing is sent. The server's clock is years
  /// ahead, except where the first stands for a date that many seconds from now.
  static let expiries: [(expires: String, date: String?, control: String?, seconds: Double)] = [
    ("Tue, 06 Nov 2040 08:50:37 GMT", "Tue, 06 Nov 2040 08:49:37 GMT", nil, 60),
    ("Tuesday, 06-Nov-40 08:50:37 GMT", "Tue Nov  6 08:49:37 2040", "private", 60),
    ("90", nil, nil, 90),
    ("Tue, 06 Nov 2040 08:50:37 GMT", "Tue, 06 Nov 2040 08:49:37 GMT", "max-age=35", 35),
    ("Tue, 06 Nov 2040 08:50:37 GMT", "Tue, 06 Nov 2040 08:49:37 GMT", "max-age=0", 0),
    ("Tue, 06 Nov 2040 08:50:37 GMT", "Tue, 06 Nov 2040 08:49:37 GMT", "no-cache", 0),
    ("0", "Tue, 06 Nov 2040 08:49:37 GMT", nil, 0), ("-1", nil, nil, 0), ("tomorrow", nil, nil, 0),
    ("Tue, 06 Nov 2040 08:49:37 GMT", "Tue, 06 Nov 2040 08:49:37 GMT", nil, 0),
  ]

  @Test(arguments: expiries.indices) func withoutAMaxAgeNothingIsSentUntilExpires(_ row: Int) async throws {
    let (text, date, control, seconds) = Self.expiries[row]
    let expires = Double(text).flatMap { $0 > 0 ? Self.date($0) : nil } ?? text
    var headers = ["Expires": expires, "ETag": "\"1\""]
    headers["Date"] = date
    headers["Cache-Control"] = control
    let world = World([.ok("one", headers: headers), .ok("two")])
    _ = try await world.get()
    if seconds > 0 { #expect(try await world.get(after: seconds - 30).source == .cache) }
    #expect(world.script.requests.count == 1)
    #expect(try await world.get(after: 30).text == "two")
  }

  @Test(arguments: never) func theServerIsAskedEachTime(_ control: String) async throws {
    let world = World([.ok("one", headers: ["Cache-Control": control, "ETag": "\"1\""]), .status(304)])
    _ = try await world.get()
    #expect(try await world.get().source == .revalidated)
  }

  @Test func aClockThatWasSetBackMakesNothingFresh() async throws {
    let world = World([.ok("one", headers: ["Cache-Control": "max-age=60"]), .ok("two")])
    _ = try await world.get()
    #expect(try await world.get(after: -10).text == "two")
  }

  static let unstorable: [[String: String]] = [
    ["Cache-Control": "no-store, max-age=60"], [:], ["Cache-Control": "max-age=60", "Vary": "*"],
    ["Cache-Control": "max-age=60", "Vary": "Accept, Cookie"], ["Cache-Control": "max-age=0"],
  ]

  @Test(arguments: unstorable) func whatMustNotBeStoredIsNot(_ headers: [String: String]) async throws {
    let world = World([.ok("one", headers: headers), .ok("two")], stale: true)
    _ = try await world.get()
    #expect(try await world.get().text == "two")
    #expect(world.script.requests[1].value(forHTTPHeaderField: "If-None-Match") == nil)
  }

  @Test func aRequestThatForbidsItIsNeitherServedNorStored() async throws {
    let world = World([.ok("one", headers: ["Cache-Control": "max-age=60"]), .ok("two"), .ok("three")])
    _ = try await world.get(["Cache-Control": "no-store"])
    #expect(try await world.get().text == "two")
    #expect(try await world.get(["Cache-Control": "no-cache"]).text == "three")
    #expect(try await world.get(["Range": "bytes=0-1"]).text == "three")
  }
}
